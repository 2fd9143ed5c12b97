"""Parameters of the Python interface, as options of the command line."""

from __future__ import annotations

from partita._common.errors import Setting

OPTION_NAMES = {"n_clusters": "k", "random_state": "seed"}  # where they differ from the parameter


def option_text(setting: Setting) -> str:
    """Word a setting as it is typed here: `--k 3` for n_clusters=3."""
    name = OPTION_NAMES.get(setting.parameter, setting.parameter)
    return Setting(name, setting.value).as_option()
