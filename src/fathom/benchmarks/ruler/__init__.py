"""RULER and RULERv2: thirteen tasks of retrieval, tracing, counting and answers, and twelve more, at any length."""
