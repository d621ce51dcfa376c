"""A selection of what makers of models print, over the folders of these benchmarks."""
