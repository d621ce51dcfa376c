"""Contexts of many small pieces, of which a longer prompt has all those of a shorter one and more.

A piece is a line, a turn or a record. Some stand in every prompt (the core, with what the question is about), the
others follow in a fixed order as the length allows. Every piece has a place, a number that does not depend on the
length, and a prompt has its pieces in the order of their places: what is in the middle of a short prompt is in the
middle of a long one.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from operator import attrgetter, itemgetter

from fathom.suites.compose.draft import merged
from fathom.types import Arranged, CandidatePool, Counter, Document, Ending, Measure, Part, Resources, Span, Whole

ROUNDS = 8
_PROBED = 48
_FULL = 99  # percent of a length that a prompt has to fill


@dataclass(frozen=True, slots=True)
class Piece:
    """A piece of a context.

    Attributes:
        parts: Its text; a span at its end may be shortened to fill a prompt.
        place: Where it stands among the others.
    """

    parts: tuple[Part, ...]
    place: float


@dataclass(frozen=True)
class Growing:
    """A context that grows.

    Attributes:
        before: Text before it.
        core: Pieces of every prompt.
        more: Further pieces in the order in which longer prompts take them; as many as the longest may need.
        finish: Given the pieces of a prompt in their order, the text after them and the ending.
        gap: Text between two pieces.
        render: The parts of the pieces in their order; None joins them with the gap.
        tried: Number of pieces after the last one that fits, of which one may fill the rest of a prompt, or take the
            place of the last one.
    """

    before: str
    core: Sequence[Piece]
    more: Sequence[Piece]
    finish: Callable[[Sequence[Piece]], Ending]
    gap: str = "\n"
    render: Callable[[Sequence[Piece]], list[Part]] | None = None
    tried: int = 0

    def laid_out(self, pieces: Sequence[Piece]) -> Arranged:
        """The prompt of the core and some more pieces."""
        ordered = sorted((*self.core, *pieces), key=attrgetter("place"))
        ending = self.finish(ordered)
        body = self.render(ordered) if self.render else _joined(ordered, self.gap)
        return Arranged(merged([self.before, *body, ending.question]), ending)


def growing(context: Growing, counter: Counter, documents: Sequence[Document] = ()) -> Whole:
    """The plan of a context that grows.

    Args:
        counter: Counts tokens of spans.
        documents: The documents whose spans are in pieces that may be shortened.
    """
    by_id = {document.id: document for document in documents}
    return Whole(partial(_arranged, context, counter, by_id))


def _arranged(
    context: Growing, counter: Counter, documents: dict[str, Document], length: int, measure: Measure
) -> Arranged | None:
    """The prompt with as many pieces as a length holds; None if there are too few to fill all but a hundredth of it."""
    least, most = 0, len(context.more) + 1  # a number that fits, and one that does not
    best = context.laid_out(())
    tokens = fixed = measure(best.parts)
    probe = min(_PROBED, len(context.more))
    if fixed > length:
        return None
    each = max(1.0, (measure(context.laid_out(context.more[:probe]).parts) - fixed) / probe) if probe else 1.0
    guess = int((length - fixed) / each)
    for _ in range(ROUNDS):
        guess = min(max(guess, least + 1), most - 1)
        if most - least < 2:
            break
        made = context.laid_out(context.more[:guess])
        now = measure(made.parts)
        if now <= length:
            least, best, tokens = guess, made, now
        else:
            most = guess
        each = max(1.0, (now - fixed) / guess)
        guess += int((length - now) / each)
    if least < len(context.more) and tokens * 100 < length * _FULL:
        best, tokens = _topped_up(context, least, length, counter, documents, measure) or (best, tokens)
    return best if tokens * 100 >= length * _FULL or least < len(context.more) else None


def _topped_up(
    context: Growing,
    taken: int,
    length: int,
    counter: Counter,
    documents: dict[str, Document],
    measure: Measure,
) -> tuple[Arranged, int] | None:
    """The prompt with a part of the next piece, if that ends with a span, else with another piece; None without any."""
    piece = context.more[taken]
    span = piece.parts[-1]
    if not isinstance(span, Span):
        return _fitted(context, taken, length, measure)
    document, pieces = documents[span.doc], list(context.more[:taken])

    def upto(tokens: int) -> tuple[Arranged, int]:
        short = Span(span.doc, span.start, _end(document, span, tokens, counter))
        made = context.laid_out([*pieces, Piece((*piece.parts[:-1], short), piece.place)])
        return made, measure(made.parts)

    room = counter.between(document, span.start, span.end)
    for _ in range(ROUNDS):
        made, tokens = upto(room)
        if tokens <= length:
            return made, tokens
        room -= tokens - length
        if room < 1:
            break
    return None


def _fitted(context: Growing, taken: int, length: int, measure: Measure) -> tuple[Arranged, int] | None:
    """The fullest prompt with a piece after the next one, besides those taken or for the last of them."""
    tried = context.more[taken + 1 : taken + 1 + context.tried]
    made = (
        context.laid_out([*context.more[:kept], piece]) for kept in (taken, taken - 1) if kept >= 0 for piece in tried
    )
    fitting = [(arranged, tokens) for arranged in made if (tokens := measure(arranged.parts)) <= length]
    return max(fitting, key=itemgetter(1), default=None)


def _end(document: Document, span: Span, tokens: int, counter: Counter) -> int:
    """Where the longest start of a span with at most so many tokens ends."""
    low, high = span.start + 1, span.end
    while low < high:
        middle = (low + high + 1) // 2
        if counter.between(document, span.start, middle) <= tokens:
            low = middle
        else:
            high = middle - 1
    return low


def _joined(pieces: Sequence[Piece], gap: str) -> list[Part]:
    parts: list[Part] = []
    for number, piece in enumerate(pieces):
        parts += ([gap] if number else []) + list(piece.parts)
    return parts


def enough(longest: int, least: int) -> int:
    """Number of pieces that the longest length may take.

    Args:
        longest: The longest length in tokens.
        least: Fewest tokens of a piece.
    """
    return longest // least + 1


def no_documents(resources: Resources) -> CandidatePool:
    """The pool of tasks that need no text."""
    return CandidatePool(())


def different(random_word: Callable[[], str], count: int, taken: Sequence[str] = ()) -> list[str]:
    """So many different words that are not taken.

    Args:
        random_word: Draws a word.
    """
    drawn: dict[str, None] = {}
    known = set(taken)
    while len(drawn) < count:
        word = random_word()
        if word not in known:
            drawn[word] = None
    return list(islice(drawn, count))
