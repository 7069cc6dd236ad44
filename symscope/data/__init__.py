"""What a symmetry acts on: actions on images, graphs and vectors, orbits, real and synthetic data sets."""

from symscope.data.action import Action, custom
from symscope.data.arrays import load_arrays, load_measured
from symscope.data.circles import circles
from symscope.data.datasets import from_dataset, measured_dataset
from symscope.data.departure import Departure, departure
from symscope.data.download import default_folder
from symscope.data.graphs import block_graphs, connected
from symscope.data.idx import read_idx
from symscope.data.images import flip, flip_both, pixels, shift, shift_both
from symscope.data.labelled import LabelledData
from symscope.data.measured import MeasuredData
from symscope.data.mnist import fetch_mnist, mnist
from symscope.data.named import ACTIONS, parse_action
from symscope.data.nodes import nodes
from symscope.data.orbits import FlatOrbits, Orbits, orbits
from symscope.data.periodic import RotationBasis, rotation_basis
from symscope.data.polygons import Segmentation, coverage, polygons
from symscope.data.rotation import dihedral, rotation
from symscope.data.sample import mnist_sample
from symscope.data.toys import RegressionToy, absolute_value, coordinate_sum, permuted_cube, swapped_squares
from symscope.data.vectors import linear

__all__ = [
    "ACTIONS",
    "Action",
    "Departure",
    "FlatOrbits",
    "LabelledData",
    "MeasuredData",
    "Orbits",
    "RegressionToy",
    "RotationBasis",
    "Segmentation",
    "absolute_value",
    "block_graphs",
    "circles",
    "connected",
    "coordinate_sum",
    "coverage",
    "custom",
    "default_folder",
    "departure",
    "dihedral",
    "fetch_mnist",
    "flip",
    "flip_both",
    "from_dataset",
    "linear",
    "load_arrays",
    "load_measured",
    "measured_dataset",
    "mnist",
    "mnist_sample",
    "nodes",
    "orbits",
    "parse_action",
    "permuted_cube",
    "pixels",
    "polygons",
    "read_idx",
    "rotation",
    "rotation_basis",
    "shift",
    "shift_both",
    "swapped_squares",
]
