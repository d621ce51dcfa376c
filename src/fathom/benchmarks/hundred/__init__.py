"""100-LongBench: questions and summaries over one document and several, at any length; its data sources and scorers."""
