"""The benchmarks, one folder each: data sources, tasks, scorers (official, strict), rubrics, suites, published results.

A module declares ``SOURCES``, ``TASKS``, ``METRICS``, ``RUBRICS`` or ``SUITES``. ``plugins.discovery`` finds them.
"""
