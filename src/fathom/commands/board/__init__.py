"""Build and serve leaderboards; bundle results and check the bundles of others."""

NAMES = ("build", "diff", "bundle", "check", "serve", "token", "backup", "restore")
"""The commands, in the order of the help."""
