"""The leaderboard: boards from results, a static site from boards, and a server that checks and accepts submissions."""
