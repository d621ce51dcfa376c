"""The corpus ``world``: generated documents that need no download and have no end.

Facts are drawn first and are the same in both languages (``district``); articles tell them (``articles``) by the
sentence plans in the folders ``en`` and ``zh`` (``grammar``, ``writer``) and ask for them (``questions``).
"""

from fathom.world.corpus.articles import article, generate

__all__ = ["STATE", "article", "generate"]

STATE = "650b357e33d24e68"
"""What a suite records of this generator: it changes whenever a generated text does, and with nothing else."""
