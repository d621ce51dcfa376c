"""What the replies of a run show about its server: prompts that it cut, other models, garbage, equal replies.

A server that has less room than a prompt needs may drop a part of it, answer the rest and report success. Its count of
prompt tokens shows it. The suite counts with its own tokenizer, and servers add templates and system prompts, so counts
are compared with each other only. A prompt counts as cut by the server if one of these holds:

* all prompts of its length, at least 4 with at least 3 different numbers of tokens, have exactly the same count, the
  highest of the run: whole prompts that differ never have;
* its count is the highest of the run, within 1%, and so is that of a prompt of its task with 1.3 times fewer tokens;
* its task's prompts at the next shorter length have 0.6 times its tokens or less, and yet at least 0.8 times its count
  (medians of at least 3 prompts each), which is near the highest of the run or, if those of the shorter length arrived
  whole and each of the longer ones has a clearly lower count for each token sent, whatever it is.

Questions without context, counts below ``LEAST_COUNT``, and runs of systems or by likelihood, whose counts are sums or
of a part by design, are left out. Counts that are low for the suite's tokenizer at all lengths, or that differ much for
each token sent at one length, are noted but do not prove a cut: some servers leave out what their cache had. A server
that counts before it cuts, or that does not count, is not found this way.
"""

import re
import sqlite3
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any

from fathom.models.usage import MOST_TOKENS, count
from fathom.printing import several
from fathom.runfile.manifest import FILE as RUN_FILE
from fathom.runfile.manifest import read_manifest
from fathom.score.dialects import unknown_marks_note
from fathom.tokens.length import format_length
from fathom.types import Reply

LEAST_COUNT = 200
"""Tokens; no server has less room, and lower counts are placeholders."""
SAME_COUNT = 0.99
"""Counts of at least this share of the highest are equal to it."""
DIFFERENT = 1.3
"""Ratio of the tokens of two prompts that cannot have equal counts."""
LONGER, HARDLY_MORE, NEAR, WHOLE, LESS = 1.6, 1.25, 0.8, 0.5, 0.85
"""Ratio of the tokens at two lengths, that of their counts up to which the longer one is cut, the least share of the
run's highest count, the least count of a whole prompt for each token of the suite's tokenizer, and the share of that of
the shorter length above which a prompt may be whole."""
SAME_TOKENIZER, ANY_TOKENIZER = 0.9, 0.6
"""Least count for each token of the suite's tokenizer: if it is the model's own, and if it is any that knows words."""
UNEVEN = 0.65
"""Least ratio of counts for each token sent of two whole prompts of one task, length and kind of text."""
FEW_ITEMS = 3
EQUAL_PROMPTS, EQUAL_COUNTS = 4, 3
"""Fewest prompts with one count, and different numbers of tokens among them, at a single length."""
LONG_ENOUGH = 100
"""Characters of a reply from which it can be garbage."""
MOST_EQUAL = 0.9
"""Share of equal replies to different prompts of a task from which they are noted."""
FEW_PROMPTS = 5
EARLY = frozenset({"cut", "low", "models", "other", "hidden", "garbage"})
"""Kinds of notes that a run says while it goes on."""
SERVER_CUT = "the server cut the prompt"
"""With this begins the reason why a reply to a prompt that the server cut has no score."""
_HEAD = 300
_ANSWERED = "status IN ('ok', 'incomplete', 'refused')"
_COUNTED = (
    f"{_ANSWERED} AND typeof(tokens_in) = 'integer' AND tokens_in BETWEEN {LEAST_COUNT} AND {MOST_TOKENS} "
    "AND tokens > truncated AND length > 0"
)


