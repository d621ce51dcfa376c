"""Tokenizers; tokens of documents and of their parts; lengths as people write them."""
