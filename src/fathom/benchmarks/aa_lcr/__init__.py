"""AA-LCR: questions over several documents, which a judge scores."""
