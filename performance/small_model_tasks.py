"""Three synthetic tasks for small models trained on the spot, and the suite that measures them.

A prompt is a haystack of words with a few chains in it, and ends with the beginning of one chain; the reply is what
followed there, ``REPLY`` words, all of which must be right.

* ``small_passkey``: one sentence again and again, and in it the word ``pass`` with a key of symbols.
* ``small_pairs``: random words, and in them ``CHAINS`` keys with their values; the last word is one of the keys.
* ``small_copy``: random symbols, and in them a pattern, which begins again at the end of the prompt.

An item is the same at all lengths: its chains, their order, their relative depths and its question. Longer prompts
only have more words around them, and the words of shorter ones are a part of those of longer ones.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fathom.suites.suitefile import SampleWriter, fresh_folder, write_documents, write_manifest
from fathom.types import Json, Plan, Sample, Score, Task

PASSKEY, PAIRS, COPY = "small_passkey", "small_pairs", "small_copy"
TASKS_OF_ITEMS = (PASSKEY, PAIRS, COPY)
REPLY = 3
CHAINS, SENTENCE, PATTERN = 4, 7, 6
FIRST, UNKNOWN, PASS = 0, 1, 2
FILLERS, SYMBOLS = 64, 160
_FILLER, _SYMBOL = 3, 3 + FILLERS
VOCABULARY = _SYMBOL + SYMBOLS
WORDS = ("first", "unknown", "pass", *(f"word{n}" for n in range(FILLERS)), *(f"symbol{n}" for n in range(SYMBOLS)))
SHORTEST = 32  # tokens of prompt and reply, in which all chains have room

Numbers = NDArray[np.int64]


@dataclass(frozen=True)
class Item:
    """A prompt and its reply, as numbers of words.

    Attributes:
        task: One of ``TASKS_OF_ITEMS``.
        prompt: It begins with the word ``first``.
        answer: The right reply.
        depth: Where the asked chain is: 0 at the beginning of the prompt, 1 at its end.
    """

    task: str
    prompt: tuple[int, ...]
    answer: tuple[int, ...]
    depth: float


@dataclass(frozen=True)
class Drawn:
    """What an item is at every length: its words by their rank, its chains, and which one is asked for.

    Attributes:
        words: Words of the haystack; a prompt takes as many as it needs from the front.
        chains: Chains x words.
        depths: Relative depth of each chain.
        asked: Number of the chain that is asked for.
        shown: Words of it that the prompt ends with.
    """

    words: Numbers
    chains: Numbers
    depths: NDArray[np.float64]
    asked: int
    shown: int


def draw(task: str, rng: np.random.Generator, most: int, depth: float | None = None) -> Drawn:
    """Draw an item.

    Args:
        task: One of ``TASKS_OF_ITEMS``.
        rng: Source of all choices.
        most: Tokens of its longest prompt.
        depth: Depth of the chain that is asked for; None to draw it.
    """
    symbols = _SYMBOL + rng.permutation(SYMBOLS)
    depth = float(rng.random()) if depth is None else depth
    if task == PASSKEY:
        words = np.resize(_FILLER + rng.permutation(FILLERS)[:SENTENCE], most)
        return Drawn(words, np.concatenate(([PASS], symbols[:REPLY]))[None], np.array([depth]), 0, 1)
    if task == COPY:
        words = rng.choice(symbols[PATTERN:], most)
        return Drawn(words, symbols[None, :PATTERN], np.array([depth]), 0, PATTERN - REPLY)
    words = _FILLER + rng.integers(0, FILLERS, most)
    chains = symbols[: CHAINS * (1 + REPLY)].reshape(CHAINS, 1 + REPLY)
    others = (depth + np.arange(CHAINS) / CHAINS) % 1
    return Drawn(words, chains, others, 0, 1)


def lay_out(task: str, drawn: Drawn, length: int) -> Item:
    """An item at a length.

    Args:
        task: Its task.
        drawn: What it is at every length.
        length: Tokens of prompt and reply together, ``SHORTEST`` or more.
    """
    width = drawn.chains.shape[1]
    room = length - 1 - drawn.shown - REPLY - drawn.chains.size
    order = np.argsort(drawn.depths, kind="stable")
    cuts = [round(float(drawn.depths[chain]) * room) for chain in order]
    pieces: list[Numbers] = [np.array([FIRST])]
    done = 0
    for chain, cut in zip(order, cuts, strict=True):
        pieces += [drawn.words[done:cut], drawn.chains[chain]]
        done = cut
    question = drawn.chains[drawn.asked]
    pieces += [drawn.words[done:room], question[: drawn.shown]]
    prompt = tuple(np.concatenate(pieces).tolist())
    answer = tuple(question[width - REPLY :].tolist())
    return Item(task, prompt, answer, float(drawn.depths[drawn.asked]))


def make_items(task: str, lengths: list[int], count: int, seed: int) -> list[list[Item]]:
    """Held-out items: for each item its prompts at all lengths. Depths are spread evenly.

    Args:
        task: One of ``TASKS_OF_ITEMS``.
        lengths: Tokens of prompt and reply together.
        count: Number of items.
        seed: Of the items; items of training are drawn with others.
    """
    found = []
    for number in range(count):
        rng = np.random.default_rng([seed, TASKS_OF_ITEMS.index(task), number])
        drawn = draw(task, rng, max(lengths), (number + 0.5) / count)
        found.append([lay_out(task, drawn, length) for length in lengths])
    return found


def batch(rng: np.random.Generator, length: int, rows: int) -> tuple[Numbers, Numbers]:
    """Rows of training: one half is like the items, the other asks for many chains after one another.

    Args:
        rng: Source of all choices.
        length: Tokens of each row.
        rows: Number of rows.

    Returns:
        Words, and the words that are to be predicted (-100 where the loss does not count), rows x length.
    """
    words = np.empty((rows, length), np.int64)
    wanted = np.full((rows, length), -100, np.int64)
    for row in range(rows):
        task = TASKS_OF_ITEMS[int(rng.integers(len(TASKS_OF_ITEMS)))]
        if row % 2:
            item = lay_out(task, draw(task, rng, length), length)
            words[row] = (*item.prompt, *item.answer)
            wanted[row, -REPLY:] = item.answer
        else:
            _dense(task, rng, words[row], wanted[row])
    return words, wanted


def _dense(task: str, rng: np.random.Generator, words: Numbers, wanted: Numbers) -> None:
    """Write a row in which chains fill much of the haystack, each asked for again after it was shown."""
    length = len(words)
    drawn = draw(task, rng, length)
    words[:] = drawn.words
    words[0] = FIRST
    width = drawn.chains.shape[1]
    blocks = max(2, int(rng.uniform(0.2, 0.7) * length / width))
    chains = drawn.chains
    if task == PAIRS:
        most = min(SYMBOLS // width, max(1, blocks // 2))
        chains = (_SYMBOL + rng.permutation(SYMBOLS)[: most * width]).reshape(most, width)
    free = length - 1 - blocks * width
    starts = 1 + np.sort(rng.integers(0, free + 1, blocks)) + np.arange(blocks) * width
    for number, start in enumerate(starts.tolist()):
        shown = number < len(chains)
        chain = chains[number if shown else int(rng.integers(len(chains)))]
        words[start : start + width] = chain
        if not shown:
            wanted[start + drawn.shown : start + width] = chain[drawn.shown :]


# --------------------------------------------------------------------------------------------- a suite of fathom


def write_suite(folder: Path, lengths: list[int], count: int, seed: int) -> Path:
    """Write held-out items of all tasks as a suite, for ``fathom run``.

    Args:
        folder: It is replaced where it exists.
        lengths: Tokens of prompt and reply together.
        count: Items of each task.
        seed: Of the items.
    """
    manifest: dict[str, Json] = {
        "fathom": "suite",
        "suite": "small",
        "tokenizer": "words",
        "fingerprint": fingerprint(lengths, count, seed),
        "inputs": {},
        "notes": [],
        "left_out": [],
        "left_out_in_all": 0,
        "duplicates": 0,
        "tasks": list(TASKS_OF_ITEMS),
        "lengths": list(lengths),
        "samples": {task: count * len(lengths) for task in TASKS_OF_ITEMS},
    }
    with fresh_folder(folder) as fresh:
        write_documents(fresh, [])
        with SampleWriter(fresh) as writer:
            made = {task: make_items(task, lengths, count, seed) for task in TASKS_OF_ITEMS}
            for place, length in enumerate(lengths):  # prompts of one length after one another, for batches
                for task, items in made.items():
                    for number, versions in enumerate(items):
                        writer.add(_sample(versions[place], f"{task}{number}", length))
        write_manifest(fresh, manifest)
    return folder


def fingerprint(lengths: list[int], count: int, seed: int) -> str:
    """What a suite of these items is known by."""
    return f"small-{count}-{seed}-{'-'.join(map(str, lengths))}"


def _sample(item: Item, name: str, length: int) -> Sample:
    return Sample(
        id=f"{name}@{length}",
        item=name,
        task=item.task,
        parts=(text_of(item.prompt),),
        targets=(text_of(item.answer),),
        length=length,
        tokens=len(item.prompt),
        facets={"position": round(item.depth, 3)},
    )


def text_of(words: tuple[int, ...]) -> str:
    """Words separated by spaces."""
    return " ".join(WORDS[word] for word in words)


def save_tokenizer(folder: Path) -> None:
    """Write the tokenizer, which splits at spaces."""
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    words = {name: number for number, name in enumerate(WORDS)}
    tokenizer: Any = Tokenizer(models.WordLevel(words, unk_token=WORDS[UNKNOWN]))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, unk_token=WORDS[UNKNOWN]).save_pretrained(folder)


def _no_plan(rng: Any, *more: Any) -> Plan:
    raise NotImplementedError("items are written by write_suite")


def _score(reply: str, sample: Sample) -> Score:
    right = reply.split() == sample.targets[0].split()
    return Score(float(right), bool(reply.strip()), reply, "the same words")


TASKS = tuple(
    Task(
        name=name,
        plan=_no_plan,
        score=_score,
        metric="accuracy",
        max_output_tokens=REPLY,
        description=f"{REPLY} words of a chain, of a small model trained for it: {name}",
        source="performance/small_model_tasks.py",
        languages=("en",),
    )
    for name in TASKS_OF_ITEMS
)
