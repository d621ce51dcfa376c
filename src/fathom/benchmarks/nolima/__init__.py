"""NoLiMa: a name whose sentence shares no words with the question."""
