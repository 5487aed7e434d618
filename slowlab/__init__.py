"""SlowLab: slow, costly greenhouse experiments as a benchmark for autonomous research."""

from importlib.metadata import version

__version__ = version("slowlab")
