"""Samples that people made with ``fathom studio`` for tasks of their own."""
