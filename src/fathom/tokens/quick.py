"""gigatoken, an optional engine that counts tokens of a Hugging Face tokenizer in a tenth of the time.

It is used if it is installed (extra ``gigatoken``), for tokenizers that merge pairs (BPE), if it counts every probe as
the library does; if it counts otherwise, that is said. So suites are the same with it and without it. Its readers of
rank files and SentencePiece models are not used: the former panics on that of Llama 3, and both engines of these files
are about as quick.
"""

import json
import logging
from collections.abc import Callable, Iterator, Sequence
from random import Random
from typing import Any

from fathom.storage.toml import packaged_toml

PROBES = 400  # texts that must be counted alike
_FRAGMENTS: Sequence[str] = packaged_toml(__package__, "fragments.toml")["fragments"]


def probes(marks: list[str]) -> Iterator[str]:
    """Varied texts: each fragment and mark alone and within a word, then random sequences of them, the last one long.

    Args:
        marks: The tokens that a tokenizer has beside its vocabulary.
    """
    yield ""
    fragments = [*_FRAGMENTS, *marks]
    for fragment in fragments:
        yield fragment
        yield f"a{fragment}b {fragment}"
    rng = Random(0)
    for number in range(PROBES):
        size = 4000 if number == PROBES - 1 else rng.randint(2, 30)
        yield rng.choice(("", " ")).join(rng.choices(fragments, k=size))


def quick_count(name: str, engine: Any, count: Callable[[str], int]) -> Callable[[str], int] | None:
    """Counts tokens like ``engine``, with gigatoken; None if it is not installed, or counts otherwise or not at all.

    Args:
        name: The name of the tokenizer, for messages.
        engine: A tokenizer of the ``tokenizers`` library, which reads special tokens as ordinary text.
    """
    try:
        from gigatoken import Tokenizer
    except ImportError:
        return None
    model = json.loads(engine.to_str())
    if model["model"]["type"] != "BPE":
        return None
    marks = [token["content"] for token in model["added_tokens"]]
    model["added_tokens"] = [token for token in model["added_tokens"] if not token["special"]]
    try:
        encode = Tokenizer.from_json(json.dumps(model)).encode
        other = next((text for text in probes(marks[:PROBES]) if len(encode(text)) != count(text)), None)
        if other is None:
            return lambda text: len(encode(text))
        why = f"it counts {len(encode(other))} tokens instead of {count(other)} in {other[:60]!r}"
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # a panic of Rust is no Exception
        why = f"{type(error).__name__}: {error}".partition("\n")[0]
    logging.getLogger("fathom.tokens").warning("%s: counted without gigatoken: %s", name, why)
    return None
