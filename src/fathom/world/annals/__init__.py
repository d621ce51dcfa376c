"""Tasks about the annals: papers of many towns on the progress of their public works.

Each task is a ``Kind``: how its papers are drawn, what is asked, and a solver that has the text alone.
"""
