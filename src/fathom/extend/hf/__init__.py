"""Applies methods to models of ``transformers``, whose code stays as it is.

``checks`` reads a configuration and refuses what cannot work, ``attention`` computes attention with mapped positions,
``extension`` changes the configuration and the loaded model.
"""
