"""Make long-context samples together: documents, drafts, reviews and exports in a web app."""

NAMES = (
    *("init", "serve", "users", "policy", "add-documents", "tasks", "draft", "predict", "critique", "difficulty"),
    *("export", "import"),
    *("stats", "audit", "backup", "restore"),
)
"""The commands, in the order of the help."""
