"""Model files: `save` and `load` without executing code, and export to scikit-learn.

The format is documented in docs/model_file.md.
"""

from partita.estimators.data_fingerprint import fingerprint
from partita.model_file.loading import Saved, load, read_header, read_model
from partita.model_file.renaming import write_group_names
from partita.model_file.saving import save
from partita.model_file.sklearn_export import to_sklearn
from partita.safe_file.container import ModelFileError

__all__ = [
    "ModelFileError",
    "Saved",
    "fingerprint",
    "load",
    "read_header",
    "read_model",
    "save",
    "to_sklearn",
    "write_group_names",
]
