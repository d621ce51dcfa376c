"""vLLM's replies to ``prompt_logprobs``, with the decoded tokens of its versions.

A position has the token's id with ``logprob``, ``rank`` and ``decoded_token``; the first token of the prompt has None.
A token is decoded alone, or with those before it:

- ``together`` (V0): a token adds what it completes; before, nothing.
- ``alone`` (V1): a part of a character is the replacement character.
- ``empty`` (V1 from November 2025): what ends with the replacement character is nothing.
- ``completed`` (V1 from February 2026): what ends with it is decoded again after one to four tokens of the prompt
  before it, and is nothing as long as that ends with it too.
- ``stored`` (first versions of V1): as in the file of the vocabulary, with letters for bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from scripted_likelihood import Answer, answer
from scripted_server import Act

BAD = "\ufffd"
DECODINGS = ("together", "alone", "empty", "completed")
Split = Callable[[str], list[bytes]]


def letters() -> dict[str, int]:
    """The bytes behind the letters of byte-level vocabularies."""
    shown = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [byte for byte in range(256) if byte not in shown]
    return {chr(byte): byte for byte in shown} | {chr(256 + place): byte for place, byte in enumerate(others)}


LETTERS = letters()


def splitting(tokenizer: Any) -> Split:
    """The tokens of a byte-level tokenizer of ``tokenizers``, in bytes."""
    return lambda text: [bytes(LETTERS[letter] for letter in token) for token in tokenizer.encode(text).tokens]


def decoded(tokens: Sequence[bytes], decoding: str, *, bos: bool) -> list[str]:
    """The tokens as a version of vLLM shows them.

    Args:
        tokens: Those of the prompt, without BOS.
        decoding: See above.
        bos: Whether the first of them has a token before it.
    """
    if decoding == "stored":
        names = {byte: letter for letter, byte in LETTERS.items()}
        return ["".join(names[byte] for byte in token) for token in tokens]
    if decoding == "together":
        return _together(tokens)
    alone = [_text([token]) for token in tokens]
    if decoding == "alone":
        return alone
    return [
        one if not one.endswith(BAD) else _completed(tokens, place, not bos) if decoding == "completed" else ""
        for place, one in enumerate(alone)
    ]


def _text(tokens: Sequence[bytes]) -> str:
    return b"".join(tokens).decode(errors="replace")


def _together(tokens: Sequence[bytes]) -> list[str]:
    found, begin, read = list[str](), 0, 0
    for place in range(len(tokens)):
        before, now = _text(tokens[begin:read]), _text(tokens[begin : place + 1])
        if len(now) <= len(before) or now.endswith(BAD):
            found.append("")
        else:
            found.append(now[len(before) :])
            begin, read = read, place + 1
    return found


def _completed(tokens: Sequence[bytes], place: int, first: int) -> str:
    """``first`` is the first token that has log-probabilities: the others are not known here."""
    for number in range(1, min(4, place - first) + 1):
        context = tokens[place - number : place]
        if (now := _text([*context, tokens[place]])).endswith(BAD):
            continue
        whole = number
        while whole and _text([context[whole - 1]]).endswith(BAD):
            whole -= 1
        before = _text(context[:whole])
        return now[len(before) :] if now.startswith(before) else now
    return ""


def reply(request: Mapping[str, Any], tokens: Sequence[bytes], decoding: str, *, bos: bool) -> Act:
    """A whole reply. The log-probability of token n of the prompt is -1 - n / 8."""
    entries = [
        {str(1000 + place): {"logprob": -1.0 - place / 8, "rank": 7, "decoded_token": shown}}
        for place, shown in enumerate(decoded(tokens, decoding, bos=bos))
    ]
    assert request["prompt_logprobs"] == 0
    places = [None, *entries[not bos :]]
    choice = {"text": " ", "logprobs": None, "finish_reason": "length", "stop_reason": None, "prompt_logprobs": places}
    return answer(choice, len(places))


def answering(split: Split, decoding: str, *, bos: bool) -> Answer:
    """What a server answers to any text."""
    return lambda request: reply(request, split(request["prompt"]), decoding, bos=bos)
