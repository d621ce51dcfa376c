"""Models: the protocol of their clients, how requests are sent and repeated, settings and prices, offline baselines."""
