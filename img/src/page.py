"""Takes img/page.png, the screenshot of a page in the README.

Run, after `make` and `make tools`: .venvs/test/bin/python img/src/page.py
"""

import shutil
from pathlib import Path

from playwright.sync_api import sync_playwright

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "_build/html/chapter_gpus/use-gpu.html"
FIGURE = "[data-explorable=queue]"


def main() -> None:
    """Open the page, scroll to the figure, and save a screenshot."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox"]
        )
        page = browser.new_page(viewport={"width": 1280, "height": 860})
        page.goto(f"{PAGE.as_uri()}?tab=jax")
        page.locator(FIGURE).scroll_into_view_if_needed()
        page.locator(f"{FIGURE}.live").wait_for()
        page.locator(FIGURE).evaluate(
            "figure => scrollTo(0, figure.offsetTop - innerHeight / 2)"
        )
        page.wait_for_timeout(500)  # until the contents mark the current section
        page.screenshot(path=ROOT / "img/page.png")
        browser.close()


if __name__ == "__main__":
    main()
