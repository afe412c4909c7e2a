"""Compares the GPUs that the driver and the framework report, and finds problems.

The driver is asked first, by nvidia-smi. If it hangs, the framework is not asked, which
would hang, too. Each function that finds problems takes a `GPUReport`, so it can be
given a made-up one.
"""

import json
import os
import platform
import re
import shutil
import subprocess
import textwrap
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import takewhile
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class GPUInfo:
    """A GPU as the driver reports it; memory in MiB, and None for unknown values."""

    index: int
    uuid: str
    name: str
    capability: float | None
    total: float | None
    free: float | None
    divided: bool  # into instances (MIG)

    def __str__(self) -> str:
        free, total = (
            "?" if mib is None else f"{mib / 1024:.1f}"
            for mib in (self.free, self.total)
        )
        capability = "?" if self.capability is None else self.capability
        divided = ", divided (MIG)" if self.divided else ""
        return (
            f"{self.name}, {free} of {total} GiB free, "
            f"compute capability {capability}{divided}"
        )


@dataclass
class FrameworkInfo:
    """The hardware that a framework was built for, and the GPUs that it sees."""

    name: str
    install: str  # how to install its GPU build
    cuda: str = ""  # the version it was built for; '' in a CPU build
    cudnn: str = ""  # '' if unknown
    nccl: str = ""  # the library that connects GPUs; '' if unknown
    oldest: float | None = None  # the range of compute capabilities it supports;
    newest: float | None = None  # None where there is no limit
    seen: list[str] = field(default_factory=list)  # the GPUs it can use
    reason: str = ""  # its own explanation if it sees no GPU
    kept_off: str = ""  # its own setting that keeps it off GPUs
    unusable: str = ""  # why it cannot compute at all, not even on the CPU
    held: list[float] = field(default_factory=list)  # MiB taken from each GPU
    used: list[float] = field(default_factory=list)  # MiB that arrays use of these


@dataclass(repr=False)
class GPUReport:
    """The results of `gpu_report`. Printing it prints the report."""

    system: str
    driver: str  # its version; '' if unknown
    driver_cuda: str  # the newest CUDA that it supports; '' if unknown
    complaint: str  # the error of nvidia-smi; '' if it works or is missing
    gpus: list[GPUInfo]
    processes: dict[str, list[str]]  # other processes on each GPU, by its UUID
    setting: str | None  # the variable CUDA_VISIBLE_DEVICES
    framework: FrameworkInfo
    problems: list[str] = field(default_factory=list)
    own_memory: dict[str, float] = field(default_factory=dict)  # MiB, by UUID
    links: dict[tuple, str] = field(default_factory=dict)  # of pairs of GPUs
    launcher: dict[str, dict] = field(default_factory=dict)  # its variables

    def __repr__(self) -> str:
        return report_text(self)  # defined below


def nvidia_smi(*options: str, timeout: float = 30) -> tuple[int | None, str]:
    """Return the exit status of nvidia-smi and its output.

    The status is None if the program is missing or did not finish in `timeout` seconds.
    """
    path = shutil.which("nvidia-smi") or "/usr/lib/wsl/lib/nvidia-smi"
    try:
        process = subprocess.Popen(
            [path, *options],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
        )
    except OSError:
        return None, ""
    try:
        answer, _ = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        process.kill()
        return None, f"no answer within {timeout:g} seconds"
    return process.returncode, answer


def gpu_info(row: dict) -> GPUInfo:
    """Return a GPU made from the fields that nvidia-smi printed."""

    def number(name):
        value = row.get(name, "")
        return float(value) if re.fullmatch(r"\d+(\.\d+)?", value) else None

    return GPUInfo(
        int(row["index"]),
        row["uuid"],
        row["name"],
        number("compute_cap"),
        number("memory.total"),
        number("memory.free"),
        row.get("mig.mode.current") == "Enabled",
    )