@dataclass(frozen=True, slots=True)
class ServedReply:
    """What one reply shows about the server.

    Attributes:
        key: Id of the sample, and number of the repetition.
        task: Name of the task.
        length: Budget of the prompt in tokens.
        sent: Tokens of the prompt as it was sent (suite's tokenizer).
        counted: Tokens of the prompt as the server counted them; None if it did not.
        stop: Stop reason.
        served: Name of the model that answered, and its fingerprint after a space; "" if unknown.
        prompt: Hash of the prompt.
        target: The gold answers.
        head: The beginning of the reply.
        characters: Length of the reply in characters.
        reasoned: Whether it holds reasoning.
        language: Language of the prompt.
    """

    key: tuple[str, int]
    task: str
    length: int
    sent: int
    counted: int | None
    status: str
    stop: str = "stop"
    served: str = ""
    prompt: str = ""
    target: str = ""
    head: str = ""
    characters: int = 0
    reasoned: bool = False
    language: str = ""


@dataclass(frozen=True, slots=True)
class CutPrompt:
    """A prompt that the server cut.

    Attributes:
        length: Budget of the prompt in tokens.
        arrived: Tokens that arrived, as the server counted them.
        sent: Tokens that were sent, as the suite counts them.
    """

    length: int
    arrived: int
    sent: int

    def __str__(self) -> str:
        """The reason why the reply has no score."""
        return (
            f"{SERVER_CUT}: {self.arrived:,} of about {self.sent:,} tokens arrived; start it with more "
            "context and run again in another folder, or leave out this length"
        )


def cut_prompts(replies: Sequence[ServedReply]) -> dict[tuple[str, int], CutPrompt]:
    """The prompts that the server cut, by sample and repetition; see the head of this module.

    Args:
        replies: Replies of one run; those without a count are ignored.
    """
    counted = list(_with_counts(replies))
    if not counted:
        return {}
    highest = max(reply.counted or 0 for reply in counted)
    tasks: defaultdict[tuple[str, str], dict[int, list[ServedReply]]] = defaultdict(dict)
    lengths: defaultdict[int, list[ServedReply]] = defaultdict(list)
    for reply in counted:
        tasks[reply.task, reply.language].setdefault(reply.length, []).append(reply)
        lengths[reply.length].append(reply)
    cut = [reply for cell in lengths.values() if _all_equal(cell, highest) for reply in cell]
    for cells in tasks.values():
        ascending = [cells[length] for length in sorted(cells)]
        cut += _at_the_limit([reply for cell in ascending for reply in cell], highest)
        cut += _hardly_more(ascending, highest)
    return {reply.key: CutPrompt(reply.length, reply.counted or 0, reply.sent) for reply in cut}


def _with_counts(replies: Iterable[ServedReply]) -> Iterator[ServedReply]:
    """The replies whose counts of prompt tokens can be compared."""
    return (reply for reply in replies if reply.length and (reply.counted or 0) >= LEAST_COUNT and reply.sent > 0)


def _all_equal(cell: Sequence[ServedReply], highest: int) -> bool:
    """Whether all prompts of a length have exactly the highest count."""
    prompts, different = {reply.prompt for reply in cell}, {reply.sent for reply in cell}
    equal = all(reply.counted == highest for reply in cell)
    return equal and len(prompts) >= EQUAL_PROMPTS and len(different) >= EQUAL_COUNTS


def _at_the_limit(task: Sequence[ServedReply], highest: int) -> list[ServedReply]:
    """The prompts of a task whose counts are the highest although they are longer than others with that count."""
    top = [reply for reply in task if (reply.counted or 0) >= SAME_COUNT * highest]
    if len(top) < FEW_ITEMS:
        return []
    shortest = min(reply.sent for reply in top)
    return [reply for reply in top if reply.sent >= DIFFERENT * shortest]


def _hardly_more(ascending: Sequence[Sequence[ServedReply]], highest: int) -> list[ServedReply]:
    """The prompts of a task from the length on whose counts hardly exceed those of the length before."""
    for shorter, longer in pairwise(ascending):
        before, after = (
            [median(getattr(reply, name) for reply in cell) for name in ("sent", "counted")]
            for cell in (shorter, longer)
        )
        near = after[1] >= NEAR * highest
        # Counts that leave out what a cache had are low at both lengths.
        whole = before[1] >= WHOLE * before[0] and max(map(_ratio, longer)) <= LESS * median(map(_ratio, shorter))
        enough = min(len(shorter), len(longer)) >= FEW_ITEMS and (near or whole)
        if enough and after[0] >= LONGER * before[0] and after[1] <= HARDLY_MORE * before[1]:
            return [reply for cell in ascending for reply in cell if reply.sent >= LONGER * before[0]]
    return []


