"""Makes the peer's virtual environment: `python -m benchmarks.peer.environment`."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

FOLDER = Path(".venv-peer")
# Without its dependencies: it asks for TensorFlow, which only an experimental part of it uses.
ALONE = ("neural-tangents==0.6.5",)
# The newest JAX it can be imported with.
WITH = (
    "jax==0.5.3",
    "jaxlib==0.5.3",
    "frozendict==2.4.7",
    "numpy<3",
    "scipy<2",
    "opt_einsum<4",
    "ml_dtypes<1",
)


def peer_python() -> Path:
    """The peer's interpreter; its environment is made the first time, which takes a minute."""
    python = FOLDER / "bin" / "python"
    done = FOLDER / ".complete"
    if not done.exists():
        print(f"making the peer's environment in {FOLDER}/ ...", file=sys.stderr, flush=True)
        subprocess.run([sys.executable, "-m", "venv", str(FOLDER)], check=True)
        (FOLDER / ".gitignore").write_text("*\n")
        pip = [str(python), "-m", "pip", "--disable-pip-version-check", "install", "--quiet"]
        subprocess.run([*pip, *WITH], check=True)
        subprocess.run([*pip, "--no-deps", *ALONE], check=True)
        subprocess.run([str(python), "-m", "benchmarks.peer.server", "--check"], check=True)
        done.touch()
    return python


if __name__ == "__main__":
    print(peer_python())
