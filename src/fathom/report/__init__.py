"""Rows as one self-contained HTML page, as tables in a terminal, and as figures.

Its modules are imported one by one: what draws loads Altair, and most commands draw nothing.
"""
