"""Composes prompts of exact length from plans and fillers.

A length is the budget of the whole prompt: instruction, context and question. Fillers have a fixed order per item, each
length takes as many as fit, and the last one is truncated, so that the prompt has 99% to 100% of its budget. Nothing is
tokenized here: token counts of parts are added up (see ``fathom.tokens.counts``).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from fathom.suites.compose.draft import GAP, Draft, arrange, merged
from fathom.suites.compose.texts import CountedTexts, bounds
from fathom.suites.compose.truncate import truncated
from fathom.types import Ending, FathomError, Haystack, Part, Passages, Plan, Span, Whole

__all__ = ["Composed", "CorpusTooSmallError", "CountedTexts", "UnfitError", "compose", "compose_alone"]

_ROUNDS = 8


class CorpusTooSmallError(FathomError):
    """There are not enough documents to fill a prompt."""


class UnfitError(FathomError):
    """An item of whole texts does not fit a length."""


@dataclass(frozen=True, slots=True)
class Composed:
    """A composed prompt.

    ``depth`` is the actual position of the gold text, in [0, 1] of the context; None without a single gold text.
    """

    parts: tuple[Part, ...]
    tokens: int
    ending: Ending
    depth: float | None


def compose(
    plan: Plan, length: int, fillers: Sequence[Span], texts: CountedTexts, *, exact: bool = False
) -> tuple[Composed, ...]:
    """Compose the prompts of a plan with ``length`` tokens.

    Several questions over one context share it: it is composed for the shortest one. If a longer question makes the
    prompt too long, the last filler with enough text is shortened for it.

    Args:
        plan: The question and the required content of the context.
        length: Budget of the whole prompt in tokens.
        fillers: Text to fill the context with, in order; plans of whole texts use none.
        texts: Documents and their token counts.
        exact: Fill the budget to the last token if possible, instead of to 99%; whole texts are not changed, except for
            truncation if their plan allows it.

    Returns:
        One prompt for each ending of the plan, in order.

    Raises:
        UnfitError: An item of whole texts does not fit this length.
        FathomError: The corpus is too small (the message gives the missing tokens), or the length too short.
    """
    if isinstance(plan, Whole):
        return (_arranged(plan, length, texts, exact),)
    best, draft = _filled(plan, length, fillers, texts, exact)
    if len(draft.endings) == 1:
        return (best,)
    made = []
    for number, ending in enumerate(draft.endings):
        same = best if ending is best.ending else _reworded(draft, ending, length, texts, exact)
        # If no filler is long enough, the question gets its own context.
        made.append(same or _filled(_only(plan, number), length, fillers, texts, exact)[0])
    return tuple(made)


def compose_alone(plan: Haystack | Passages, texts: CountedTexts) -> tuple[Composed, ...]:
    """The prompts of a plan with only its needles or gold passages as context, of any length."""
    draft = arrange(plan, (), 0, 0, texts)
    made = [(merged([*draft.body, GAP, ending.question]), ending) for ending in draft.endings]
    if isinstance(plan, Haystack):  # readers find the needles between instruction and question
        start = "".join(map(str, draft.body[:-1]))
        made = [((start, draft.body[-1], GAP + ending.question), ending) for _, ending in made]
    return tuple(Composed(parts, texts.measure(parts), ending, None) for parts, ending in made)


def _arranged(plan: Whole, length: int, texts: CountedTexts, exact: bool) -> Composed:
    made = plan.arrange(length, texts.measure)
    if made is None:
        raise UnfitError("no whole texts fill this length")
    parts = merged(made.parts)
    tokens = texts.counting(exact)(parts)
    if tokens <= length * (1 + plan.over):
        return Composed(parts, tokens, made.ending, made.depth)
    cut = None
    if plan.cut != "never":
        even = plan.cut == "even"
        cut = truncated(parts, made.ending.question, length, texts, exact=exact or even, even=even)
    if cut is None:
        raise UnfitError(f"its texts take {tokens:,} tokens")
    # The tokens before truncation are recorded.
    ending = replace(made.ending, facets={**made.ending.facets, "whole_tokens": tokens})
    return Composed(cut, texts.counting(exact)(cut), ending, made.depth)


def _only(plan: Haystack | Passages, number: int) -> Haystack | Passages:
    assert isinstance(plan, Passages)
    finish = plan.finish
    return replace(plan, finish=lambda layout: finish(layout)[number : number + 1])


def _filled(
    plan: Haystack | Passages, length: int, fillers: Sequence[Span], texts: CountedTexts, exact: bool
) -> tuple[Composed, Draft]:
    """The prompt of the shortest ending, and its draft."""
    count = texts.counting(exact)
    least, most = bounds(length, exact)
    goal, slack = (least + most) // 2, (most - least) // 2
    fixed = count(arrange(plan, fillers, 0, slack, texts).parts(texts.counter))
    if fixed > length:
        raise FathomError(f"{length} tokens are too few: the question and its gold text alone take {fixed}")
    best: tuple[Composed, Draft] | None = None
    room, missing = goal - fixed, False
    for _ in range(_ROUNDS):
        draft = arrange(plan, fillers, room, slack, texts)
        parts = draft.parts(texts.counter)
        tokens, missing = count(parts), draft.missing
        if tokens <= length and (best is None or tokens > best[0].tokens):
            best = Composed(parts, tokens, draft.shortest(texts.counter), draft.depth), draft
        if least <= tokens <= most:
            break
        room += goal - tokens
    if best is not None and best[0].tokens < least and not missing:
        longer = _topped_up(*best, least, length, count, texts)
        best = longer, best[1].with_parts(longer.parts, longer.ending.question)
    total = best[0].tokens if best else fixed
    if best is None or total * 100 < length * 99:
        lacking = f"{length - total:,} of {length:,} tokens are missing"
        if missing:
            raise CorpusTooSmallError(f"the corpus is too small: {lacking} (duplicate passages count once)")
        raise FathomError(f"no document of the corpus can be truncated to fit: {lacking}")
    return best


def _topped_up(
    composed: Composed, draft: Draft, least: int, most: int, count: Callable[[Sequence[Part]], int], texts: CountedTexts
) -> Composed:
    """The same prompt with its truncated filler extended character by character to ``least`` tokens, or nearest to it.

    Another cut point can move a needle, so that the search alone may miss the exact length.
    """
    best = composed
    fillers = {span for span in draft.fillers if span.end < texts.end(span)}
    cut = [number for number, part in enumerate(composed.parts) if part in fillers]
    for reach in range(1, min(512, 24 + 8 * (most - composed.tokens))) if cut else ():
        span = composed.parts[cut[-1]]
        assert isinstance(span, Span)
        longer = replace(span, end=min(span.end + reach, texts.end(span)))
        parts = (*composed.parts[: cut[-1]], longer, *composed.parts[cut[-1] + 1 :])
        tokens = count(parts)
        if best.tokens < tokens <= most:
            best = replace(composed, parts=parts, tokens=tokens)
        if best.tokens >= least:
            break
    return best


def _reworded(draft: Draft, ending: Ending, length: int, texts: CountedTexts, exact: bool) -> Composed | None:
    """The prompt of a longer ending over the same context; None if no filler can be shortened enough."""
    count = texts.counting(exact)
    least, most = bounds(length, exact)
    parts = merged([*draft.body, GAP, ending.question])
    spare = cut = _spare(draft, 2 * (count(parts) - least), texts)
    best: Composed | None = None
    for _ in range(_ROUNDS):
        tokens = count(parts)
        if 99 * length <= 100 * tokens <= 100 * length and (best is None or tokens > best.tokens):
            best = Composed(parts, tokens, ending, draft.depth)
        if least <= tokens <= length or spare is None or cut is None:
            break
        size, document = texts.tokens(cut), texts.documents[spare.doc]
        wanted = max(1, size + least - tokens), max(1, size + most - tokens)
        shorter = replace(spare, end=texts.counter.cut(document, spare.start, spare.end, *wanted))
        parts, cut = tuple(shorter if part == cut else part for part in parts), shorter
    return best


def _spare(draft: Draft, tokens: int, texts: CountedTexts) -> Span | None:
    """The last filler with at least so many tokens."""
    return next((span for span in reversed(draft.fillers) if texts.tokens(span) >= tokens), None)
