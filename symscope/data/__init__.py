"""What a symmetry acts on: actions on images, graphs and vectors, orbits, real and synthetic data sets."""

from symscope.data._action import Action, ElementByElement, custom
from symscope.data._arrays import are_classes, load_arrays, load_measured, read_arrays
from symscope.data._circles import circles
from symscope.data._datasets import (
    from_dataset,
    labelled_pairs,
    measured_dataset,
    measured_pairs,
    number_rows,
    read_pairs,
)
from symscope.data._departure import Departure, departure
from symscope.data._download import data_folder
from symscope.data._graphs import block_graphs, connected
from symscope.data._idx import read_idx
from symscope.data._images import flip, flip_both, pixels, shift, shift_both
from symscope.data._labelled import LabelledData
from symscope.data._laws import check_action
from symscope.data._measured import MeasuredData
from symscope.data._mnist import fetch_mnist, mnist
from symscope.data._named_actions import ACTIONS, parse_action
from symscope.data._nodes import nodes
from symscope.data._orbits import FlatOrbits, Orbits, orbits
from symscope.data._periodic import RotationBasis, rotation_basis
from symscope.data._polygons import Segmentation, coverage, polygons
from symscope.data._rotation import dihedral, rotation
from symscope.data._sample import mnist_sample
from symscope.data._stabilisers import default_tolerance, fixing_elements
from symscope.data._toys import RegressionToy, absolute_value, coordinate_sum, permuted_cube, swapped_squares
from symscope.data._vectors import linear

__all__ = [
    "ACTIONS",
    "Action",
    "Departure",
    "ElementByElement",
    "FlatOrbits",
    "LabelledData",
    "MeasuredData",
    "Orbits",
    "RegressionToy",
    "RotationBasis",
    "Segmentation",
    "absolute_value",
    "are_classes",
    "block_graphs",
    "check_action",
    "circles",
    "connected",
    "coordinate_sum",
    "coverage",
    "custom",
    "data_folder",
    "default_tolerance",
    "departure",
    "dihedral",
    "fetch_mnist",
    "fixing_elements",
    "flip",
    "flip_both",
    "from_dataset",
    "labelled_pairs",
    "linear",
    "load_arrays",
    "load_measured",
    "measured_dataset",
    "measured_pairs",
    "mnist",
    "mnist_sample",
    "nodes",
    "number_rows",
    "orbits",
    "parse_action",
    "permuted_cube",
    "pixels",
    "polygons",
    "read_arrays",
    "read_idx",
    "read_pairs",
    "rotation",
    "rotation_basis",
    "shift",
    "shift_both",
    "swapped_squares",
]
