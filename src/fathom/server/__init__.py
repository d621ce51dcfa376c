"""What the servers of fathom share: database, backups, limits, connections, responses."""