def _ratio(reply: ServedReply) -> float:
    """Tokens counted for each token sent."""
    return (reply.counted or 0) / reply.sent


@dataclass(frozen=True, slots=True)
class RunTarget:
    """What was asked, as far as it says what replies should show.

    Attributes:
        model: Name of the model; "" if unknown.
        tokenizer: Name of the suite's tokenizer; "" if unknown.
    """

    model: str = ""
    tokenizer: str = ""

    @property
    def least_ratio(self) -> float:
        """Least count of a whole English prompt for each token sent; 0 if nothing is known."""
        if self.tokenizer in ("", "chars"):
            return 0.0
        short = _short(self.model)
        own = bool(short) and short == _short(self.tokenizer)
        known = next((own for start, own in _TIKTOKEN if short.startswith(start)), "")
        return SAME_TOKENIZER if own or self.tokenizer == f"tiktoken:{known}" else ANY_TOKENIZER


_TIKTOKEN = (
    *((start, "o200k_base") for start in ("gpt-4o", "gpt-4.1", "gpt-5", "o1", "o3", "o4", "chatgpt-4o")),
    *((start, "cl100k_base") for start in ("gpt-4", "gpt-3.5")),
)
"""Beginnings of names of models, and their tokenizers in tiktoken."""


def _short(name: str) -> str:
    """A model's name without its provider, folder and the end of a file."""
    return re.sub(r"\.(?:gguf|bin|safetensors)$", "", re.split(r"[/\\:]", name.lower())[-1])


UNKNOWN = RunTarget()


@dataclass(frozen=True, slots=True)
class ServerNote:
    """What a reader of the results must know about the server.

    Attributes:
        kind: What it is about, such as ``cut`` or ``models``.
        words: A sentence without a full stop.
    """

    kind: str
    words: str

    def __str__(self) -> str:
        """The sentence."""
        return self.words


def notes_on_server(replies: Sequence[ServedReply], asked: RunTarget = UNKNOWN) -> tuple[ServerNote, ...]:
    """What replies show about the server.

    Args:
        replies: Replies of one run, in any order.
        asked: What was asked.
    """
    answered = [reply for reply in replies if reply.status in ("ok", "incomplete")]
    cut = cut_prompts(replies)
    mark = unknown_marks_note(reply.head for reply in answered if reply.head)
    return (
        *_on_prompts(replies, cut),
        *_on_counts([reply for reply in replies if reply.key not in cut], asked.least_ratio),
        *_on_models(answered, asked.model),
        *_on_silence(answered),
        *_on_caps(answered),
        *_on_garbage(answered),
        *_on_equal(answered),
        *((ServerNote("marks", mark),) if mark else ()),
    )


def notes_on_replies(replies: Iterable[Reply]) -> tuple[ServerNote, ...]:
    """What replies show about the server whatever the prompts were: other models, garbage, unknown marks.

    Args:
        replies: Replies of one server.
    """
    facts = [
        ServedReply(
            key=(str(number), 1),
            task="",
            length=0,
            sent=1,
            counted=None,
            status=reply.status,
            stop=reply.stop,
            served=reply.served,
            head=reply.text[:_HEAD],
            characters=len(reply.text),
        )
        for number, reply in enumerate(replies)
    ]
    return tuple(note for note in notes_on_server(facts) if note.kind in ("models", "fingerprints", "marks", "garbage"))


def remarks_on_server(replies: Sequence[ServedReply]) -> tuple[str, ...]:
    """What the last line of a run must say beside its counts of replies by status."""
    empty = sum(not reply.characters and not reply.reasoned for reply in replies if reply.status == "ok")
    cut = len(cut_prompts(replies))
    return (
        *((f"{empty:,} of them empty",) if empty else ()),
        *((f"{cut:,} to prompts that the server cut",) if cut else ()),
    )


