"""Where things are in the project, and what the files say."""

from __future__ import annotations

import ast
import functools
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
PACKAGE = ROOT / "src" / "partita"
DOCS = ROOT / "docs"


@functools.cache
def tree_of(path: Path) -> ast.Module:
    """The syntax tree of a file; several tests walk each."""
    return ast.parse(path.read_text(encoding="utf-8"))
