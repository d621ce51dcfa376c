"""HELMET: its scorers, and its seven categories."""
