"""The server of a leaderboard: accepts bundles over HTTP, lets moderators decide on them, and publishes the site."""
