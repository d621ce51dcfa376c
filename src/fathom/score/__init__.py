"""Code shared by the scorers of several benchmarks, metrics by name, and judges."""
