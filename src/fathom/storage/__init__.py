"""Files that appear complete or not at all; checksums, formats and versions."""
