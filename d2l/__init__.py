"""The library of the book "GPUs", one module a tab."""

__version__ = "0.1.0"
