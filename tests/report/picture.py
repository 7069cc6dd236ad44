"""Takes a picture of the top of a page: `python -m tests.report.picture PAGE.html PICTURE.png`.

The README's picture is taken from a real run of the demo:

    symscope demo --out demo
    python -m tests.report.picture demo/report.html docs/images/demo.png
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from tests.report.browser import ask, screenshot

WIDTH = 960  # as wide as READMEs are shown, so that text keeps its size
MARGIN = 16


def take(page: Path, target: Path) -> tuple[int, int]:
    """A picture from the top of the page to the end of its first figure, in the page's light colours.

    Returns:
        Its width and height in the page's own pixels; the file has two for each.
    """
    script = "return Math.ceil(document.querySelector('main figure').getBoundingClientRect().bottom);"
    with tempfile.TemporaryDirectory() as folder:
        height = int(ask(page, script, width=WIDTH, folder=Path(folder))) + MARGIN
    screenshot(page.absolute(), target.absolute(), width=WIDTH, height=height, scale=2)
    return WIDTH, height


if __name__ == "__main__":
    print("x".join(map(str, take(Path(sys.argv[1]), Path(sys.argv[2])))))
