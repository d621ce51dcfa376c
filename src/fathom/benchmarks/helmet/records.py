"""HELMET's data from a copy of yours: the unpacked folder ``data``, and data sets of the hub that you write as files.

Names of files say what they hold and for which length, so they have to stay as they are. Which questions of a file are
asked, and which two demonstrations each has, follows from seeds, as in the released code (``data.py``).
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache, partial
from hashlib import sha256
from pathlib import Path, PurePath
from random import Random
from typing import Annotated, Any, NotRequired, TypeAlias

from annotated_types import Ge, Len, MinLen
from typing_extensions import TypedDict

from fathom.benchmarks.leader.infinitebench_records import Record as Book
from fathom.benchmarks.leader.infinitebench_records import read_record as read_book
from fathom.documents.corpus.records import BadRowError, typed
from fathom.documents.corpus.text import storable
from fathom.documents.records import Record, read_records
from fathom.documents.sources.forms import PassedOverError, published_record
from fathom.documents.sources.source import Shape, packaged_sources
from fathom.storage.schema import Filled
from fathom.types import Document, Json

SEED, QUESTIONS, SHOTS = 42, 100, 2
LENGTHS = (4096, 8192, 16384, 32768, 65536, 131072)
KILT, PAIRS, RANKED = (
    dict(zip(sizes, LENGTHS, strict=True))
    for sizes in (
        (20, 50, 105, 220, 440, 1000),
        (50, 105, 220, 440, 900, 1800),
        (14, 50, 130, 285, 600, 1000),
    )
)
"""The length of a file in tokens of Llama 2, by the number of passages or pairs in its name."""
CITED = 700
"""Passages of a question with citations, at the longest length."""
NEEDLES = {"niah_multikey_2": "niah_mk_2", "niah_multikey_3": "niah_mk_3", "niah_multivalue": "niah_mv"}
"""Folders of RULER's tasks, with their names in HELMET."""
BOOKS = ("helmet_narrativeqa", "helmet_multi_lexsum")
"""Long texts that HELMET loads from the hub, in files of InfiniteBench's form."""
LABELLED = ("trec_coarse", "trec_fine", "banking77", "clinc150", "nlu")
_KILT = re.compile(r"(nq|triviaqa|hotpotqa|popqa)[-_].*_k(\d+)_(dep\d+)")
_SIZE = re.compile(r"_k?(\d+)[_.]")
_GAP = re.compile(r"\{(\w+)\}")
_POPULAR = 1000  # of a subject, from which on PopQA's questions about it are not asked
Reader: TypeAlias = Callable[[Mapping[str, object], str], Document]
Texts = Annotated[Sequence[str], MinLen(1), "a list of texts"]


class Passage(TypedDict):
    """A passage; those to be ranked have ``id`` and ``label``."""

    text: str
    title: NotRequired[str]
    id: NotRequired[str]
    label: NotRequired[int]


Passages = Annotated[Sequence[Passage], MinLen(1), "a list of passages"]


class Question(TypedDict):
    """A record of ``kilt``."""

    question: Filled
    answers: Texts
    ctxs: Passages
    id: NotRequired[Any]
    s_pop: NotRequired[int | float]
    file: NotRequired[str]


class Pairs(TypedDict):
    """A record of ``json_kv``."""

    context: Filled
    question: Filled
    answer: Filled
    demos: Sequence[Annotated[Sequence[str], Len(2, 2)]]
    row: NotRequired[int]
    file: NotRequired[str]


class Needles(TypedDict):
    """A record of ``ruler``, with ``answer`` or ``outputs``."""

    context: Filled
    query: Filled
    type_needle_v: Filled
    answer: NotRequired[Texts]
    outputs: NotRequired[Texts]
    row: NotRequired[int]
    file: NotRequired[str]


class Ranked(TypedDict):
    """A record of ``msmarco``."""

    qid: Filled
    query: Filled
    ctxs: Passages
    file: NotRequired[str]


class Cited(TypedDict):
    """A record of ``alce``: ASQA has ``qa_pairs``, QAMPARI ``answers``."""

    question: Filled
    docs: Passages
    qa_pairs: NotRequired[Any]
    answers: NotRequired[Any]
    row: NotRequired[int]
    file: NotRequired[str]


class Shown(TypedDict):
    """A demonstration of an answer with citations."""

    question: Filled
    answer: Filled
    docs: Passages


