"""The https address of a proxy in front of this machine.

Codespaces, JupyterHub and cloud consoles give a port of a machine elsewhere an https
address, at a host of its own or below a path of theirs. Only the reader's ORIGIN names
it; headers such as `X-Forwarded-Host` are ignored.
"""

import argparse
import re
from collections.abc import Mapping
from dataclasses import dataclass

# Before the setting that this machine's proxy needs.
BEHIND_PROXY = "in a browser behind a proxy, end this and add to your command:"
HOST = r"[a-z0-9]([a-z0-9.-]*[a-z0-9])?"
SEGMENT = r"/(?!\.{1,2}(?:/|$))[A-Za-z0-9._~@%+-]+"
ADDRESS = re.compile(rf"(?i:https)://(?P<host>(?i:{HOST}))(:(?P<port>[0-9]{{1,5}}))?"
                     rf"(?P<path>({SEGMENT})*)/?")  # fmt: skip


@dataclass(frozen=True)
class Origin:
    """A host such as `gpu.example:8443`, and the path there, such as `/proxy/8000`."""

    host: str
    path: str = ""

    @property
    def site(self) -> str:
        """The origin, as a browser sends it: without the path."""
        return f"https://{self.host}"

    @property
    def hosts(self) -> tuple[str, ...]:
        """The host, as proxies write it: some name the default port, too."""
        has_port = ":" in self.host
        return (self.host,) if has_port else (self.host, f"{self.host}:443")

    def __str__(self) -> str:
        return self.site + self.path


def origin(value: str) -> Origin:
    """Return the origin that a setting names."""
    found = ADDRESS.fullmatch(value)
    port = int(found["port"] or 443) if found else 0
    if not found or ".." in found["host"] or not 1 <= port <= 65535:
        raise argparse.ArgumentTypeError(
            f"'{value}' is not the https address of a proxy; write https://HOST, or"
            " https://HOST/PATH if all its pages are below a path"
        )
    host = found["host"].lower()
    return Origin(host if port == 443 else f"{host}:{port}", found["path"])


def hint(environ: Mapping[str, str], port: int) -> str | None:
    """Return the setting that Codespaces or JupyterHub needs, if this is one of them.

    It is only shown: what a variable says must not open the server to anyone.
    """
    space = environ.get("CODESPACE_NAME")
    domain = environ.get("GITHUB_CODESPACES_PORT_FORWARDING_DOMAIN")
    hub = environ.get("JUPYTERHUB_SERVICE_PREFIX")
    if space and domain:
        address = f"https://{space}-{port}.{domain}"
    elif hub:
        address = f"https://HOST{hub}proxy/absolute/{port}"
    else:
        return None
    try:
        origin(address)
    except argparse.ArgumentTypeError:
        return None
    unknown = " (HOST: the name in your browser's address bar)" if not space else ""
    return f"ORIGIN={address}{unknown}"
