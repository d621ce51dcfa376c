"""fathom measures how reliably a language model uses long contexts.

``fathom.api`` has one function for every command; ``fathom.types`` has the values that they take and return.
"""

__version__ = "0.1.0"
