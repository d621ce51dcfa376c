"""Runs whose requests are sent through a provider's batch API.

``recording`` has the bodies of requests as a plain run would send them, ``provider`` what the batch APIs have in common
and one module for each of them, ``store`` what was sent, ``sender`` sends, waits and
collects, and ``session`` has a run sent that way.
"""
