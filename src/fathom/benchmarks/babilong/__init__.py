"""BABILong: facts of the bAbI tasks, scattered in running text."""
