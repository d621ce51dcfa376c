"""The only length search: plans and a budget in tokens become prompts of that length.

A length is the budget of the whole prompt: instruction, context and question. Filler documents come in an order drawn
once per item, each length takes as many of them as fit, and the last one is cut, so that the prompt has 99% to 100% of
its budget. Nothing is tokenized here: counts of parts are added up (see ``fathom.counts``).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from fathom.compose.draft import GAP, Draft, arrange, merged
from fathom.compose.shelf import Shelf, bounds
from fathom.compose.truncate import truncated
from fathom.types import Ending, FathomError, Haystack, Part, Passages, Plan, Span, Whole

__all__ = ["Composed", "CorpusTooSmallError", "Shelf", "UnfitError", "compose", "compose_alone"]

_ROUNDS = 8


class CorpusTooSmallError(FathomError):
    """The documents ran out before a prompt was full."""


class UnfitError(FathomError):
    """An item of whole texts cannot stand at a length."""


@dataclass(frozen=True, slots=True)
class Composed:
    """A prompt of the wanted length, with what could be known only then.

    ``depth`` is where the gold text really lies, in [0, 1] of the context; None where there is no single gold text.
    """

    parts: tuple[Part, ...]
    tokens: int
    ending: Ending
    depth: float | None


def compose(
    plan: Plan, length: int, fillers: Sequence[Span], shelf: Shelf, *, exact: bool = False
) -> tuple[Composed, ...]:
    """Put a plan into a context of ``length`` tokens.

    Several questions over one context share it: it is composed for the shortest one. Where another is so much longer
    that the prompt would be too long, the last filler that can spare it ends a little earlier.

    Args:
        plan: What the item asks, and what must be in the context.
        length: Budget of the whole prompt in tokens.
        fillers: Text to fill the context with, in the order in which lengths take it; whole texts take none.
        shelf: Documents and counter.
        exact: Fill the budget to the last token where characters allow it, instead of to 99%; whole texts stay whole,
            and are cut to it where their plan allows that.

    Returns:
        One prompt for each ending of the plan, in their order.

    Raises:
        UnfitError: An item of whole texts cannot stand at this length.
        FathomError: The corpus is too small (the message says how many tokens are missing), or the length too short.
    """
    if isinstance(plan, Whole):
        return (_arranged(plan, length, shelf, exact),)
    best, draft = _filled(plan, length, fillers, shelf, exact)
    if len(draft.endings) == 1:
        return (best,)
    made = []
    for number, ending in enumerate(draft.endings):
        same = best if ending is best.ending else _reworded(draft, ending, length, shelf, exact)
        # Where no filler can spare enough, the question gets a context of its own.
        made.append(same or _filled(_only(plan, number), length, fillers, shelf, exact)[0])
    return tuple(made)


def compose_alone(plan: Passages, shelf: Shelf) -> tuple[Composed, ...]:
    """The prompts of a plan whose context is its gold passages and nothing else, whatever length that makes."""
    draft = arrange(plan, (), 0, 0, shelf)
    made = ((merged([*draft.body, GAP, ending.question]), ending) for ending in draft.endings)
    return tuple(Composed(parts, shelf.measure(parts), ending, None) for parts, ending in made)


def _arranged(plan: Whole, length: int, shelf: Shelf, exact: bool) -> Composed:
    made = plan.arrange(length, shelf.measure)
    if made is None:
        raise UnfitError("no whole texts fill this length")
    parts = merged(made.parts)
    tokens = shelf.counting(exact)(parts)
    if tokens <= length * (1 + plan.over):
        return Composed(parts, tokens, made.ending, made.depth)
    cut = None
    if plan.cut != "never":
        even = plan.cut == "even"
        cut = truncated(parts, made.ending.question, length, shelf, exact=exact or even, even=even)
    if cut is None:
        raise UnfitError(f"its texts take {tokens:,} tokens")
    # What the prompt would have, so that cut prompts can be told apart.
    ending = replace(made.ending, facets={**made.ending.facets, "whole_tokens": tokens})
    return Composed(cut, shelf.counting(exact)(cut), ending, made.depth)


def _only(plan: Haystack | Passages, number: int) -> Haystack | Passages:
    assert isinstance(plan, Passages)
    finish = plan.finish
    return replace(plan, finish=lambda layout: finish(layout)[number : number + 1])


def _filled(
    plan: Haystack | Passages, length: int, fillers: Sequence[Span], shelf: Shelf, exact: bool
) -> tuple[Composed, Draft]:
    """The prompt of the shortest ending, and the draft that it was made from."""
    count = shelf.counting(exact)
    least, most = bounds(length, exact)
    goal, slack = (least + most) // 2, (most - least) // 2
    fixed = count(arrange(plan, fillers, 0, slack, shelf).parts(shelf.counter))
    if fixed > length:
        raise FathomError(f"{length} tokens are too few: the question and what it needs alone take {fixed}")
    best: tuple[Composed, Draft] | None = None
    room, missing = goal - fixed, False
    for _ in range(_ROUNDS):
        draft = arrange(plan, fillers, room, slack, shelf)
        parts = draft.parts(shelf.counter)
        tokens, missing = count(parts), draft.missing
        if tokens <= length and (best is None or tokens > best[0].tokens):
            best = Composed(parts, tokens, draft.shortest(shelf.counter), draft.depth), draft
        if least <= tokens <= most:
            break
        room += goal - tokens
    if best is not None and best[0].tokens < least and not missing:
        longer = _topped_up(*best, least, length, count, shelf)
        best = longer, best[1].with_parts(longer.parts, longer.ending.question)
    found = best[0].tokens if best else fixed
    if best is None or found * 100 < length * 99:
        lacking = f"{length - found:,} of {length:,} tokens are missing"
        if missing:
            raise CorpusTooSmallError(f"the corpus is too small: {lacking} (equal passages count once)")
        raise FathomError(f"no document of the corpus can be cut to fit: {lacking}")
    return best


def _topped_up(
    composed: Composed, draft: Draft, least: int, most: int, count: Callable[[Sequence[Part]], int], shelf: Shelf
) -> Composed:
    """The same prompt with the last filler that was cut made longer letter by letter, until it has ``least`` tokens.

    Cutting elsewhere can move a needle to another place, so that the search alone may jump over the right length.
    """
    fillers = {span for span in draft.fillers if span.end < shelf.end(span)}
    cut = [number for number, part in enumerate(composed.parts) if part in fillers]
    for reach in range(1, min(512, 24 + 8 * (most - composed.tokens))) if cut else ():
        span = composed.parts[cut[-1]]
        assert isinstance(span, Span)
        longer = replace(span, end=min(span.end + reach, shelf.end(span)))
        parts = (*composed.parts[: cut[-1]], longer, *composed.parts[cut[-1] + 1 :])
        tokens = count(parts)
        if least <= tokens <= most:
            return replace(composed, parts=parts, tokens=tokens)
    return composed


def _reworded(draft: Draft, ending: Ending, length: int, shelf: Shelf, exact: bool) -> Composed | None:
    """The prompt of a longer ending over the same context; None where no filler can spare what is too much."""
    count = shelf.counting(exact)
    least, most = bounds(length, exact)
    parts = merged([*draft.body, GAP, ending.question])
    spare = cut = _spare(draft, 2 * (count(parts) - least), shelf)
    best: Composed | None = None
    for _ in range(_ROUNDS):
        tokens = count(parts)
        if 99 * length <= 100 * tokens <= 100 * length and (best is None or tokens > best.tokens):
            best = Composed(parts, tokens, ending, draft.depth)
        if least <= tokens <= length or spare is None or cut is None:
            break
        size, document = shelf.tokens(cut), shelf.documents[spare.doc]
        wanted = max(1, size + least - tokens), max(1, size + most - tokens)
        shorter = replace(spare, end=shelf.counter.cut(document, spare.start, spare.end, *wanted))
        parts, cut = tuple(shorter if part == cut else part for part in parts), shorter
    return best


def _spare(draft: Draft, tokens: int, shelf: Shelf) -> Span | None:
    """The last filler of at least so many tokens."""
    return next((span for span in reversed(draft.fillers) if shelf.tokens(span) >= tokens), None)
