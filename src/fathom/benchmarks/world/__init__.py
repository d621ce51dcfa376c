"""The suite ``world``: the tasks of LongBench Pro, generated with exact answers."""
