"""Takes img/page.png: the picture of a page that the README shows.

Run, after `make`, where chromium is installed: python img/src/page.py
"""

import subprocess
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "_build/html/chapter_gpus/use-gpu.html"
OPTIONS = "--headless --no-sandbox --disable-gpu --hide-scrollbars --no-first-run"


def main() -> None:
    with tempfile.TemporaryDirectory() as profile:
        subprocess.run(
            [
                *("chromium", *OPTIONS.split(), f"--user-data-dir={profile}"),
                *("--window-size=1280,900", f"--screenshot={ROOT / 'img/page.png'}"),
                f"{PAGE.as_uri()}?tab=jax#storage-on-a-gpu",
            ],
            check=True,
        )


if __name__ == "__main__":
    main()
