"""Graphwalks: breadth-first searches and parents in a list of edges."""
