"""RULER and RULERv2: thirteen tasks of retrieval, tracing, counting and answers, at any length."""