def query_gpus() -> tuple[list[GPUInfo], str]:
    """Return the GPUs that nvidia-smi lists, and its error message if it fails."""
    fields = [
        "index",
        "uuid",
        "name",
        "compute_cap",
        "memory.total",
        "memory.free",
        "mig.mode.current",
    ]
    refused = fields
    while refused:
        status, answer = nvidia_smi(
            "--query-gpu=" + ",".join(fields), "--format=csv,noheader,nounits"
        )
        refused = [f for f in fields if f'Field "{f}" is not a valid' in answer]
        fields = [f for f in fields if f not in refused]
    lines = [line.strip() for line in answer.splitlines() if line.strip()]
    rows = [line.split(", ") for line in lines]
    gpus = [
        gpu_info(dict(zip(fields, row)))
        for row in rows
        if len(row) == len(fields) and row[0].isdecimal()
    ]
    fine = status == 0 and gpus or (status, answer) == (None, "")
    return gpus, "" if fine else " ".join(lines[:2]) or "nothing"


def driver_versions() -> tuple[str, str]:
    """Return the versions of the driver and of the newest CUDA that it supports."""
    _, head = nvidia_smi()
    driver = re.search(r"(?:Driver|KMD) Version: *(\d[\d.]*)", head)
    cuda = re.search(r"CUDA (?:UMD )?Version: *(\d[\d.]*)", head)
    return driver[1] if driver else "", cuda[1] if cuda else ""


def cuda_processes() -> list[tuple[str, str, str]]:
    """Return the UUID of the GPU, the process id and the MiB of each CUDA process."""
    _, answer = nvidia_smi(
        "--query-compute-apps=gpu_uuid,pid,used_memory", "--format=csv,noheader,nounits"
    )
    rows = [line.strip().split(", ") for line in answer.splitlines()]
    return [(row[0], row[1], row[2]) for row in rows if len(row) == 3]


def other_processes(rows: Iterable[tuple]) -> dict[str, list[str]]:
    """Return the processes on each GPU, by its UUID, without this process."""
    found: dict[str, list[str]] = {}
    for uuid, pid, mib in rows:
        if pid != str(os.getpid()):
            found.setdefault(uuid, []).append(f"process {pid} ({mib} MiB)")
    return found


def own_memory(rows: Iterable[tuple]) -> dict[str, float]:
    """Return how many MiB of each GPU, by its UUID, this process has taken."""
    return {
        uuid: float(mib)
        for uuid, pid, mib in rows
        if pid == str(os.getpid()) and mib.isdecimal()
    }


LINKS = {  # what a copy between two GPUs passes through
    "PIX": "one PCIe switch",
    "PXB": "several PCIe switches",
    "PHB": "a PCIe host bridge",
    "NODE": "PCIe and one processor",
    "SYS": "PCIe and both processors",
    "SOC": "PCIe and both processors",
}


def gpu_links(table: str) -> dict[tuple[int, int], str]:
    """Return the link of each pair of GPUs in a table of `nvidia-smi topo -m`."""
    plain = re.sub(r"\x1b\[\d*m", "", table)  # some drivers underline the head
    rows = [line.split() for line in plain.splitlines()]
    rows = [row for row in rows if row and re.fullmatch(r"GPU\d+", row[0])]
    heads = [name for row in rows[:1] for name in row if name[3:].isdecimal()]
    links = [
        (int(row[0][3:]), int(head[3:]), link)
        for row in rows[1:]
        for head, link in zip(heads, row[1:])
    ]
    return {(i, j): link for i, j, link in links if i < j}


def describe_links(links: dict[tuple[int, int], str]) -> str:
    """Return the links by kind, and the pairs of GPUs that each connects."""
    kinds: dict[str, list] = {}
    for (i, j), link in links.items():
        kinds.setdefault(link, []).append(f"{i}-{j}")

    def meaning(link):
        return f"{link[2:]} x NVLink" if link[:2] == "NV" else LINKS.get(link, "?")

    return "; ".join(
        f"{link} ({meaning(link)}) between "
        + ("all GPUs" if len(kinds) == 1 else "GPUs " + ", ".join(pairs))
        for link, pairs in kinds.items()
    )


def named_gpus(entry: str, gpus: list[GPUInfo]) -> list[GPUInfo]:
    """Return those of `gpus` that an entry of CUDA_VISIBLE_DEVICES names."""
    entry = entry.strip()
    if entry.startswith("MIG-"):  # an instance, which any divided GPU may have
        return [gpu for gpu in gpus if gpu.divided]
    if entry.startswith("GPU-"):
        return [gpu for gpu in gpus if gpu.uuid.startswith(entry)]
    return [gpu for gpu in gpus if entry == str(gpu.index)]


