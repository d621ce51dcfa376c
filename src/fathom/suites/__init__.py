"""The suites: which tasks at which lengths make up a benchmark. A module declares ``SUITES``."""
