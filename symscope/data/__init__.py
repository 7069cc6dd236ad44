"""What a symmetry acts on: actions on images, graphs and vectors, orbits, and where samples come from.

An `Action` lets a finite group act on samples; `orbits` gives everything a group makes of them. Samples come
with classes (`LabelledData`) or with numbers to predict (`MeasuredData`); `as_samples` makes them of arrays,
datasets, files and folders. Beyond this index:

- `symscope.data.images`: exact actions on images: shifts, flips, permutations of pixels
- `symscope.data.vectors`: representations as actions on vectors, and actions as representations
- `symscope.data.nodes`: permutations of the nodes of a graph, or of the rows of a set
- `symscope.data.graphs`: adjacency matrices of graphs given by their edges
- `symscope.data.point_clouds`: rotations and reflections of points in the plane and in space
- `symscope.data.molecules`: real molecules with dipoles and handedness, from biotite's dictionary
- `symscope.data.series`: shifts and reversals of series
- `symscope.data.mnist_files`: MNIST and Fashion-MNIST from their four files, and the way to get them
- `symscope.data.synthetic`: the papers' synthetic sets, circles, graphs, toys of regression
- `symscope.data.periodic`: the basis behind rotations that are orthogonal and exactly periodic
"""

# actions
from symscope.data._action import Action, ElementByElement, custom_action
from symscope.data._action_errors import action_errors
from symscope.data._laws import check_action
from symscope.data._named_actions import ACTIONS, action_from_source, parse_action
from symscope.data._named_actions import parse_named_action
from symscope.data._sample_kinds import is_builtin_action, point_coordinates, sample_kind
from symscope.data._rotation import dihedral_action, rotation

# how targets change
from symscope.data._target_action import TargetAction, plane_vectors, same_action, target_of

from symscope.data._invariants import with_invariants
from symscope.data.vectors import representation_of

# orbits
from symscope.data._orbits import orbits
from symscope.data._action import default_tolerance, fixing_elements

# samples
from symscope.data._array_files import read_arrays, read_elements
from symscope.data._arrays import load_arrays, load_measured
from symscope.data._download import data_folder
from symscope.data._labelled import LabelledData
from symscope.data._measured import MeasuredData
from symscope.data.mnist_files import fetch_data
from symscope.data._labelled import mnist_sample
from symscope.data._samples import as_samples

__all__ = [
    # actions
    "ACTIONS",
    "Action",
    "ElementByElement",
    "action_errors",
    "action_from_source",
    "check_action",
    "custom_action",
    "dihedral_action",
    "is_builtin_action",
    "parse_action",
    "parse_named_action",
    "point_coordinates",
    "representation_of",
    "rotation",
    "sample_kind",
    "with_invariants",
    # how targets change
    "TargetAction",
    "plane_vectors",
    "same_action",
    "target_of",
    # orbits
    "default_tolerance",
    "fixing_elements",
    "orbits",
    # samples
    "LabelledData",
    "MeasuredData",
    "as_samples",
    "data_folder",
    "fetch_data",
    "load_arrays",
    "load_measured",
    "mnist_sample",
    "read_arrays",
    "read_elements",
]
