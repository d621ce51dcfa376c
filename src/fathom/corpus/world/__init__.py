"""``world``: a generated corpus that needs no download and never ends.

Facts first (``facts`` and ``deeds``, drawn by ``cast`` and ``happenings``), text second: each article kind is
one outline function (``biography``, ``portrait`` ...) that says what to tell and what to ask, and sentence plans
of each language lie in the folders ``en`` and ``zh``.
"""

from fathom.corpus.world.press import article, generate

__all__ = ["article", "generate"]
