"""The library of the book "GPUs", one module per tab."""

__version__ = "0.1.0"
