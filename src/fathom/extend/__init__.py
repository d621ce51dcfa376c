"""Ways to make a model with rotary positions read beyond its window: what they are, and what they compute.

``methods`` names them with their options, ``frequencies`` has the inverse frequencies of those that change these,
``positions`` the relative positions of those that map them, ``servers`` the flags of servers for the same. Everything
here is arithmetic; ``hf`` applies it to models of ``transformers``.
"""
