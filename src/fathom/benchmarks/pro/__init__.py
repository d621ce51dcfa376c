"""LongBench Pro: 25 tasks in English and Chinese at six lengths."""
