"""Suites: tasks by name, prompts of exact length, builds, and the files of suites and subsets."""