def visible_gpus(gpus: list[GPUInfo], setting: str | None) -> list[GPUInfo]:
    """Return the GPUs that CUDA_VISIBLE_DEVICES leaves; all GPUs if it is not set."""
    if setting is None:
        return gpus
    named = takewhile(bool, (named_gpus(e, gpus) for e in setting.split(",")))
    return list(dict.fromkeys(gpu for some in named for gpu in some))


def nvidia_cards(devices: str = "/sys/bus/pci/devices") -> int:
    """Return the number of NVIDIA's graphics cards on the bus, or 0 if unknown."""

    def read(path):
        return path.read_text() if path.exists() else ""

    # 10de is NVIDIA's number; class 03 contains displays and accelerators
    return len(
        [
            path
            for path in Path(devices).glob("*")
            if read(path / "vendor").startswith("0x10de")
            and read(path / "class").startswith("0x03")
        ]
    )


def capability_range(names: Iterable[str]) -> dict[str, Any]:
    """Return the oldest and newest GPUs of a build, from names such as 'sm_90'.

    A name such as 'compute_90' stands for code that newer GPUs can use, too.
    """
    names = list(names)
    known = [int(number) / 10 for number in re.findall(r"\d+", " ".join(names))]
    open_end = not known or any(name.startswith("compute") for name in names)
    return {
        "oldest": min(known, default=None),
        "newest": None if open_end else int(max(known)) + 0.9,
    }


LAUNCHERS = {  # the variables of each launcher that the report reads
    "torchrun": "RANK WORLD_SIZE LOCAL_RANK MASTER_ADDR MASTER_PORT",
    "TensorFlow": "TF_CONFIG",
    "JAX": "JAX_COORDINATOR_ADDRESS",
    "MXNet": "DMLC_ROLE DMLC_PS_ROOT_URI DMLC_PS_ROOT_PORT DMLC_NUM_WORKER "
    "DMLC_NUM_SERVER",
}


def launcher_settings() -> dict[str, dict[str, str]]:
    """Return the variables of each launcher that has set at least one."""
    settings = {
        name: {v: os.environ[v] for v in variables.split() if v in os.environ}
        for name, variables in LAUNCHERS.items()
    }
    return {name: found for name, found in settings.items() if found}


def tf_config_error(text: str) -> str:
    """Return what is wrong with a value of TF_CONFIG, or '' if nothing is."""
    try:
        config = json.loads(text)
        task = config["task"]
        config["cluster"][task["type"]][int(task["index"])]
    except json.JSONDecodeError as error:
        return f"is not valid JSON ({error})"
    except (KeyError, IndexError, TypeError, ValueError):
        return (
            'needs "cluster", with the addresses of all tasks by type, and '
            '"task", with the type and the index of this task'
        )
    return ""


def number_error(settings: dict[str, str], number: str, count: str) -> str:
    """Return what is wrong with a rank and the number of ranks, or ''."""
    values = [settings.get(name, "") for name in (number, count)]
    if all(values) and not all(value.isdecimal() for value in values):
        return f"{number}={values[0]} and {count}={values[1]} must be numbers. "
    if all(values) and int(values[0]) >= int(values[1]):
        return f"{number}={values[0]} must be less than {count}={values[1]}. "
    return ""


def remedy(complaint: str) -> str:
    """Return advice on an error message of nvidia-smi."""
    for words, help_text in (
        (
            "communicate with",
            "Restart the machine. If that does not help, install the driver again.",
        ),
        (
            "version mismatch",
            "The driver was updated while it was in use. Restart the machine.",
        ),
        ("No devices", "If this is a container, start it with a GPU."),
        (
            "NVML: Unknown",
            "If this is a container, it has lost its GPU: start it again.",
        ),
        ("Permission", "Ask the administrator for access to the GPUs."),
        ("no answer", "The driver or a GPU is stuck. Restart the machine."),
    ):
        if words in complaint:
            return help_text
    return "Restart the machine."