def _on_prompts(replies: Sequence[ServedReply], cut: Mapping[tuple[str, int], CutPrompt]) -> Iterator[ServerNote]:
    for length in sorted({prompt.length for prompt in cut.values()}):
        at = [prompt for prompt in cut.values() if prompt.length == length]
        arrived, sent = (round(median(getattr(prompt, name) for prompt in at)) for name in ("arrived", "sent"))
        yield ServerNote(
            "cut",
            f"the server cut {several(len(at), 'prompt')} of {format_length(length)}: {arrived:,} of "
            f"about {sent:,} tokens arrived, so that length is not scored; start the server with more context, and run "
            "again in another folder",
        )
    asked = [reply for reply in replies if reply.status == "ok"]
    if len(asked) >= FEW_PROMPTS and not any(reply.counted for reply in asked) and any(reply.served for reply in asked):
        words = "the server does not count prompt tokens, so whether prompts arrived whole cannot be checked"
        yield ServerNote("uncounted", words)


def _on_counts(replies: Sequence[ServedReply], least: float) -> Iterator[ServerNote]:
    """Counts that whole prompts hardly have, of replies that no rule of ``cut_prompts`` proves to be to cut ones."""
    counted = list(_with_counts(replies))
    english = [_ratio(reply) for reply in counted if reply.language in ("", "en")]
    cells: defaultdict[tuple[str, str, int], list[float]] = defaultdict(list)
    for reply in counted:
        cells[reply.task, reply.language, reply.length].append(_ratio(reply))
    uneven = [length for (*_, length), ratios in cells.items() if _are_uneven(ratios)]
    doubt = "part of each prompt may not reach the model, unless the server leaves out what its cache had"
    if len(english) >= FEW_ITEMS and (ratio := median(english)) < least:
        words = f"the server counts {ratio:.2f} tokens for each token sent, and the model's tokenizer needs at least "
        yield ServerNote("low", f"{words}{least:g}: {doubt}; compare the answers with those of a shorter length")
    elif uneven:
        lengths = ", ".join(format_length(length) for length in sorted(set(uneven)))
        words = f"prompts of {lengths} have very different counts at the server for each token sent: {doubt}"
        yield ServerNote("uneven", f"{words} or the texts are of very different kinds")


def _are_uneven(ratios: Sequence[float]) -> bool:
    """Whether counts for each token sent differ as those of whole prompts of one task and length do not."""
    ordered = sorted(ratios)
    return len(ordered) >= 2 * FEW_ITEMS and ordered[FEW_ITEMS - 1] < UNEVEN * ordered[-FEW_ITEMS]


def _on_models(answered: Sequence[ServedReply], asked: str) -> Iterator[ServerNote]:
    models = Counter(reply.served.partition(" ")[0] for reply in answered if reply.served)
    prints = {reply.served for reply in answered if " " in reply.served}
    if len(models) > 1:
        shares = ", ".join(f"{name} {count:,}" for name, count in models.most_common())
        words = (
            f"{len(models)} models answered ({shares}; by reply in the column 'served' of rows): the score is of none "
            "of them; turn off fallbacks"
        )
        yield ServerNote("models", words)
    elif models and asked and not _is_name_of(asked, served := next(iter(models))):
        words = f"the server names another model than the run asks for in all replies: {served}, not {_short(asked)}"
        yield ServerNote("other", f"{words}; check which model it has loaded")
    elif len(prints) > 1:
        words = f"the server's fingerprint changed: {len(prints)} configurations of the model answered"
        yield ServerNote("fingerprints", words)


def _is_name_of(asked: str, served: str) -> bool:
    """Whether a model may have both names: one holds the other or they begin alike, and they name no two sizes."""
    names = [re.sub(r"[\W_]+", "", _short(name)) for name in (asked, served)]
    sizes = [set(_SIZE.findall(_short(name))) for name in (asked, served)]
    variants = [set(_VARIANT.findall(_short(name))) for name in (asked, served)]
    if (all(sizes) and sizes[0] != sizes[1]) or variants[0] != variants[1]:
        return False
    left, right = names
    return left in right or right in left or left[:LEAST_ALIKE] == right[:LEAST_ALIKE] or right in _NAMELESS


