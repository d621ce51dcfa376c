"""Token counts of the document pieces that prompts are composed of."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from fathom.tokens.counts import REACH, WINDOW, TokenCounter
from fathom.types import Counter, Document, Part, Span


def measure(parts: Sequence[Part], documents: Mapping[str, Document], counter: Counter) -> int:
    """Tokens of the concatenation of ``parts``, computed without tokenizing it."""
    total, tail = 0, ""
    for part in parts:
        if isinstance(part, str):
            if not part:
                continue
            total += counter.count(part)
            head, end = part[:REACH], part[-REACH:]
        else:
            document = documents[part.doc]
            total += counter.between(document, part.start, part.end)
            head = document.text[part.start : min(part.end, part.start + REACH)]
            end = document.text[max(part.start, part.end - REACH) : part.end]
        if tail:
            total += counter.join(tail, head)
        tail = (tail + end)[-REACH:]
    return total


def bounds(length: int, exact: bool) -> tuple[int, int]:
    """Minimum and maximum tokens for prompts of a length."""
    return (length, length) if exact else (-(-length * 99 // 100), length - length // 256)


@dataclass(frozen=True)
class CountedTexts:
    """Documents by id, and the counter of their tokens."""

    documents: Mapping[str, Document]
    counter: TokenCounter

    def tokens(self, span: Span) -> int:
        """Tokens of a span."""
        return self.counter.between(self.documents[span.doc], span.start, span.end)

    def end(self, span: Span) -> int:
        """Length of the document of a span in characters."""
        return len(self.documents[span.doc].text)

    def measure(self, parts: Sequence[Part]) -> int:
        """Tokens of joined parts: added up, unless one of their documents can only be counted as a whole."""
        tokens = self._at_once(parts)
        if tokens is not None:
            return tokens
        borrowed = {part.doc for part in parts if isinstance(part, Span)}
        if all(self.counter.outline(self.documents[name]).additive for name in borrowed):
            return measure(parts, self.documents, self.counter)
        return self.retokenize(parts)

    def _at_once(self, parts: Sequence[Part]) -> int | None:
        """Tokens of one whole document with literal text before and after it, without the document's cut points.

        Returns:
            The tokens, if it makes no difference whether the document's pieces add up: the joins with the literal
            text, counted with more text around them, have the same tokens. None otherwise, and for other parts.
        """
        wanted = [part for part in parts if part]
        spans = [place for place, part in enumerate(wanted) if isinstance(part, Span)]
        if len(spans) != 1:
            return None
        before, span, after = wanted[: spans[0]], wanted[spans[0]], wanted[spans[0] + 1 :]
        assert isinstance(span, Span)
        document = self.documents[span.doc]
        text = document.text
        whole = (span.start, span.end) == (0, len(text)) and len(text) > 2 * WINDOW
        if not whole or len(before) > 1 or len(after) > 1:
            return None
        joins = [self.counter.sure_join(str(part), text[: WINDOW + 1]) for part in before]
        joins += [self.counter.sure_join(text[-WINDOW - 1 :], str(part)) for part in after]
        added = [tokens for tokens in joins if tokens is not None]
        if len(added) < len(joins):
            return None
        literal = sum(self.counter.count(str(part)) for part in (*before, *after))
        return self.counter.whole(document) + literal + sum(added)

    def counting(self, exact: bool) -> Callable[[Sequence[Part]], int]:
        """The function that counts prompts: tokenized as a whole if every token of the budget matters."""
        return self.retokenize if exact else self.measure

    def retokenize(self, parts: Sequence[Part]) -> int:
        """Tokens of joined parts by tokenizing them: slow and exact."""
        return self.counter.tokenizer.count(
            "".join(p if isinstance(p, str) else self.documents[p.doc].text[p.start : p.end] for p in parts)
        )
