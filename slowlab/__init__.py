"""SlowLab: slow, costly greenhouse experiments as a benchmark for autonomous research."""