def driver_problems(report: GPUReport) -> Iterator[str]:
    """Yield the problems of the driver."""
    if report.complaint:
        yield f'nvidia-smi reports "{report.complaint}". {remedy(report.complaint)}'
    elif not report.gpus and not report.framework.seen and nvidia_cards():
        yield (
            "This machine has an NVIDIA GPU, but no driver responds. Install the "
            "driver. If this is a container, start it with its GPUs."
        )


def driver_is_too_old(report: GPUReport) -> bool:
    """Return whether the framework needs a newer driver."""
    cuda = int("0" + report.framework.cuda.split(".")[0])
    if report.driver_cuda:
        return int(report.driver_cuda.split(".")[0]) < cuda
    needed = {11: 450, 12: 525, 13: 580}.get(cuda, 0)
    return bool(report.driver) and int(report.driver.split(".")[0]) < needed


def build_problems(report: GPUReport) -> Iterator[str]:
    """Yield the reasons why this build of the framework cannot use the GPUs."""
    info, unfit = report.framework, 0
    for gpu in report.gpus:
        if gpu.capability is None:
            continue
        old = gpu.capability < (info.oldest or 0)
        if old or gpu.capability > (info.newest or 99):
            unfit += 1
            yield (
                f"GPU {gpu.index} is too {'old' if old else 'new'} for {info.name}: "
                f"its compute capability is {gpu.capability}. Install a version of "
                "the framework that supports it, or use another framework."
            )
    if len(report.gpus) > unfit and not info.cuda:
        yield (f"{info.name} is a CPU build. To install the GPU build: {info.install}.")
    if driver_is_too_old(report):
        cuda = report.driver_cuda  # from CUDA 11 on, only the major version matters
        cuda = cuda if cuda.startswith("10.") else cuda.split(".")[0]
        yield (
            f"The driver {report.driver} is too old for {info.name}, which was "
            f"built for CUDA {info.cuda}. Update the driver, or install a build "
            f"for {'CUDA ' + cuda if cuda else 'it'}."
        )


def sight_problems(report: GPUReport) -> Iterator[str]:
    """Yield the settings and errors that hide GPUs from this process."""
    visible, info = visible_gpus(report.gpus, report.setting), report.framework
    entries = [] if report.setting is None else report.setting.split(",")
    if report.gpus and not all(named_gpus(e, report.gpus) for e in entries):
        yield (
            f"CUDA_VISIBLE_DEVICES={report.setting!r} leaves {len(visible)} of "
            f"{len(report.gpus)} GPU(s). Unset it, or name existing GPUs, "
            "before Python starts."
        )
    if report.gpus and info.kept_off:
        yield f"{info.kept_off} keeps {info.name} off the GPUs. Remove this setting."
    if info.unusable:
        yield info.unusable
    divided = any(gpu.divided for gpu in visible)
    expected = min(len(visible), 1) if divided else len(visible)
    if len(info.seen) < expected and info.cuda and not report.problems:
        yield (
            f"{info.name} sees {len(info.seen)} of {expected} GPU(s). "
            f"Its reason: {info.reason or 'none'}"
        )


def memory_problems(report: GPUReport) -> Iterator[str]:
    """Yield the GPUs of which other processes have taken more than half."""
    held = dict(enumerate(report.framework.held))
    for i, gpu in enumerate(visible_gpus(report.gpus, report.setting)):
        own = max(report.own_memory.get(gpu.uuid, 0), held.get(i, 0))
        if gpu.free is None or not gpu.total or gpu.free + own >= gpu.total / 2:
            continue
        others = ", ".join(report.processes.get(gpu.uuid, []))
        who = (
            f"It is also used by {others}."
            if others
            else (
                "nvidia-smi does not show the process that has taken the rest"
                + ("." if own else "; it may be this one.")
            )
        )
        yield (
            f"GPU {gpu.index} has {gpu.free / 1024:.1f} of "
            f"{gpu.total / 1024:.1f} GiB free. {who} End that process, wait "
            "for it, or use another GPU."
        )


