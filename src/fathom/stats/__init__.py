"""Statistics of all results: how replies count, means, intervals, paired differences and ranks."""
