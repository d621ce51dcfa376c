"""CorpusQA: questions over whole collections of documents, which a judge scores."""
