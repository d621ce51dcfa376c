"""The commands of fathom: one file each, with its options, what it does, and what it prints.

A command is declared once. Its options are the fields of a frozen class (``fathom.options``), from which the command
line, the Python function in ``fathom.api``, ``--config`` files, what manifests record and the tables of
the docs are made. Files of commands import little at the top, so that ``fathom --help`` is quick.
"""