def launcher_problems(report: GPUReport) -> Iterator[str]:
    """Yield what is missing or wrong in the variables of launchers."""
    for name, found in report.launcher.items():
        missing = [v for v in LAUNCHERS[name].split() if v not in found]
        if missing:
            yield (
                f"{' and '.join(found)} {'is' if len(found) == 1 else 'are'} set, "
                f"but {' and '.join(missing)} {'is' if len(missing) == 1 else 'are'}"
                " not. A launcher sets all of them."
            )
    settings = report.launcher.get("torchrun", {})
    if error := number_error(settings, "RANK", "WORLD_SIZE"):
        yield error + "Start the program with torchrun."
    gpus, local = len(report.framework.seen), settings.get("LOCAL_RANK", "")
    if gpus and local.isdecimal() and int(local) >= gpus:
        yield (
            f"LOCAL_RANK={local}, but {report.framework.name} sees {gpus} GPU(s). "
            f"Start at most {gpus} process(es) on this machine."
        )
    tf_config = report.launcher.get("TensorFlow", {}).get("TF_CONFIG")
    if tf_config is not None and (error := tf_config_error(tf_config)):
        yield f"TF_CONFIG {error}."


def report_on(framework_info: Callable[..., FrameworkInfo]) -> GPUReport:
    """Return which GPUs this process can use, and a list of problems.

    `framework_info(look)` returns the build of the framework and, if `look`, the GPUs
    that it can use; without `look`, it must not touch the driver. Needs no GPU, no
    driver and no nvidia-smi. The list `problems` of the result is empty if there is
    nothing to fix.
    """
    gpus, complaint = query_gpus()
    driver, cuda = driver_versions() if gpus else ("", "")
    stuck = complaint.startswith("no answer")  # the framework would be stuck, too
    info = framework_info(look=not stuck)
    if any(info.held):
        gpus, complaint = query_gpus()
    rows = cuda_processes() if gpus else []
    report = GPUReport(
        f"{platform.platform()}, Python {platform.python_version()}",
        driver,
        cuda,
        complaint,
        gpus,
        other_processes(rows),
        os.environ.get("CUDA_VISIBLE_DEVICES"),
        info,
        own_memory=own_memory(rows),
        launcher=launcher_settings(),
    )
    if len(gpus) > 1:
        report.links = gpu_links(nvidia_smi("topo", "-m")[1])
    for find in (
        driver_problems,
        build_problems,
        sight_problems,
        memory_problems,
        launcher_problems,
    ):
        report.problems += find(report)
    return report


def report_text(report: GPUReport) -> str:
    """Return a report as lines of at most 72 characters."""
    info = report.framework
    driver, cuda = report.driver or "unknown", report.driver_cuda or "unknown"
    rows = {"System": report.system, "Driver": "none responds"}
    if report.gpus:
        rows["Driver"] = f"{driver}, supports CUDA up to {cuda}"
    rows |= {f"GPU {gpu.index}": str(gpu) for gpu in report.gpus}
    if report.links:
        rows["Links"] = describe_links(report.links)
    if report.setting is not None:
        rows["Setting"] = f"CUDA_VISIBLE_DEVICES={report.setting!r}"
    build = f"CUDA {info.cuda}, cuDNN {info.cudnn or 'unknown'}"
    rows["Framework"] = f"{info.name}, {build if info.cuda else 'a CPU build'}"
    if info.nccl:
        rows["Framework"] += f", NCCL {info.nccl}"
    rows["It sees"] = ", ".join(info.seen) or "no GPU"
    if any(info.held):
        rows["It holds"] = ", ".join(
            f"{held / 1024:.1f} GiB, of which {used / 1024:.1f} GiB are in use"
            for held, used in zip(info.held, info.used)
        )
    if report.launcher:
        rows["Launcher"] = ", ".join(
            f"{name}={value}"
            for found in report.launcher.values()
            for name, value in found.items()
        )
    rows |= {f"Problem {i}": text for i, text in enumerate(report.problems, 1)}
    if not report.problems:
        found = report.gpus or info.seen
        rows["Problems"] = "none" if found else "none, but no NVIDIA GPU was found"
    return "\n".join(
        textwrap.fill(f"{name:<11}{text}", 72, subsequent_indent=" " * 11)
        for name, text in rows.items()
    )
