"""The suite ``memory``: facts that a long conversation stated once, asked for at its end."""
