"""``world``: a generated corpus that needs no download and has no end.

Facts are drawn first (``facts``, ``cluster``), text is written second: each kind of article is one outline function
(``biography``, ``portrait`` ...) with the facts to tell and the questions to ask; the sentence plans of each language
are in the folders ``en`` and ``zh``.
"""

from fathom.documents.world.generator import article, generate

__all__ = ["STATE", "article", "generate"]

STATE = "c340c4eda89b0863"
"""What a suite records of this generator: it changes whenever a generated text does, and with nothing else."""
