"""README.md leads to files that are there."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_every_relative_link_and_image_of_the_readme_exists():
    text = (ROOT / "README.md").read_text("utf-8")
    prose = re.sub(r"^```.*?^```|`[^`\n]+`", "", text, flags=re.MULTILINE | re.DOTALL)
    targets = re.findall(r"\]\(([^()\s]+)", prose)
    assert targets
    files = [t.partition("#")[0] for t in targets if not re.match(r"[a-z]+:|#", t)]
    assert [file for file in files if not (ROOT / file).exists()] == []
