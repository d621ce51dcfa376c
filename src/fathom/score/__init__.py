"""What scorers of several benchmarks share, metrics by name, and judges; scorers are in ``fathom.benchmarks``."""
