"""Facts of the machine and the interpreter that run notebooks."""

import datetime
import json
import platform
import re
import subprocess
from collections.abc import Sequence
from pathlib import Path

from .errors import BookError

START_SECONDS = 120
GPU_SECONDS = 60


def is_cpu(machine: str) -> bool:
    """Return whether a machine is, by its name, one whose GPUs are hidden."""
    return machine == "cpu" or machine.startswith("cpu-")


FACTS_SCRIPT = """
import importlib.metadata as metadata, json, platform, sys
def version():
    for name in sys.argv[1:]:
        try:
            return metadata.version(name)
        except metadata.PackageNotFoundError:
            pass
    return ""
print(json.dumps({"python": platform.python_version(), "framework_version": version(),
                  "platform": platform.system() + " " + platform.machine()}))
"""


def machine_facts(
    machine: str, tab: str, python: Path, distributions: Sequence[str]
) -> dict[str, str]:
    """Return what a record says about this machine and the interpreter `python`.

    The framework is the first of `distributions` that is installed. Raises a
    `BookError` if the interpreter does not answer, or if the machine has no GPU
    although its name promises one.
    """
    gpu, driver = gpus_of(machine)
    try:
        asked = ask([str(python), "-c", FACTS_SCRIPT, *distributions], START_SECONDS)
        # Something that Python starts with may print lines of its own before.
        facts = json.loads(asked.strip().rpartition("\n")[2])
    except (OSError, subprocess.SubprocessError, ValueError):
        raise BookError(f"{python}: this interpreter does not start") from None
    return {
        "machine": machine,
        "machine_name": gpu or "CPU",
        "gpu": gpu,
        "driver": driver,
        "framework": tab,
        "cpu": cpu_model(),
        "date": datetime.date.today().isoformat(),
        **facts,
    }


def gpus_of(machine: str) -> tuple[str, str]:
    """Return the names of the GPUs here and their driver's version.

    Both are empty if `machine` is the name of a CPU. For another name, raise a
    `BookError` if no GPU is found: the outputs would not be those of that machine.
    """
    if is_cpu(machine):
        return "", ""
    query = ["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"]
    lines, reason = [], "nvidia-smi lists none"
    try:
        lines = ask(query, GPU_SECONDS).splitlines()
    except FileNotFoundError:
        reason = "nvidia-smi is not installed"
    except subprocess.TimeoutExpired:
        reason = f"nvidia-smi does not answer within {GPU_SECONDS} s"
    except (OSError, subprocess.SubprocessError):
        reason = "nvidia-smi fails"
    # The name and the driver's version of each GPU.
    rows = [line.split(", ") for line in lines if line.isprintable()]
    rows = [row for row in rows if len(row) == 2]
    if not rows:
        raise BookError(
            f"no GPU is found here ({reason}), but '{machine}' names a machine with a"
            " GPU; fix the driver, or use a name that begins with cpu-, as in"
            " MACHINE=cpu-arm"
        )
    count = f"{len(rows)} × " if len(rows) > 1 else ""
    return count + rows[0][0], rows[0][1]


def ask(command: Sequence[str], seconds: int) -> str:
    """Return what a command prints; raise an error if it fails or takes too long."""
    asked = subprocess.run(
        command,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        check=True,
        timeout=seconds,
    )
    return asked.stdout


def cpu_model() -> str:
    """Return the processor's model, or an empty text if the system does not name it."""
    try:
        if platform.system() == "Darwin":
            return ask(["sysctl", "-n", "machdep.cpu.brand_string"], 10).strip()
        info = Path("/proc/cpuinfo").read_text(errors="replace")
    except (OSError, subprocess.SubprocessError):
        return ""
    model = re.search(r"^model name\s*:\s*(.*)$", info, re.MULTILINE)
    return model[1].strip() if model else ""
