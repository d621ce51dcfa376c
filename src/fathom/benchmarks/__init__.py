"""The benchmarks, a folder each: data sources, tasks, scorers (official and strict), rubrics and suites.

A module declares what it has as ``SOURCES``, ``TASKS``, ``METRICS``, ``RUBRICS`` or ``SUITES``;
``fathom.discovery`` finds it.
"""
