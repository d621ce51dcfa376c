"""How replies count: what became of each, and what a mean over them is. Analysis, board and compression ask here."""
