"""Prompts with a code word at the start, in the middle and at the end, which show what part of a prompt arrives."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from random import Random

from fathom.tokens.tokenizers import Tokenizer
from fathom.world.corpus import article

PLACES = ("beginning", "middle", "end")
_CONSONANTS, _VOWELS = "bdfgklmnprstvz", "aeiou"
# The question is at both ends, so that a truncated prompt still has one.
_BEFORE = "Three code words are hidden in the text below. Reply with all three at its end.\n\nCode word 1: {}\n\n"
_BETWEEN = "\n\nCode word 2: {}\n\n"
_AFTER = (
    "\n\nCode word 3: {}\n\nWhat are code words 1, 2 and 3 of the text above? Reply with the three words and nothing "
    "else.\n"
)


@dataclass(frozen=True, slots=True)
class Hunt:
    """A prompt with three code words.

    Attributes:
        words: The code words at the beginning, in the middle and at the end.
        tokens: Tokens of the prompt, by the tokenizer that it was made with.
    """

    prompt: str
    words: tuple[str, ...]
    tokens: int

    def missing(self, *texts: str) -> tuple[str, ...]:
        """The places whose code word is in none of these texts."""
        replies = "\n".join(texts).upper()
        return tuple(place for place, word in zip(PLACES, self.words, strict=True) if word not in replies)


def make_hunt(tokens: int, tokenizer: Tokenizer, rng: Random) -> Hunt:
    """A prompt of about so many tokens.

    Args:
        tokens: Tokens of the prompt; at least those of the question.
        tokenizer: Counts them.
        rng: Draws the code words.
    """
    words = draw_words(rng, len(PLACES))
    parts = [part.format(word) for part, word in zip((_BEFORE, _BETWEEN, _AFTER), words, strict=True)]
    filler = tokenizer.head(english(tokens, tokenizer), max(0, tokens - sum(map(tokenizer.count, parts))))
    middle = filler.find(" ", len(filler) // 2)
    halves = (filler[:middle], filler[middle:]) if middle > 0 else (filler, "")
    prompt = parts[0] + halves[0] + parts[1] + halves[1] + parts[2]
    return Hunt(prompt, words, tokenizer.count(prompt))


def draw_words(rng: Random, count: int) -> tuple[str, ...]:
    """Different code words, of syllables.

    Args:
        count: Their number.
    """
    words: list[str] = []
    while len(words) < count:
        word = "".join(rng.choice(_CONSONANTS) + rng.choice(_VOWELS) for _ in range(4)).upper()
        if word not in words:
            words.append(word)
    return tuple(words)


def english(tokens: int, tokenizer: Tokenizer) -> str:
    """English text of at least so many tokens."""
    texts: list[str] = []
    while tokens > 0:
        text = _article(len(texts))
        texts.append(text)
        tokens -= tokenizer.count(text)
    return "\n\n".join(texts)


@lru_cache(maxsize=256)
def _article(index: int) -> str:
    return article(0, "en", index).text


def in_words(places: Sequence[str]) -> str:
    """Places as text: ``beginning and middle``."""
    return " and ".join(filter(None, (", ".join(places[:-1]), places[-1] if places else "")))
