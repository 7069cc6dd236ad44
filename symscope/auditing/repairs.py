"""Networks that a group cannot change at inference, and the files of repaired networks.

For whoever puts a repaired network to use: `symscope.audit` returns such modules, `save_repaired` writes one,
and `load_repaired` puts it together again from the network's own code, running no code of the file.
"""

from symscope.auditing._group_modules import Averaged, Canonical, data_frame
from symscope.auditing._repair_files import load_repaired, save_repaired

__all__ = ["Averaged", "Canonical", "data_frame", "load_repaired", "save_repaired"]
