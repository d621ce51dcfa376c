"""The suite ``starter``: six tasks that can be made from any documents."""
