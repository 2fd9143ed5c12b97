"""Where things are in the project."""

from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
PACKAGE = ROOT / "src" / "partita"
DOCS = ROOT / "docs"
