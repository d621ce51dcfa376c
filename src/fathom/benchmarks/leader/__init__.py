"""LongLeader: 24 data sets in two sets of lengths, with the scorers of InfiniteBench and RULER."""
