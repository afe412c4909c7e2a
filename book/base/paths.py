"""The folders of this project's own files."""

from pathlib import Path

CODE = Path(__file__).resolve().parents[1]
ROOT = CODE.parent
STATIC = ROOT / "static"
TEMPLATES = CODE / "templates"
