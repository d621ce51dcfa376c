"""The benchmarks, a folder each: data sources, tasks, scorers (official, strict), rubrics, suites, published figures.

A module declares what it has as ``SOURCES``, ``TASKS``, ``METRICS``, ``RUBRICS`` or ``SUITES``;
``fathom.discovery`` finds it.
"""
