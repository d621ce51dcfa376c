"""The prompts of ``fathom bisect``: code words at known distances from the end, facts, and texts to be continued."""

from hashlib import sha256
from random import Random

from fathom.run.bisect.outcomes import Ask
from fathom.run.doctor.needles import draw_words, english
from fathom.tokens.tokenizers import Tokenizer

BACK = (1.0, 7 / 8, 3 / 4, 5 / 8, 1 / 2, 3 / 8, 1 / 4, 1 / 8, 1 / 16, 1 / 32, 1 / 64, 0.0)
"""Where code words are, from the beginning: their distance from the end, as a share of the text."""
FACTS = (
    "What is the capital of France? Reply with one word.",
    "How many days has a week? Reply with a number.",
    "Repeat exactly: the green boat left at nine.",
)
RAW_LENGTHS = 2
"""Texts to be continued: of the shortest length and of the longest."""
VERSION = 2
"""Of the prompts; a folder with replies to others is not gone on with."""
CAP = 192
"""Output cap of code words: twelve of them, numbered."""
FACT_CAP, RAW_CAP, REASONING_CAP = 48, 16, 2048
_BEFORE = "Code words are hidden in the text below, numbered 1 to {}. Reply with all of them at its end.\n\n"
_WORD = "\n\nCode word {}: {}\n\n"
_AFTER = "\n\nList code words 1 to {} of the text above, one on each line as in `1: WORD`, and nothing else.\n"


def words_of(seed: int, ask: Ask) -> tuple[str, ...]:
    """The code words of a prompt, from its beginning to its end."""
    return draw_words(Random(f"{seed} {ask.length} {ask.draw}"), len(BACK))


def distances(length: int) -> list[int]:
    """Tokens from each code word to the end of a prompt of a length."""
    return [round(share * length) for share in BACK]


def prompt_of(seed: int, ask: Ask, tokenizer: Tokenizer, drawn: str = "") -> str:
    """The text of a request.

    Args:
        seed: Of the code words.
        tokenizer: Counts tokens.
        drawn: Drawn for a comparison; decides the numbers in front, not the code words.
    """
    if ask.probe == "facts":
        return FACTS[ask.draw]
    if ask.probe == "raw":
        return _filler(ask.length, tokenizer)
    front = f"Request {sha256(f'{seed} {drawn} {ask.nonce}'.encode()).hexdigest()[:12]}.\n\n" if ask.nonce else ""
    words = words_of(seed, ask)
    before, after = _BEFORE.format(len(words)), _AFTER.format(len(words))
    hidden = [_WORD.format(number, word) for number, word in enumerate(words, 1)]
    room = ask.length - sum(map(tokenizer.count, (before, after, *hidden)))
    filler = _filler(max(0, room), tokenizer)
    parts, last = [front, before], 0
    for place, word in zip(_places(ask.length, tokenizer), hidden, strict=True):
        at = filler.find(" ", round(place * len(filler)))
        at = len(filler) if at < 0 else at
        at = at if place else 0
        parts += [filler[last:at], word]
        last = at
    return "".join((*parts, filler[last:], after))


_FILLERS: dict[tuple[int, str], str] = {}
_PLACES: dict[tuple[int, str], tuple[float, ...]] = {}


def _filler(tokens: int, tokenizer: Tokenizer) -> str:
    """English text of so many tokens, made once for each length."""
    key = tokens, tokenizer.name
    if key not in _FILLERS:
        _FILLERS[key] = tokenizer.head(english(tokens, tokenizer), tokens)
    return _FILLERS[key]


def _places(length: int, tokenizer: Tokenizer) -> tuple[float, ...]:
    """Where code words are, as shares of the characters: text has more tokens in one part than in another."""
    key = length, tokenizer.name
    if key not in _PLACES:
        text = _filler(length, tokenizer)
        _PLACES[key] = tuple(len(tokenizer.head(text, round((1 - back) * length))) / len(text) for back in BACK)
    return _PLACES[key]