class Prompts(TypedDict):
    """A file of HELMET's ``prompts``."""

    instruction: Filled
    demo_prompt: Filled
    doc_prompt: Filled
    demos: Annotated[Sequence[Shown], MinLen(SHOTS)]


class Label(TypedDict):
    """A text with the number of its label, from 0, in a file whose name begins with that of its data set."""

    text: Filled
    label: Annotated[int, Ge(0), "a whole number from 0"]
    split: NotRequired[str]
    file: NotRequired[str]


# ---------------------------------------------------------------------------------------------------------- which ones


def permutation(count: int, seed: int = SEED) -> list[int]:
    """The order that ``datasets.Dataset.shuffle`` gives some rows."""
    import numpy as np

    return [int(place) for place in np.random.default_rng(seed).permutation(count)]


def hashed(text: str) -> int:
    """A seed from a text."""
    return int(sha256(text.encode(errors="replace")).hexdigest(), 16) % 2**31


@lru_cache(maxsize=4)
def _asked(path: Path, changed: int, kind: str) -> tuple[frozenset[object], int]:
    """The questions of a file that are asked, by their id if they have one, and the number of their rows."""
    keys = [_key(record) for record in _fields(path) if _is_known(record, kind)]
    known = sorted({key for key in keys if key is not None}, key=lambda key: (str(type(key)), key))
    chosen = frozenset(Random(SEED).sample(known, min(QUESTIONS, len(known))))
    return chosen, sum(key in chosen for key in keys)


@lru_cache(maxsize=4)
def _places(path: Path, changed: int) -> Mapping[int, int]:
    """The rows of a file that are asked, each with its place in the order of the released code."""
    order = permutation(sum(1 for _ in _fields(path)))
    return {row: place for place, row in enumerate(order[:QUESTIONS])}


@lru_cache(maxsize=4)
def _contents(path: Path, changed: int) -> tuple[Mapping[str, object], ...]:
    return tuple(_fields(path))


def _fields(path: Path) -> Iterator[Mapping[str, object]]:
    return (record.fields for record in read_records(path) if isinstance(record, Record))


def _beside(folder: Path, pattern: str) -> tuple[Mapping[str, object], ...]:
    """The records of a file that belongs to another one.

    Raises:
        BadRowError: It is not there.
    """
    files = sorted(folder.glob(pattern))
    if not files:
        raise BadRowError(f"what it is shown with is not there: copy HELMET's {pattern} to {folder.name}")
    return _contents(files[0], files[0].stat().st_mtime_ns)


def _key(record: Mapping[str, object]) -> Any:
    """What identifies a question."""
    value = next((record[name] for name in ("qid", "id", "question") if name in record), None)
    return value if isinstance(value, str | int) else None


def _is_known(fields: Mapping[str, object], kind: str) -> bool:
    views = fields.get("s_pop")
    return kind != "popqa" or (isinstance(views, int | float) and views < _POPULAR)


def _file(record: Mapping[str, object]) -> Path:
    path = Path(str(record.get("file", "")))
    if not path.is_file():
        raise BadRowError("a record in an archive; unpack HELMET's data, as a record needs the files beside its own")
    return path


def _place(record: Mapping[str, object], path: Path) -> int:
    place = _places(path, path.stat().st_mtime_ns).get(int(str(record["row"])))
    if place is None:
        raise PassedOverError(f"not among the {QUESTIONS} records that HELMET asks of a file")
    return place


def _length(path: Path, sizes: Mapping[int, int]) -> int:
    """The length that the name of a file says; 0 if it says none."""
    sized = _SIZE.findall(path.name)
    return sizes.get(int(sized[-1]), 0) if sized else 0


def _drawn(records: Sequence[Mapping[str, object]], seed: str) -> list[Mapping[str, object]]:
    """Two records of different questions, in the order of the seed."""
    first: dict[object, Mapping[str, object]] = {}
    for place in permutation(len(records), hashed(seed)):
        first.setdefault(_key(records[place]), records[place])
    return list(first.values())[:SHOTS]


# -------------------------------------------------------------------------------------------------------------- readers


