"""Units of work: in processes of this machine, or as tasks of a Ray cluster."""
