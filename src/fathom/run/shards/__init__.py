"""Runs past one machine: the samples of a run cut into shards, each of which leaves one file; merged into a run."""
