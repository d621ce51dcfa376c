"""LongProc: long procedures that follow exactly from the prompt."""
