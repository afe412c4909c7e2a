"""A stand-in for uv."""

from pathlib import Path

# Stands in for uv: notes its calls, makes what `uv venv` makes, fails when told to.
FAKE_UV = """\
#!/bin/sh
echo "$@" >> "{log}"
if [ -e "{log}.fail" ]; then
    echo "  × No solution found"; echo "  ╰─▶ nosuch was not found"; exit 2
fi
if [ "$1" = venv ]; then
    for last; do :; done
    mkdir -p "$last/bin" && touch "$last/bin/python"; sleep 0.1
    mkdir -p "$last/lib/python3.11/site-packages/pypandoc/files"
    echo pandoc > "$last/lib/python3.11/site-packages/pypandoc/files/pandoc"
fi
"""


class Uv:
    def __init__(self, log: Path):
        self.log = log

    def calls(self) -> list[str]:
        return self.log.read_text().splitlines() if self.log.exists() else []

    def fail(self) -> None:
        self.log.with_name("log.fail").touch()
