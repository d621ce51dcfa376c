"""Secrets kept out of what is stored and shown; addresses checked before use."""
