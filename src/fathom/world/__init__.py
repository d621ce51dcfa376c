"""A world with exact truth: facts are drawn once, neutral of language; texts, questions and answers follow."""
