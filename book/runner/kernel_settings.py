"""The environment of a kernel, and the look of the plots that it draws."""

import inspect
import os
from pathlib import Path

from . import descriptions
from .machine import is_cpu

KERNEL_SETTINGS = {
    "PYTHONHASHSEED": "0",
    "PYTHONNOUSERSITE": "1",
    "PYDEVD_DISABLE_FILE_VALIDATION": "1",
    "TF_CPP_MIN_LOG_LEVEL": "3",
    "GLOG_minloglevel": "3",
    "MXNET_SUBGRAPH_VERBOSE": "0",
    "COLUMNS": "80",
}
# Records of a CPU hardly depend on the machine: GPUs are hidden, no kernel is chosen by
# the type of the processor, and one thread adds up sums in order.
CPU_SETTINGS = {
    "CUDA_VISIBLE_DEVICES": "",
    "JAX_PLATFORMS": "cpu",
    "TF_ENABLE_ONEDNN_OPTS": "0",
    "OMP_NUM_THREADS": "1",
}
# The look of plots in records. Axes of 3.5 inches are about 480 pixels wide on a page,
# where 7 points are 13 pixels. Text stays text and takes the typeface of the page. It
# is measured in a font that matplotlib brings along, which is wider than that of the
# page, so it always fits. The colors are those of light pages (static/book.css).
PLOT_STYLE = """\
svg.hashsalt: book
svg.fonttype: none
savefig.pad_inches: 0.02
font.sans-serif: DejaVu Sans
font.size: 7
axes.titlesize: medium
legend.fontsize: medium
text.color: 1c1f23
axes.labelcolor: 1c1f23
xtick.labelcolor: 4a5058
ytick.labelcolor: 4a5058
axes.edgecolor: 838c97
xtick.color: 838c97
ytick.color: 838c97
grid.color: dcdfe4
axes.prop_cycle: cycler(color=["1a56b0", "a84a0b", "1a6b34", "6b3fc0", "a8261c"])
lines.linewidth: 1.1
lines.markersize: 3
axes.linewidth: 0.6
grid.linewidth: 0.6
patch.linewidth: 0.6
hatch.linewidth: 0.6
xtick.major.width: 0.6
ytick.major.width: 0.6
xtick.minor.width: 0.4
ytick.minor.width: 0.4
xtick.major.size: 2.5
ytick.major.size: 2.5
xtick.minor.size: 1.5
ytick.minor.size: 1.5
axes.spines.top: False
axes.spines.right: False
axes.axisbelow: True
legend.edgecolor: none
legend.handlelength: 2.6
figure.subplot.left: 0.11
figure.subplot.right: 0.99
figure.subplot.bottom: 0.15
figure.subplot.top: 0.98
"""
# Records hold static plots, which every reader sees, in place of widgets.
HIDE_WIDGETS = "__import__('sys').modules['ipywidgets'] = None"
# The settings of IPython: each figure that it shows gets a description.
IPYTHON_SETTINGS = f"""\
{inspect.getsource(descriptions)}
c.InteractiveShellApp.exec_lines = [{HIDE_WIDGETS!r}]
FIGURE = ("matplotlib.figure", "Figure")
c.MimeBundleFormatter.deferred_printers = {{FIGURE: add_description}}
"""
# Settings of the caller's own Python, which a kernel must not inherit.
CALLERS_OWN = ("VIRTUAL_ENV", "PYTHONHOME", "PYTHONSTARTUP", "MPLBACKEND")
# Names the run in the environment of its kernel and of all that the kernel starts.
RUN = "BOOK_RUN"


def kernel_settings(
    python: Path, library: Path, machine: str, scratch: Path
) -> dict[str, str]:
    """Return the environment of a kernel, in which no setting of the user shows.

    The kernel of `python` imports d2l from the folder `library`. `scratch` is a folder
    for its own settings, whose name is the value of `RUN`.
    """
    rc = scratch / "matplotlibrc"
    rc.write_text(PLOT_STYLE)
    profile = scratch / "ipython/profile_default"
    profile.mkdir(parents=True, exist_ok=True)
    (profile / "ipython_config.py").write_text(IPYTHON_SETTINGS, "utf-8")
    inherited = {k: v for k, v in os.environ.items() if k not in CALLERS_OWN}
    return {
        **inherited,
        **KERNEL_SETTINGS,
        **(CPU_SETTINGS if is_cpu(machine) else {}),
        RUN: str(scratch),
        "PATH": f"{python.parent}{os.pathsep}{os.environ.get('PATH', '')}",
        "PYTHONPATH": str(library),
        "MATPLOTLIBRC": str(rc),
        "IPYTHONDIR": str(scratch / "ipython"),
        # What compiling costs is a subject of the book, so caches begin empty.
        "TORCHINDUCTOR_CACHE_DIR": str(scratch / "inductor"),
        "TRITON_CACHE_DIR": str(scratch / "triton"),
    }
