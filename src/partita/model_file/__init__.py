"""Model files: `save` and `load` without executing code, and export to scikit-learn.

The format is documented in docs/model_file.md.
"""

from partita.model_file.container import ModelFileError
from partita.model_file.export import to_sklearn
from partita.model_file.hashing import fingerprint
from partita.model_file.loading import Saved, load, read_header, read_model
from partita.model_file.saving import save

__all__ = [
    "ModelFileError",
    "Saved",
    "fingerprint",
    "load",
    "read_header",
    "read_model",
    "save",
    "to_sklearn",
]
