"""The leaderboard: a static site from results, and bundles of results from others, checked and accepted."""

NAMES = ("build", "diff", "bundle", "check", "serve", "token", "backup", "restore")
"""The commands, in the order of the help."""
