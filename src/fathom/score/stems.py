"""Stems of English words: Porter (1980), "An algorithm for suffix stripping", as ROUGE scorers with stemming use it.

Their stemmer is that of NLTK, whose differences from the paper are kept: a list of irregular words, words of four
letters in -ies and -ied, -y after a consonant only, -alli and -fulli, -logi after a longer stem, and words of two
letters, which stay.
"""

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import TypeAlias

Rule: TypeAlias = tuple[str, str, Callable[[str], bool]]

_IRREGULAR = {
    **{word: word for word in ("news", "howe", "proceed", "exceed", "succeed")},
    **{"sky": "sky", "skies": "sky", "dying": "die", "lying": "lie", "tying": "tie"},
    **{f"{word}{end}": word for word in ("inning", "outing", "canning") for end in ("", "s")},
}


def _pattern(stem: str) -> str:
    """A word as consonants (c) and vowels (v); y is a vowel after a consonant."""
    kinds = ""
    for letter in stem:
        kinds += "v" if letter in "aeiou" or (letter == "y" and kinds.endswith("c")) else "c"
    return kinds


def _measure(stem: str) -> int:
    return _pattern(stem).count("vc")


def _positive(stem: str) -> bool:
    return _measure(stem) > 0


def _long(stem: str) -> bool:
    return _measure(stem) > 1


def _short_end(stem: str) -> bool:
    """Whether a word ends with consonant, vowel and a consonant other than w, x, y, or is a vowel and a consonant."""
    kinds = _pattern(stem)
    return (kinds.endswith("cvc") and stem[-1] not in "wxy") or kinds == "vc"


def _apply(word: str, rules: Sequence[Rule]) -> str:
    """The first rule whose suffix a word has decides, whether its condition holds or not."""
    for suffix, new, holds in rules:
        if word.endswith(suffix):
            stem = word[: len(word) - len(suffix)]
            return stem + new if holds(stem) else word
    return word


def _rules(pairs: str, holds: Callable[[str], bool]) -> list[Rule]:
    return [(old, new, holds) for old, _, new in (pair.partition(">") for pair in pairs.split())]


_SECOND = _rules(
    "ational>ate tional>tion enci>ence anci>ance izer>ize bli>ble alli>al entli>ent eli>e ousli>ous ization>ize "
    "ation>ate ator>ate alism>al iveness>ive fulness>ful ousness>ous aliti>al iviti>ive biliti>ble fulli>ful",
    _positive,
)
_SECOND.append(("logi", "log", lambda stem: _positive(stem + "l")))
_THIRD = _rules("icate>ic ative> alize>al iciti>ic ical>ic ful> ness>", _positive)
_FOURTH = _rules("al> ance> ence> er> ic> able> ible> ant> ement> ment> ent>", _long)
_FOURTH.append(("ion", "", lambda stem: _long(stem) and stem[-1] in "st"))
_FOURTH += _rules("ou> ism> ate> iti> ous> ive> ize>", _long)


def _plural(word: str) -> str:
    if word.endswith("ies") and len(word) == 4:
        return word[:-1]
    return _apply(word, _rules("sses>ss ies>i ss>ss s>", lambda stem: True))


def _past(word: str) -> str:
    if word.endswith("ied"):
        return word[:-1] if len(word) == 4 else word[:-2]
    if word.endswith("eed"):
        return _apply(word, [("eed", "ee", _positive)])
    suffix = next((end for end in ("ed", "ing") if word.endswith(end) and "v" in _pattern(word[: -len(end)])), "")
    if not suffix:
        return word
    stem = word[: -len(suffix)]
    if stem.endswith(("at", "bl", "iz")):
        return stem + "e"
    if stem[-2:-1] == stem[-1] and _pattern(stem)[-1] == "c":
        return stem if stem[-1] in "lsz" else stem[:-1]
    return stem + "e" if _measure(stem) == 1 and _short_end(stem) else stem


def _second(word: str) -> str:
    if word.endswith("alli") and _positive(word[:-4]):
        return _second(word[:-2])
    return _apply(word, _SECOND)


@lru_cache(maxsize=1 << 16)
def stem(word: str) -> str:
    """The stem of a word in lower case."""
    if word in _IRREGULAR or len(word) <= 2:
        return _IRREGULAR.get(word, word)
    word = _past(_plural(word))
    if word.endswith("y") and len(word) > 2 and _pattern(word[:-1])[-1] == "c":
        word = word[:-1] + "i"
    word = _apply(_apply(_second(word), _THIRD), _FOURTH)
    if word.endswith("e") and (_long(word[:-1]) or (_positive(word[:-1]) and not _short_end(word[:-1]))):
        word = word[:-1]
    return word[:-1] if word.endswith("ll") and _long(word[:-1]) else word
