"""The studio in a browser: server-rendered pages, forms, and plain modules of script."""
