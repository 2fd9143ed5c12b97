"""Draw docs/gallery/report.png: the head of the report that `partita demo` writes.

Needs Chromium and the package playwright; run by `make gallery` where both are installed.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

PICTURE = Path(__file__).parent / "gallery" / "report.png"
WIDTH, HEIGHT = 1200, 900  # pixels


def main() -> int:
    """Write the demo's report to a temporary folder and take its picture."""
    chromium = shutil.which("chromium")
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        chromium = None
    if chromium is None:
        print("Chromium or playwright is not installed: the picture of the report stays as it is")
        return 0
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, "-m", "partita", "demo", "--force"], cwd=folder, check=True)
        page_path = next(Path(folder).rglob("*.html"))
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(
                executable_path=chromium, args=["--no-sandbox", "--disable-gpu"]
            )
            page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT})
            page.goto(page_path.as_uri())
            page.screenshot(path=str(PICTURE))
            browser.close()
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
