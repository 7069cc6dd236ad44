"""Whose fault is it? A network's equivariance error, split by cause, and whether data has the symmetry.

A `Subject` is what is audited: a network, samples, and how the group acts on inputs and outputs; every part
of an audit is a function of it. For whoever puts a repaired network to use:

- `symscope.auditing.repairs`: networks averaged over a group or shown one pose, and their files
"""

from symscope.auditing._audit import audit, names_note
from symscope.auditing._audit_page import audit_page
from symscope.auditing._audit_subject import audit_subject
from symscope.auditing._causes import Cause
from symscope.auditing._consequences import Consequences, consequences
from symscope.auditing._data_symmetry import DataSymmetry, data_symmetry
from symscope.auditing._label_survival import mixed_labels
from symscope.auditing._layers import exact_elements, layer_errors
from symscope.auditing._mask_data import audit_samples
from symscope.auditing._repair import Repair, best_repair, repair
from symscope.auditing._repair_files import save_repaired
from symscope.auditing._result import Audit
from symscope.auditing._subject import Subject

__all__ = [
    # ask
    "audit",
    "names_note",
    # the answer
    "Audit",
    "Cause",
    # what is audited
    "Subject",
    "audit_samples",
    "audit_subject",
    # what it does to answers
    "Consequences",
    "consequences",
    # the data's symmetry
    "DataSymmetry",
    "data_symmetry",
    "mixed_labels",
    # the page
    "audit_page",
    # remedies, applied and measured
    "Repair",
    "best_repair",
    "repair",
    "save_repaired",
    # equivariance by layer
    "exact_elements",
    "layer_errors",
]
