"""What readers call the tabs."""

TAB_NAMES = {
    "pytorch": "PyTorch",
    "mxnet": "MXNet",
    "jax": "JAX",
    "tensorflow": "TensorFlow",
}


def tab_name(tab: str) -> str:
    return TAB_NAMES.get(tab, tab.title())
