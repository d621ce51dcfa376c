"""Options that are declared once, and the command line, the functions and the tables that follow from them."""