def read_question(record: Mapping[str, object], where: str) -> Document:
    """A record of ``kilt``: its text are the passages.

    Raises:
        BadRowError: A field is missing or has another form, or the demonstrations are not there.
    """
    path = _file(record)
    named = _KILT.match(path.name)
    if named is None:
        raise BadRowError(f"{path.name!r} is no name of HELMET's files, as nq-dev-multikilt_1000_k50_dep6.jsonl is")
    (kind, size, depths), fields = named.groups(), typed(Question, record)
    chosen, _ = _asked(path, path.stat().st_mtime_ns, kind)
    if size == "3" or _key(record) not in chosen:
        raise PassedOverError(f"not among the {QUESTIONS} questions that HELMET asks of a file, or a demonstration")
    own = str(_key(record))
    shown = [other for other in _beside(path.parent, f"{kind}*_k3_{depths}.jsonl") if _is_known(other, kind)]
    if kind == "popqa":  # whose demonstrations are of the same split
        shown = [other for other in shown if str(_key(other)) != own]
    demos = (typed(Question, other) for other in _drawn(shown, own))
    texts = (
        f"{_texts(demo['ctxs'])}\n\nQuestion: {demo['question']}\nAnswer: {demo['answers'][0]}\n\n" for demo in demos
    )
    about: dict[str, str | int] = {"length": KILT.get(int(size), 0), "cluster": own, "demos": "".join(texts)}
    return _document(where, kind, _texts(fields["ctxs"]), fields["question"], list(fields["answers"]), about)


def read_pairs(record: Mapping[str, object], where: str) -> Document:
    """A record of ``json_kv``: its text is the object.

    Raises:
        BadRowError: A field is missing or has another form.
    """
    path = _file(record)
    place, fields = _place(record, path), typed(Pairs, record)
    demos = "".join(f"Key: {key}\nCorresponding value: {value}\n\n" for key, value in fields["demos"][:SHOTS])
    about: dict[str, str | int] = {"place": place, "length": _length(path, PAIRS), "demos": demos}
    return _document(where, "json_kv", fields["context"], fields["question"], fields["answer"], about)


def read_needles(record: Mapping[str, object], where: str) -> Document:
    """A record of ``ruler``: its text is the haystack.

    Raises:
        BadRowError: A field is missing or has another form.
    """
    path = _file(record)
    if path.parent.name not in NEEDLES:
        raise PassedOverError(f"not in one of the folders that HELMET counts: {', '.join(NEEDLES)}")
    place, fields = _place(record, path), typed(Needles, record)
    gold = list(fields.get("answer") or fields.get("outputs") or ())
    if not gold:
        raise BadRowError("the field 'answer' is missing; expected a list of texts")
    length = _length(path, {length: length for length in LENGTHS})
    about: dict[str, str | int] = {"place": place, "length": length, "type_needle_v": fields["type_needle_v"]}
    return _document(where, NEEDLES[path.parent.name], fields["context"], fields["query"], gold, about)


def read_ranked(record: Mapping[str, object], where: str) -> Document:
    """A record of ``msmarco``: its text are the documents to be ranked.

    Raises:
        BadRowError: A field is missing or has another form, or the demonstrations are not there.
    """
    path = _file(record)
    fields = typed(Ranked, record)
    chosen, rows = _asked(path, path.stat().st_mtime_ns, "msmarco")
    if "_k10_" in path.name or fields["qid"] not in chosen:
        raise PassedOverError(f"not among the {QUESTIONS} questions that HELMET asks of a file, or a demonstration")
    shown = _beside(path.parent, "*_k10_*.jsonl")
    others = chosen if len(shown) > 2 * rows else {fields["qid"]}
    drawn = _drawn([other for other in shown if _key(other) not in others], fields["qid"])
    demos = (typed(Ranked, other) for other in drawn)
    texts = (
        f"{_listed(demo['ctxs'])}\n\nQuery: {demo['query']}\nRanking: {_order(demo['ctxs'])}\n\n" for demo in demos
    )
    gold: Json = {str(passage.get("id")): passage.get("label", 0) for passage in fields["ctxs"]}
    about: dict[str, str | int] = {"length": _length(path, RANKED), "cluster": fields["qid"], "demos": "".join(texts)}
    return _document(
        where, "msmarco", _listed(fields["ctxs"]), fields["query"], gold, {**about, "reply": _order(fields["ctxs"])}
    )


