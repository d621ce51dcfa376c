"""Settings of models for suites; the suites themselves are in ``fathom.benchmarks``."""
