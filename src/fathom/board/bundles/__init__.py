"""Bundles of results: writing them from runs, reading them safely, and checking them."""
