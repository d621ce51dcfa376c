"""L-Eval: scorers and data sources; it has no suite."""