_SIZE = re.compile(r"(?<![a-z0-9.])\d+(?:\.\d+)?[bm](?![a-z])")
_VARIANT = re.compile(r"(?<![a-z])(?:mini|nano|lite|flash|tiny|small|medium|large|haiku|sonnet|opus)(?![a-z])")
_NAMELESS = frozenset({"model", "default", "local", "localmodel", "unknown", "none", "main", "tgi", "ggml", "chat"})
"""Names that servers give when they know none."""
LEAST_ALIKE = 6
"""Letters with which two names of one model may begin alike: the rest is its date or precision."""


def _on_silence(answered: Sequence[ServedReply]) -> Iterator[ServerNote]:
    silent = [reply for reply in answered if not reply.characters and reply.stop != "max_tokens"]
    hidden = sum(reply.reasoned for reply in silent)
    if empty := len(silent) - hidden:
        yield ServerNote("empty", f"{empty:,} of {len(answered):,} replies are empty, and count 0")
    if hidden:
        yield ServerNote(
            "hidden",
            f"{hidden:,} of {len(answered):,} replies hold only reasoning, although the model stopped by itself: the "
            "server's reasoning parser may have taken the answer; start the server without it, or with the model's own",
        )


def _on_caps(answered: Sequence[ServedReply]) -> Iterator[ServerNote]:
    """Replies that count as complete because the cap is part of their task: they were cut all the same."""
    cut = Counter(reply.task for reply in answered if reply.status == "ok" and reply.stop == "max_tokens")
    if cut:
        shares = ", ".join(f"{name} {count:,}" for name, count in cut.items())
        words = (
            f"{several(cut.total(), 'reply was', 'replies were')} cut off at the output cap of the task ({shares}) and "
            "scored as it stands"
        )
        yield ServerNote("caps", words)


def _on_garbage(answered: Sequence[ServedReply]) -> Iterator[ServerNote]:
    long = [reply for reply in answered if reply.characters >= LONG_ENOUGH]
    walls = [reply for reply in long if _is_wall(reply.head)]
    if walls:
        yield ServerNote(
            "garbage",
            f"{len(walls):,} of {len(answered):,} replies are one character repeated ({walls[0].head.strip()[:8]}...): "
            "the server computes garbage; check its precision and quantization",
        )
    loops = sum(reply.characters > _HEAD and not _is_wall(reply.head) and _repeats(reply.head) for reply in long)
    if loops >= 3 and loops * 5 >= len(answered):
        yield ServerNote(
            "loops",
            f"{loops:,} of {len(answered):,} replies repeat the same words over and over; check the chat template and "
            "the temperature",
        )


def _is_wall(head: str) -> bool:
    common = Counter(head.strip()).most_common(1)
    return bool(common) and common[0][1] >= 0.9 * len(head.strip())


def _repeats(head: str) -> bool:
    """Whether the last words occur again and again."""
    return head.count(head[-20:]) >= 6


def _on_equal(answered: Sequence[ServedReply]) -> Iterator[ServerNote]:
    tasks: defaultdict[str, list[ServedReply]] = defaultdict(list)
    for reply in answered:
        if reply.characters:
            tasks[reply.task].append(reply)
    for task, replies in tasks.items():
        if any(_is_wall(reply.head) for reply in replies if reply.characters >= LONG_ENOUGH):
            continue
        prompts, targets = {reply.prompt for reply in replies}, {reply.target for reply in replies}
        head, count = Counter(reply.head for reply in replies).most_common(1)[0]
        if len(prompts) >= FEW_PROMPTS and len(targets) >= 3 and count >= MOST_EQUAL * len(replies):
            yield ServerNote(
                "equal",
                f"{count:,} of {len(replies):,} replies to different prompts of {task} are equal ({head[:30]!r}): a "
                "cache of the gateway may answer, or the model does not read the prompt",
            )


