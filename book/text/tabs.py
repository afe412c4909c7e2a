"""The names of the tabs that readers see."""

TAB_NAMES = {
    "pytorch": "PyTorch",
    "mxnet": "MXNet",
    "jax": "JAX",
    "tensorflow": "TensorFlow",
}


def tab_name(tab: str) -> str:
    """Return the name that readers see for a tab, such as "PyTorch" for "pytorch"."""
    return TAB_NAMES.get(tab, tab.title())
