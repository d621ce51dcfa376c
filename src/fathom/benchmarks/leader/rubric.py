"""The rubric of LongLeader's Needle: one mark from 1 to 10 for how well a reply agrees with the reference.

Source: LongLeader, section 3.1. The judge was Claude 3 Sonnet. The wording of its request is not public; this is our
    own.

The paper says that the mark is "normalized from (1,10) to (0, 1)", which would map the lowest mark to 0. Its scores say
otherwise. The window of Llama 2, 4k, holds two of sixteen lengths in Table 5, where it has 20.97% and 20.00%, and two
of sixty-four in Table 6, where it has 12.74% and 12.50%. If replies within the window get 10 and all others 1, a tenth
of the mark gives 21.25% and 12.81%, and a ninth of the mark less one 12.50% and 3.13%. So ``official`` is a tenth of
the mark, and ``strict`` follows the wording.
"""

from collections.abc import Generator

from fathom.score import judge_texts
from fathom.score.judge import Ask, Case, Parts, Rubric, asked, check_rule, kept_references
from fathom.score.judge_texts import prompt, read_marks

LOWEST, HIGHEST = 1, 10


def rating_steps(case: Case) -> Generator[Ask, str, Parts]:
    """One request for the mark, with all references."""
    if not case.said:
        return {"rating": 0}
    listed = [(f"reference {number}", text) for number, text in enumerate(kept_references(case), start=1)]
    request = prompt(
        judge_texts.RATING_INTRO, [("question", case.asked), *listed, ("reply", case.said)], judge_texts.RATING_REQUEST
    )
    return (yield from asked("rating", request, lambda reply: read_marks(reply, {"rating": HIGHEST}, LOWEST)))


def rating_value(parts: Parts, rule: str) -> float:
    """``official``: a tenth of the mark. ``strict``: 0 for the lowest mark to 1 for the highest.

    An empty reply has no mark and scores 0 under both.
    """
    check_rule(rule)
    if rule == "official":
        return parts["rating"] / HIGHEST
    return max(0.0, (parts["rating"] - LOWEST) / (HIGHEST - LOWEST))


RUBRICS = (
    Rubric(
        name="rating",
        version=1,
        steps=rating_steps,
        value=rating_value,
        description="a mark from 1 to 10: a tenth of it (official), or from 0 to 1 (strict)",
        source="LongLeader, section 3.1",
    ),
)
