"""LOFT: retrieval, answers and tables from a corpus in the prompt."""
