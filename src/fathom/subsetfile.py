"""Subset files: a ``Subset`` as JSON."""
