"""Ada-LEval: the order of segments of books (TSort), and the best of many answers (BestAnswer)."""