def read_cited(record: Mapping[str, object], where: str) -> Document:
    """A record of ``alce``: its text are numbered passages in the form that the prompt of HELMET's repository gives.

    Raises:
        BadRowError: A field is missing or has another form, or the prompt is not there.
    """
    path = _file(record)
    place, fields = _place(record, path), typed(Cited, record)
    kind = "asqa" if path.name.startswith("asqa") else "qampari"
    folders = [path.parent, *(above / "prompts" for above in path.parents[:3])]
    name = f"{kind}_revised.json"
    folder = next((folder for folder in folders if (folder / name).is_file()), path.parent)
    prompts = typed(Prompts, _beside(folder, name)[0])
    raw = fields.get("qa_pairs") if kind == "asqa" else fields.get("answers")
    listed = raw if isinstance(raw, list) else []
    groups: list[Any] = [pair.get("short_answers") if isinstance(pair, Mapping) else pair for pair in listed]
    if not groups or not all(isinstance(group, list) and group for group in groups):
        raise BadRowError("neither 'qa_pairs' nor 'answers' has lists of answers")
    rng, drawn = Random(SEED), list[Shown]()
    for _ in range(int(str(record["row"])) + 1):  # one generator for all rows of the file
        drawn = rng.sample(prompts["demos"], SHOTS)
    template = prompts["doc_prompt"]
    demos = "".join(
        _filled(
            f"{prompts['demo_prompt']}\n\n\n",
            instruction=prompts["instruction"],
            question=demo["question"],
            context="\n\n".join(_numbered(demo["docs"], template)),
            answer=demo["answer"],
        )
        for demo in drawn
    )
    passages = [storable(text) for text in _numbered(fields["docs"][:CITED], template)]
    ends = [sum(map(len, passages[:count])) + 2 * (count - 1) for count in range(1, len(passages) + 1)]
    spans = [(end - len(text), end) for end, text in zip(ends, passages, strict=True)]
    about: dict[str, str | int] = {"place": place, "instruction": prompts["instruction"], "demos": demos}
    return _document(where, kind, "\n\n".join(passages), fields["question"], groups, about, spans)


def read_label(record: Mapping[str, object], where: str) -> Document:
    """A text with its label, an example or a question.

    Raises:
        BadRowError: A field is missing or has another form, or the name of the file names no data set.
    """
    fields = typed(Label, record)
    name = PurePath(fields.get("file", "")).name
    kind = next((kind for kind in LABELLED if name.startswith(kind)), "")
    if not kind:
        raise BadRowError(f"{name!r} does not begin with a data set; expected one of {', '.join(LABELLED)}")
    return _document(where, kind, fields["text"], "", fields["label"], {"split": fields.get("split", "")})


def _document(
    where: str,
    kind: str,
    text: str,
    question: str,
    gold: Json,
    about: Mapping[str, str | int],
    passages: Sequence[tuple[int, int]] = (),
) -> Document:
    meta: dict[str, Json] = {
        name: storable(value) if isinstance(value, str) else value for name, value in about.items()
    }
    meta |= {"dataset": f"helmet_{kind}", "question": storable(question), "gold": json.dumps(gold)}
    return published_record(storable(text), where, f"{kind} {where} {question}", meta, passages)


def _texts(passages: Sequence[Passage]) -> str:
    return "\n\n".join(f"Document (Title: {passage.get('title', '')}): {passage['text']}" for passage in passages)


def _listed(passages: Sequence[Passage]) -> str:
    heads = [f" (Title: {passage['title']})" if "title" in passage else "" for passage in passages]
    pairs = zip(passages, heads, strict=True)
    return "\n\n".join(f"[ID: {passage.get('id')}] Document{head}: {passage['text']}" for passage, head in pairs)


def _order(passages: Sequence[Passage]) -> str:
    best = sorted(passages, key=lambda passage: passage.get("label", 0), reverse=True)
    return " > ".join(str(passage.get("id")) for passage in best)


def _numbered(passages: Sequence[Passage], template: str) -> list[str]:
    return [
        _filled(template, ID=str(number), title=passage.get("title", ""), text=passage["text"])
        for number, passage in enumerate(passages, start=1)
    ]


def _filled(template: str, **values: str) -> str:
    """A template of the publishers with its gaps filled; other braces stay."""
    return _GAP.sub(lambda gap: values.get(gap[1], gap[0]), template)


_READERS: Mapping[str, tuple[Any, Reader]] = {
    "helmet_kilt": (Question, read_question),
    "helmet_json_kv": (Pairs, read_pairs),
    "helmet_ruler": (Needles, read_needles),
    "helmet_msmarco": (Ranked, read_ranked),
    "helmet_alce": (Cited, read_cited),
    "helmet_icl": (Label, read_label),
    **{name: (Book, partial(read_book, dataset=name)) for name in BOOKS},
}
SOURCES = packaged_sources(__package__, {name: (Shape.of(name, *form),) for name, form in _READERS.items()})
