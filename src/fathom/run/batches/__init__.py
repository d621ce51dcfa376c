"""Runs and judges whose requests are sent through a provider's batch API.

``recording`` has the bodies of requests as a plain run would send them, ``provider`` what the batch APIs have in common
and one module for each of them, ``store`` what was sent. ``sender`` sends, waits and collects what a run
(``session``) or a judge (``judging``) asks.
"""
