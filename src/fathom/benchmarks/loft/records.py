"""LOFT's text data sets as published: queries in folders ``KIND/DATASET/LENGTH``, with their corpus beside them.

Read are ``test_queries``, or ``dev_queries`` where there are no others, of the kinds ``retrieval``, ``rag``, ``sql``
and ``icl``. A document is a corpus in the form in which it is shown: passages with running numbers in the order of the
file, of ``sql`` the tables of a query, of ``icl`` the examples. Its questions are the queries, one for each turn.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import zip_longest
from pathlib import Path
from typing import Annotated, Any, NotRequired, TypeAlias

from annotated_types import Len
from typing_extensions import TypedDict

from fathom.documents.corpus.records import BadRowError, typed
from fathom.documents.corpus.text import document_id, storable
from fathom.documents.sources.forms import PassedOverError
from fathom.documents.sources.source import Shape, packaged_sources
from fathom.storage.schema import Filled
from fathom.types import Document, Json, Question

SOURCE_NAME = "loft_queries"
LENGTHS = {f"{thousands}k": thousands * 1024 for thousands in (2, 4, 8, 16, 32, 128)} | {"1m": 1 << 20}
ECHO = "ID: {id} | TITLE: {title} | CONTENT: {content} | END ID: {id}"
ECHO_UNTITLED = "ID: {id} | CONTENT: {content} | END ID: {id}"
UNTITLED = ("arguana", "fiqa", "msmarco", "quora")
"""Data sets whose passages are shown without titles."""
BY_CONTENT = (*UNTITLED, "webis_touche2020")
"""Data sets whose gold passages are quoted by their text."""
NO_TITLE = "None"
KINDS: Mapping[str, Sequence[str]] = {
    "retrieval": (
        "arguana", "fever", "fiqa", "msmarco", "nq", "quora", "scifact", "webis_touche2020", "topiocqa", "hotpotqa",
        "musique", "qampari", "quest",
    ),
    "rag": ("nq", "topiocqa", "hotpotqa", "musique", "qampari", "quest"),
    "sql": ("spider", "sparc"),
    "icl": (
        "date_understanding", "salient_translation_error_detection", "tracking_shuffled_objects_seven_objects",
        "web_of_lies",
    ),
}  # fmt: skip
"""The text data sets by kind."""
Turn: TypeAlias = dict[str, Json]
"""A turn of a query: ``query``, its ``gold`` answers as the scorer takes them, and ``support``, ids with texts."""
_LARGEST = 1 << 28  # bytes of a corpus
_FOLDERS = "keep the folders of LOFT, as in retrieval/nq/32k/test_queries.jsonl, and unpack archives"
_UNFILLED = (
    "has no text, which LOFT may not publish; run preprocess.py of google-deepmind/loft with --dataset {} on the folder"
)


class Query(TypedDict):
    """A query; of several turns, ``query_text`` is a list, and so are its answers."""

    qid: Filled
    answers: Annotated[Sequence[Any], Len(1), "a list of answers"]
    query_text: NotRequired[Any]
    metadata: NotRequired[Any]
    file: NotRequired[str]


class Example(TypedDict):
    """A query of ``icl``."""

    input: Filled
    target: Filled
    row: NotRequired[int]
    file: NotRequired[str]


@dataclass(frozen=True, slots=True)
class Place:
    """What the folders of a file say.

    Attributes:
        folder: The folder of its corpus.
        kind: One of ``KINDS``.
        dataset: A data set of the kind.
        length: One of ``LENGTHS``.
        split: ``test`` or ``dev``.
    """

    folder: Path
    kind: str
    dataset: str
    length: str
    split: str


@dataclass(frozen=True, slots=True)
class Passage:
    """A passage of a corpus, with its running number."""

    id: str
    title: str
    content: str


@dataclass(frozen=True, slots=True, eq=False)
class Corpus:
    """The passages of a corpus by the names that records give them, in order; each corpus equals only itself."""

    passages: Mapping[str, Passage]


def place_of(file: str) -> Place:
    """What the path of a file says.

    Raises:
        PassedOverError: It has examples for prompts, or queries over images or sound.
        BadRowError: It is in none of LOFT's folders.
    """
    path = Path(file)
    kind, dataset, length = ("", "", "", *path.parts[:-1])[-3:]
    split, queries, _ = path.name.partition("_queries.")
    if split == "few_shot" or path.stem == "corpus":
        raise PassedOverError("an example for prompts, no query")
    if kind == "mm":
        raise PassedOverError("a query over images or sound")
    if dataset not in KINDS.get(kind, ()) or length.lower() not in LENGTHS or not queries:
        raise BadRowError(f"{'/'.join(path.parts[-4:])} is no text data set of LOFT; {_FOLDERS}")
    return Place(path.parent, kind, dataset, length.lower(), split)


def read_record(record: Mapping[str, object], where: str) -> Document:
    """A query of any kind; the folder of its file says which, whatever its fields.

    Raises:
        BadRowError: It cannot be read, or is one of ``dev_queries`` although there are ``test_queries``.
    """
    place = place_of(str(record.get("file") or ""))
    if place.split == "dev" and (test := next(place.folder.glob("test_queries.*"), None)):
        raise BadRowError(
            f"dev_queries are asked only without test_queries, but {test.name} is beside them; name that file too, or "
            "download it again if it cannot be used"
        )
    return (read_example if place.kind == "icl" else read_query)(record, where)


def read_query(record: Mapping[str, object], where: str) -> Document:
    """A query of ``retrieval``, ``rag`` or ``sql``; its text is the corpus.

    Raises:
        BadRowError: A field is missing or has another form, or a text is not filled in.
    """
    fields = typed(Query, record)
    place = place_of(fields.get("file", ""))
    corpus = _corpus(place, _state(place.folder / "corpus.jsonl"))
    turns = _turns(fields, place, corpus)
    shots = [] if place.kind == "sql" else _shots(place, corpus, _state(place.folder / "few_shot_queries.jsonl"))
    shown = _tables(fields, corpus) if place.kind == "sql" else tuple(corpus.passages)
    return _document(place, where, _text(place, corpus, shown), len(shown), shots, storable(fields["qid"]), turns)


def _tables(fields: Query, corpus: Corpus) -> tuple[str, ...]:
    """The names of the tables of a query of ``sql``.

    Raises:
        BadRowError: It names none that are in the corpus.
    """
    metadata = fields.get("metadata")
    names = metadata.get("candidate_pids") if isinstance(metadata, Mapping) else None
    if not isinstance(names, list) or not names or not set(map(str, names)) <= set(corpus.passages):
        raise BadRowError("metadata.candidate_pids names no tables of corpus.jsonl; copy both files of one folder")
    return tuple(map(str, names))


def read_example(record: Mapping[str, object], where: str) -> Document:
    """A query of ``icl``; its text are the examples.

    Raises:
        BadRowError: A field is missing, or the examples are not beside the queries.
    """
    fields = typed(Example, record)
    place = place_of(fields.get("file", ""))
    path = place.folder / "corpus.json"
    text = _examples(path, _state(path))
    turn: Turn = {"query": storable(fields["input"]), "gold": fields["target"].split(" "), "support": []}
    return _document(place, where, text, 0, [], f"{place.split}-{fields.get('row', 0)}", [turn])


def _document(
    place: Place, where: str, text: str, passages: int, shots: Sequence[Json], query: str, turns: Sequence[Turn]
) -> Document:
    """A corpus with a query as its questions, one for each turn."""
    questions = tuple(
        Question(
            f"{query}/{number}: {turn['query']}",
            (json.dumps(turn["gold"], ensure_ascii=False),),
            meta={"query": query, "split": place.split, "turns": list[Json](turns[: number + 1])},
        )
        for number, turn in enumerate(turns)
    )
    name = f"loft_{place.kind}_{place.dataset}"
    meta: dict[str, Json] = {"dataset": name, "length": place.length, "passages": passages, "shots": list(shots)}
    return Document(_id(f"{name} {place.length}", text), text, where, "en", questions=questions, meta=meta)


@lru_cache(maxsize=8)
def _id(name: str, text: str) -> str:
    return document_id(f"{name}\n\n{text}")


# ------------------------------------------------------------------------------------------------------------- queries


def _turns(fields: Mapping[str, Any], place: Place, corpus: Corpus) -> list[Turn]:
    """The turns of a query: what is asked, its gold answers, and the gold passages as they are quoted.

    Raises:
        BadRowError: The query is not filled in, its answers have another form, or name a passage that is not there.
    """
    asked, answers = fields.get("query_text"), fields["answers"]
    if not asked:
        raise BadRowError(f"the query {_UNFILLED.format(place.dataset)}")
    several = isinstance(asked, list)
    queries, golds = (asked, answers) if several else ([asked], [answers])
    if len(golds) != len(queries) or not all(isinstance(query, str) and query.strip() for query in queries):
        raise BadRowError("query_text and answers are not one text and one answer for each turn")
    metadata = fields.get("metadata")
    stated = metadata.get("qrels") if isinstance(metadata, Mapping) and place.kind == "rag" else None
    named = list(stated) if several and isinstance(stated, list) else [stated]
    turns: list[Turn] = []
    for query, answer, pairs in zip_longest(queries, golds, named[: len(queries)]):
        gold = answer if isinstance(answer, list) else [answer]
        _check_gold(gold, place.kind)
        if place.kind == "retrieval":
            # Each turn of several has one passage.
            pairs = gold if all(isinstance(pair, list) for pair in gold) else [gold]
        support = [_passage(corpus, pair) for pair in (pairs if isinstance(pairs, list) else ())]
        if place.kind == "retrieval":
            gold = [[passage.id, 1] for passage in support]
        quoted = [[passage.id, _quoted(passage, place)] for passage in support]
        if not gold:
            raise BadRowError("a turn has no answer")
        turns.append({"query": storable(query).strip(), "gold": gold, "support": list[Json](quoted)})
    return turns


def _check_gold(gold: Sequence[object], kind: str) -> None:
    """Check the form of the gold answers of a turn: texts of ``rag``, rows with cells of ``sql``.

    Raises:
        BadRowError: One has another form.
    """
    for answer in gold:
        if kind == "rag" and not (isinstance(answer, str) and answer.strip()):
            raise BadRowError(f"answers: {str(answer)[:40]!r} is no text; download the file again")
        if kind == "sql" and not (isinstance(answer, list) and answer and all(map(_is_cell, answer))):
            raise BadRowError(f"answers: {str(answer)[:40]!r} is no row with cells; download the file again")


def _is_cell(value: object) -> bool:
    return value is None or isinstance(value, str | int | float)


def _passage(corpus: Corpus, pair: object) -> Passage:
    """The passage that a pair of its name and a number means.

    Raises:
        BadRowError: It is no such pair, or the passage is not in the corpus.
    """
    name = pair[0] if isinstance(pair, list) and pair else None
    if not isinstance(name, str):
        raise BadRowError(f"{str(pair)[:40]} is no pair of a passage's name and a number")
    if name not in corpus.passages:
        raise BadRowError(f"the passage {name[:40]!r} is not in corpus.jsonl; copy both files of one folder")
    return corpus.passages[name]


def _quoted(passage: Passage, place: Place) -> str:
    by_content = place.kind == "retrieval" and place.dataset in BY_CONTENT
    return passage.content if by_content else passage.title or NO_TITLE


# -------------------------------------------------------------------------------------------------------------- corpora


def _state(path: Path) -> tuple[int, int]:
    """Time and size of a file, by which a change is noticed.

    Raises:
        BadRowError: It is not there, or too large.
    """
    if not path.is_file():
        raise BadRowError(f"{path.name} is not beside the queries; {_FOLDERS}")
    state = path.stat()
    if state.st_size > _LARGEST:
        raise BadRowError(f"{path.name} is larger than any corpus of LOFT")
    return state.st_mtime_ns, state.st_size


@lru_cache(maxsize=2)
def _corpus(place: Place, state: tuple[int, int]) -> Corpus:
    """The passages of a corpus, numbered from 0 in their order.

    Raises:
        BadRowError: It cannot be read, or no passage has a text.
    """
    passages: dict[str, Passage] = {}
    for row in _lines(place.folder / "corpus.jsonl"):
        title, content = (storable(str(row.get(name) or "")).strip() for name in ("title_text", "passage_text"))
        passages[str(row.get("pid"))] = Passage(str(len(passages)), title, content)
    if not any(passage.content for passage in passages.values()):
        raise BadRowError(f"corpus.jsonl {_UNFILLED.format(place.dataset)}")
    return Corpus(passages)


@lru_cache(maxsize=2)
def _shots(place: Place, corpus: Corpus, state: tuple[int, int]) -> Sequence[Json]:
    """The examples of a prompt, each with its turns.

    Raises:
        BadRowError: They cannot be read, or there are none.
    """
    rows = _lines(place.folder / "few_shot_queries.jsonl")
    try:
        shots = [list[Json](_turns(typed(Query, row), place, corpus)) for row in rows]
    except BadRowError as error:
        raise BadRowError(f"few_shot_queries.jsonl: {error}") from None
    if not shots:
        raise BadRowError("few_shot_queries.jsonl has no examples; download it again")
    return shots


@lru_cache(maxsize=64)
def _text(place: Place, corpus: Corpus, names: tuple[str, ...]) -> str:
    """Some passages of a corpus as they are shown."""
    passages = [corpus.passages[name] for name in names]
    if place.kind == "sql":
        return "\n\n".join(f"Table: {table.title}\n{table.content}" for table in passages)
    form = ECHO_UNTITLED if place.kind == "retrieval" and place.dataset in UNTITLED else ECHO
    return "\n".join(
        form.format(id=passage.id, title=passage.title or NO_TITLE, content=passage.content) for passage in passages
    )


def _lines(path: Path) -> Iterator[Mapping[str, Any]]:
    """The objects of a file of JSON lines.

    Raises:
        BadRowError: A line is no object.
    """
    for number, line in enumerate(path.read_text("utf-8", "replace").split("\n"), start=1):
        if line.strip():
            row = _json(line, f"{path.name}:{number}")
            if not isinstance(row, dict):
                raise BadRowError(f"{path.name}:{number} is no object; download the file again")
            yield row


def _json(text: str, name: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        raise BadRowError(f"{name} is no JSON; download the file again") from None


@lru_cache(maxsize=2)
def _examples(path: Path, state: tuple[int, int]) -> str:
    """The examples of ``icl`` as they are shown.

    Raises:
        BadRowError: They cannot be read, or there are none.
    """
    examples = _json(path.read_text("utf-8", "replace"), path.name)
    if examples == []:
        raise BadRowError("corpus.json has no examples; download it again")
    try:
        return "\n\n".join(f"{each['input']}\nOutput: {each['target'].split(' ')}" for each in map(dict, examples))
    except (TypeError, ValueError, KeyError, AttributeError):
        raise BadRowError("corpus.json is no list of objects with input and target; download it again") from None


_FIELDS = frozenset(
    {*Query.__required_keys__, *Query.__optional_keys__, *Example.__required_keys__, *Example.__optional_keys__}
)
# Files are known by their folders and names: a row that lacks a field is a bad row, not one of another data set.
SOURCES = packaged_sources(__package__, {SOURCE_NAME: (Shape("LOFT", frozenset(), read_record, _FIELDS),)})
