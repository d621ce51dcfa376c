"""LongBench, LongBench-E, MiniLongBench and LongBench v2: published records, asked and scored as published."""
