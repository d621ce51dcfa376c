"""Runs and judges whose requests are sent through a provider's batch API.

``recording`` has the bodies of requests as a plain run would send them, ``provider`` the protocol of the batch APIs,
with one module for each of them, and ``open`` opens the one of a model. ``sender`` sends, waits and collects what a run
(``session``) or work on cases asks; ``fathom.runfile.batches`` stores what was sent.
"""
