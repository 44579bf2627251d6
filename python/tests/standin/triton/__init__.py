"""A stand-in for Triton 3.6: the part that its cache managers see."""

__version__ = "3.6.0"
