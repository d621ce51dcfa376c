"""What is stored of a run: its manifest, replies, judgements and batches, who works on it and how far it is."""
