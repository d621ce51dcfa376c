"""Documents: records of files of any format, corpora, data sets by name, and the generated world."""
