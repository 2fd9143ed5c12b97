"""The estimators: scikit-learn's contract over partita's engine.

A new member of the family declares its `Capabilities` and is made known by `register`; see
docs/design/new_member.md.
"""

from partita.estimators.capabilities import Capabilities, Replay
from partita.estimators.registry import register
from partita.estimators.saved_state import SavedState

__all__ = ["Capabilities", "Replay", "SavedState", "register"]
