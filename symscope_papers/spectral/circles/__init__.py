"""Two interleaved circles and a Gaussian kernel: the spectral formula seen whole (Fig. 2 and 3)."""

from __future__ import annotations

from symscope.runs import Experiment, Preset
from symscope_papers.spectral import PAPER
from symscope_papers.spectral.circles.claims import judge_density, judge_distance
from symscope_papers.spectral.circles.config import LOGSPACE, Density, Distance
from symscope_papers.spectral.circles.figures import draw_density, draw_distance
from symscope_papers.spectral.circles.measure import (
    density_cells,
    distance_cells,
    measure_density,
    measure_distance,
)

AUTHORS_RIDGE = 1e-5
UNSTATED = ("The paper states neither sizes nor the kernel's scale: both are those of the authors' scripts.",)
RIDGE = (*UNSTATED, "The scripts add 1e-5 of the trace to the diagonal; Eq. 21 and Eq. 7 have no ridge.")

circles_distance = Experiment(
    id="spectral/circles-distance",
    paper=PAPER,
    figure="Fig. 2, 3A-C",
    shows="Pulling two orbits apart makes a missing point predictable; the spectral error gives by how much.",
    config=Distance,
    presets={
        "quick": Preset(Distance(distances=(0.0, *LOGSPACE[::3])), "seconds"),
        "paper": Preset(Distance(), "seconds", UNSTATED),
        "authors": Preset(Distance(relative_ridges=(AUTHORS_RIDGE,)), "seconds", RIDGE),
    },
    cells=distance_cells,
    measure=measure_distance,
    plot=draw_distance,
    claims=judge_distance,
)
circles_density = Experiment(
    id="spectral/circles-density",
    paper=PAPER,
    figure="Fig. 3D-F",
    shows="Denser orbits make a missing point predictable; the authors' plateau at large N is their ridge.",
    config=Density,
    presets={
        "quick": Preset(Density(points=(4, 8, 12, 16, 20, 24)), "seconds"),
        "paper": Preset(Density(), "seconds", UNSTATED),
        "authors": Preset(Density(relative_ridges=(AUTHORS_RIDGE,)), "seconds", RIDGE),
    },
    cells=density_cells,
    measure=measure_density,
    plot=draw_density,
    claims=judge_density,
)