def served_column(db: sqlite3.Connection) -> str:
    """The name of the model that answered, in SQL; stores of earlier versions do not have it."""
    return "served" if "served" in {row[1] for row in db.execute("PRAGMA table_info(replies)")} else "''"


def served_replies(db: sqlite3.Connection) -> list[ServedReply]:
    """What the replies in a store show, from an open connection."""
    query = (
        "SELECT sample, epoch, task, length, tokens - truncated, tokens_in, status, stop, "
        f"{served_column(db)}, prompt_hash, targets, substr(text, 1, {_HEAD}), length(text), reasoning != '', language "
        f"FROM replies WHERE prompt_hash != '' AND {_ANSWERED}"
    )
    replies = []
    for sample, epoch, task, length, sent, counted, status, stop, served_by, prompt, *reply in db.execute(query):
        target, head, characters, reasoned, language = reply
        facts = ServedReply((sample, epoch), task, length, sent, count(counted), status, stop, served_by, prompt)
        replies.append(
            replace(facts, target=target, head=head, characters=characters, reasoned=bool(reasoned), language=language)
        )
    return replies


def cut_in(folder: Path, db: sqlite3.Connection) -> Mapping[tuple[str, int], CutPrompt]:
    """The prompts of a run that the server cut; none in runs of systems.

    Args:
        db: Its store, open.
    """
    if is_of_system(folder) or not _may_be_cut(db):
        return {}
    columns = "sample, epoch, task, length, tokens - truncated, tokens_in, status, prompt_hash, language"
    query = f"SELECT {columns} FROM replies WHERE {_COUNTED}"
    replies = [
        ServedReply((sample, epoch), task, length, sent, counted, status, prompt=prompt, language=language)
        for sample, epoch, task, length, sent, counted, status, prompt, language in db.execute(query)
    ]
    return cut_prompts(replies)


def _may_be_cut(db: sqlite3.Connection) -> bool:
    """Whether any rule of ``cut_prompts`` can hold, by a few sums: most runs need not be read twice."""
    sent = "(tokens - truncated)"
    cells = db.execute(
        f"SELECT length, count(DISTINCT tokens_in), count(*) FROM replies WHERE {_COUNTED} GROUP BY length"
    ).fetchall()
    if any(counts == 1 and replies >= EQUAL_PROMPTS for _, counts, replies in cells):
        return True
    # The longest of the prompts with high counts are much longer than the shortest of them.
    query = (
        f"SELECT max({sent}) >= {DIFFERENT} * min({sent}) FROM replies WHERE {_COUNTED} AND "
        f"tokens_in >= {NEAR / HARDLY_MORE} * (SELECT max(tokens_in) FROM replies WHERE {_COUNTED})"
    )
    if db.execute(query).fetchone()[0]:
        return True
    counts = (
        f"SELECT task, language, length, max(tokens_in) AS most, max(1.0 * tokens_in / {sent}) AS ratio "
        f"FROM replies WHERE {_COUNTED} GROUP BY 1, 2, 3"
    )
    query = (
        f"WITH counts AS ({counts}) SELECT count(*) FROM counts AS a JOIN counts AS b USING (task, language) "
        f"WHERE a.length < b.length AND (b.most <= {HARDLY_MORE} * a.most OR b.ratio <= {LESS} * a.ratio)"
    )
    return bool(db.execute(query).fetchone()[0])


def is_of_system(folder: Path) -> bool:
    """Whether a run is of a system around the model, or by likelihood: counts are sums, or of parts of prompts."""
    if not (folder / RUN_FILE).is_file():
        return False
    manifest = read_manifest(folder)
    return manifest.get("system") is not None or "likelihood" in (manifest.get("generation") or {})


def asked_in(manifest: Mapping[str, Any]) -> RunTarget:
    """What a run asks, by its manifest; nothing is known of runs of systems."""
    return RunTarget(str(manifest.get("model") or ""), str((manifest.get("suite") or {}).get("tokenizer") or ""))


def served_names(replies: Iterable[ServedReply]) -> dict[str, int]:
    """Number of replies by the model that the server named."""
    return dict(Counter(reply.served.partition(" ")[0] for reply in replies if reply.served))
