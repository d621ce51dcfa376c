"""Hostile command lines and inputs against every command of ``fathom``: how many end in anything but a clear answer.

The commands are those of the application. Each case takes one of them with values that are right or hostile (numbers
beyond every limit, names that no file can have, addresses that are none, files where folders belong), and often a copy
of a right input (a suite, a run, rows, a subset, a bundle, a site) that is damaged: cut off, emptied, flipped, not
UTF-8, a value of another type somewhere in its JSON, its Parquet or its SQLite. Some are traps: a pipe, a device or a
link to another's file in place of a file, tables that are endless queries, files that mean gigabytes. A case runs in
this process and has to end with 0, 1, 2 or, of a gate, 3; one with a trap also in time, without gigabytes of memory,
and without a word of the other's file. Whatever else comes is printed with its traceback and its command line, and the
benchmark ends with 1. No case leaves this machine.

    python performance/command_fuzz.py                        # 10,000 cases
    python performance/command_fuzz.py --cases 500 --seed 3
    python performance/command_fuzz.py --case 1234            # one of them again
"""

from __future__ import annotations

import argparse
import io
import json
import os
import shlex
import shutil
import signal
import sqlite3
import sys
import tempfile
import time
import traceback
import warnings
import zipfile
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from typing import Any
from unittest.mock import patch

NOWHERE = "http://127.0.0.1:9"
SECONDS = 30
"""After so long a case is ended, and counted as slow: some right command lines ask for a lot of work."""
CLEAR = ("0", "1", "2", "3", "slow")
TRAPS = 0.25
"""Share of the cases that name an input which exists, in which it becomes a trap."""
SECRET = "the-word-of-another-9517"
MEMORY = 2 << 30
"""Bytes by which a case with a trap may raise the memory of the process."""

HOSTILE_WORDS = (
    "", " ", "x", "-", "--", "-1", "0", "1e999", "nan", "inf", "9" * 40, "\ud800", "\x00", "\x1b[2J", "٣", "a" * 300,
    "a" * 5000,
    "../..", "/", ".", "~", "*", "a,b", ",", "=", "a=", "=a", "a==b", "{}", "[]", "null", "true", '{"a": [1', "%s",
    "{0}", "<b>",
    "none", "all", "official", "👩‍🚀", "﷽", "a\nb", "a\tb", "?", "a?b=c&d", "passkey?x=1", "kv_retrieval,kv_retrieval",
)  # fmt: skip
HOSTILE_LENGTHS = (
    "",
    "0",
    "-1",
    "1",
    "255",
    "1k,1k",
    "1.5k",
    "k",
    "8k8k",
    "²k",
    "1e3",
    "512,x",
    "9" * 30,
    "nan",
    "512:1k",
)
HOSTILE_NUMBERS = (
    "-1",
    "0",
    "1",
    "2",
    "x",
    "",
    "1e3",
    "0.5",
    "-0.5",
    "nan",
    "inf",
    "1e999",
    str(2**63),
    str(-(2**70)),
    "١",
)
HOSTILE_ADDRESSES = (
    "", "localhost:8000", "http://127.0.0.1:99999", "http://[::1", "http://", "ftp://h", "http://h:x/v1",
    "file:///etc/passwd",
    "http://a b", "//", NOWHERE, "http://127.0.0.1:0/v1", "http://" + "a" * 300,
    "postgresql+psycopg://u@127.0.0.1:99999/x",
)  # fmt: skip
HOSTILE_PATHS = (
    "", "missing", "missing/deep/er", "a" * 300, "a/" * 3000, "/dev/null", "/dev/null/x", "/proc/self/mem", "/", ".",
    "..",
    "\x00", "a\x00b", "\udcff", "file.txt", "file.txt/x", "folder", "latin1.txt", "empty", "link", "folder?text=x",
    "noise.json", "noise.jsonl", "noise.parquet", "noise.csv", "noise.zip", "noise.toml", "noise.npz", "noise.sqlite",
)  # fmt: skip
HOSTILE_JSON: tuple[Any, ...] = (
    None, True, -1, 0, 0.5, 1e308, float("nan"), 2**63, -(2**80), "", "x", "8", "\ud800", "\x00", "a" * 5000, [],
    [1], [[]], {},
    {"a": 1}, {"": None},
)  # fmt: skip
PLAIN = ("--json", "--quiet", "--yes", "--exact", "--check", "--tasks-only")


class TooSlowError(BaseException):
    """Ends a case that takes too long; nothing in fathom catches it."""


@dataclass(frozen=True)
class Parameter:
    """An argument or an option of a command."""

    name: str
    words: tuple[str, ...]
    kind: str
    required: bool
    is_option: bool


@dataclass(frozen=True)
class Outcome:
    """What came of a case: the command, its words, how it ended, and what was printed of a failure."""

    command: str
    words: tuple[str, ...]
    end: str
    told: str = ""


def commands() -> dict[str, tuple[Parameter, ...]]:
    """All commands of the application by their full names, with their parameters."""
    from fathom.cli.app import commands
    from fathom.options.declare import fields_of
    from fathom.options.line import Command

    found = {}
    for name, one in commands().items():
        if isinstance(one, Command):
            found[name] = tuple(_of_field(field) for field in fields_of(one.line) if not field.option.hidden)
        elif name and not hasattr(one, "commands"):
            found[name] = tuple(map(_parameter, one.params))
    return found


def _of_field(field: Any) -> Parameter:
    short = "bool" if field.switch else {"PATH": "Path", "FOLDER": "Path", "FILE": "Path"}.get(field.metavar, "str")
    short = {"INTEGER": "int", "NUMBER": "float"}.get(field.metavar, short)
    names = (*filter(None, (field.option.short,)), field.flag, *field.option.former)
    position = field.option.position
    return Parameter(field.name, (field.name,) if position else names, short, field.required, not position)


def _parameter(one: Any) -> Parameter:
    kind = str(one.type_descriptor.annotation)
    short = next((name for name in ("Path", "int", "float", "bool") if name in kind), "str")
    return Parameter(one.name, tuple(one.opts), short, bool(one.required), one.param_type_name == "option")


# --------------------------------------------------------------------------------------------------- right inputs

RIGHT_WORDS: Mapping[str, tuple[str, ...]] = {
    "target": ("passkey", "kv_retrieval", "starter", "single_doc_qa"),
    "model": ("fathom/lexical", "fathom/guess", "fathom/lexical?window=512&truncate=middle", "openai/m",
    "mockllm/model"),
    "judge": ("openai/judge", "embed/m", "none", "fathom/lexical"),
    "model_base_url": (f"{NOWHERE}/v1",),
    "judge_base_url": (f"{NOWHERE}/v1",),
    "lengths": ("512", "512,1k"), "base": ("512",), "window": ("512", "1k"), "truncate": ("256",),
    "tokenizer": ("words",), "corpus": ("world", "file.txt", "folder"), "seed": ("0", "7"), "items": ("1", "2"),
    "limit": ("1",), "epochs": ("1", "2"), "retries": ("0",), "timeout": ("5",), "budget": ("3", "0.5"),
    "width": ("0.5",),
    "by": ("task", "length", "language", "difficulty"), "format": ("inspect", "lm-eval", "jsonl"), "metric": ("f1",
    "longbench/qa_f1"),
    "rule": ("official", "strict"), "filter": ("own", "intersection", "panel", "none"), "role": ("submit",
    "moderate"),
    "method": ("sampled", "minilongbench", "pairs", "greedy"), "methods": ("sampled", "sampled,minilongbench"),
    "depths": ("random", "0,0.5", "front"), "languages": ("en", "en,zh"), "where": ("task=passkey", "length=512"),
    "generation": ("top_p=0.5", 'extra_body={"a": 1}'), "model_arg": ("api_key=abc",), "thinking": ("on", "off"),
    "store": ("store",), "host": ("127.0.0.1",), "port": ("0",), "names": ("govreport",), "name": ("ann",),
    "date": ("2026-01-01",),
    "chance": ("passkey=0.1",), "models": ("fathom/lexical",), "tasks": ("passkey",), "splits": ("2",),
    "draws": ("2",),
    "boards": ("hundred",), "from": ("inspect", "lm-eval"), "scale": ("points",), "measures": ("mean",),
}  # fmt: skip
RIGHT_PATHS: Mapping[str, tuple[str, ...]] = {
    "suite": ("suite",), "source": ("suite", "texts.jsonl"), "sources": ("run", "rows.parquet", "rows.csv",
    "table.csv"),
    "runs": ("run", "other"), "results": ("run", "rows.parquet"), "scores": ("rows.parquet", "matrix.csv"),
    "bundle": ("bundle.zip",),
    "old": ("site",), "new": ("site",), "since": ("site",), "subset": ("subset.json",), "known": ("matrix.csv",
    "rows.parquet"),
    "tiers": ("tiers.toml",), "labels": ("labels.csv",), "file": ("replies.jsonl",), "data": ("folder",),
    "to": ("out",),
    "embeddings": ("vectors.npz",), "published": ("table.csv",), "panel": ("run",), "books": ("folder",),
    "qa": ("corpus.jsonl",),
    "summaries": ("corpus.jsonl",), "noise": ("file.txt",), "threads": ("corpus.jsonl",), "cases": ("corpus.jsonl",),
    "prompts": ("folder",), "out": ("out", "out.csv", "out.html", "out.json", "out.svg", "out.zip", "out.npz",
    "out.parquet"),
    "plot": ("out.svg",), "in": ("folder",), "suites": ("suite",), "more": ("table.csv",),
    "only": ("wrong", "differ,none"),
}  # fmt: skip
FOLDERS = {
    "show": ("suite", "run"),
    "export": ("suite",),
    "status": ("run",),
    "data fetch": ("out",),
    "data verify": ("folder",),
}
KINDS = {
    "list": ("models", "tasks", "suites", "metrics", "sources", "settings", "boards"),
    "plot": (
        "curve",
        "task-curves",
        "tasks",
        "scores",
        "position",
        "needle",
        "longscore",
        "tasks-heatmap",
        "best-of-n",
    ),
    "compress study": ("redundancy", "dimensions", "ratios", "bias", "choices", "rankings", "neighbours"),
}


def make_world(place: Path) -> None:
    """Right inputs of every kind, made by the commands themselves."""
    (place / "file.txt").write_text("The ferry leaves at nine. " * 200)
    (place / "folder").mkdir()
    (place / "folder" / "text.md").write_text("The market opens at ten. " * 200)
    (place / "empty").touch()
    (place / "latin1.txt").write_bytes("Der Fährmann fährt über die Elbe. ".encode("latin-1") * 200)
    (place / "link").symlink_to("link")
    noise = Random(0).randbytes(3000)
    for ending in ("json", "jsonl", "parquet", "csv", "zip", "toml", "npz", "sqlite"):
        (place / f"noise.{ending}").write_bytes(noise)
    record = {
        "text": "A story. " * 300,
        "instructions": "Who?",
        "outputs": ["Me"],
        "question": "Who?",
        "answers": ["Me"],
    }
    (place / "corpus.jsonl").write_text("\n".join(json.dumps(record | {"id": number}) for number in range(4)))
    (place / "texts.jsonl").write_text("\n".join(json.dumps({"item": f"i{n}", "text": f"text {n}"}) for n in range(5)))
    reply = {"reply": "Me", "answers": ["Me"], "metric": "f1", "prediction": "Me", "references": ["Me"]}
    (place / "replies.jsonl").write_text("\n".join(json.dumps(reply) for _ in range(3)))
    (place / "tiers.toml").write_text('high = ["fathom/lexical"]\nmid = ["fathom/guess"]\nlow = []\n')
    (place / "labels.csv").write_text("sample,score\npasskey/0@512,1\n")
    (place / "table.csv").write_text(
        "model,task,length,score\na,t,2048,0.9\na,t,4096,0.5\nb,t,2048,0.8\nb,t,4096,0.4\n"
    )
    rows = [f"i{item},{','.join(str((model * item) % 3 / 2) for model in range(8))}" for item in range(12)]
    (place / "matrix.csv").write_text("\n".join((f"item,{','.join(f'm{model}' for model in range(8))}", *rows)))
    small = ("--corpus", "world", "--tokenizer", "words", "--items", "3", "--quiet")
    for words in (
        ("build", "passkey,single_doc_qa", "--lengths", "512,1k", "--out", "suite", *small),
        ("run", "suite", "--model", "fathom/lexical", "--out", "run", "--quiet"),
        ("run", "suite", "--model", "fathom/guess", "--out", "other", "--quiet"),
        ("rows", "run", "other", "--out", "rows.parquet"),
        ("rows", "run", "other", "--out", "rows.csv"),
        ("compress", "select", "matrix.csv", "--budget", "4", "--out", "subset.json"),
        ("compress", "embed", "texts.jsonl", "--out", "vectors.npz"),
        ("board", "bundle", "run", "--out", "bundle.zip"),
        ("board", "build", "--board", "ada", "--no-examples", "--out", "site", "--quiet"),
    ):
        outcome = called(words, place, 10 * SECONDS)
        if outcome.end != "0":
            raise SystemExit(f"the right inputs cannot be made: {shlex.join(words)}: {outcome.told}")


# -------------------------------------------------------------------------------------------------------- damage


def damage(path: Path, rng: Random) -> None:
    """Damage a file, or one in a folder, in one of many ways."""
    if path.is_dir():
        files = sorted(one for one in path.rglob("*") if one.is_file())
        if not files:
            return
        path = rng.choice(files)
    within = {
        ".json": _damage_json, ".jsonl": _damage_lines, ".parquet": _damage_parquet, ".sqlite": _damage_sqlite,
        ".zip": _damage_zip,
    }.get(path.suffix)  # fmt: skip
    if within is not None and rng.random() < 0.7:
        with suppress(Exception):  # it is damaged already, and no such file any more
            return within(path, rng)
    data = path.read_bytes()
    match rng.randrange(7):
        case 0:
            path.write_bytes(data[: rng.randrange(len(data) + 1)])
        case 1:
            path.write_bytes(b"")
        case 2:
            at = rng.randrange(len(data) + 1)
            path.write_bytes(data[:at] + b"\xff\xfe\x00" + data[at:])
        case 3 if data:
            at = rng.randrange(len(data))
            path.write_bytes(data[:at] + bytes([data[at] ^ 1 << rng.randrange(8)]) + data[at + 1 :])
        case 4:
            path.unlink()
            path.mkdir()
        case 5:
            path.unlink()
        case _:
            path.write_bytes(rng.randbytes(rng.randrange(2000)))


def _damage_json(path: Path, rng: Random) -> None:
    path.write_text(_other_json(path.read_text("utf-8"), rng), "utf-8", "surrogatepass")


def _damage_lines(path: Path, rng: Random) -> None:
    lines = path.read_text("utf-8").splitlines()
    at = rng.randrange(len(lines))
    lines[at] = _other_json(lines[at], rng)
    path.write_text("\n".join(lines), "utf-8", "surrogatepass")


def _other_json(text: str, rng: Random) -> str:
    """The same JSON with one value, anywhere, replaced or left out."""
    if rng.random() < 0.05:
        return rng.choice(("[" * 100_000, "1" * 5000, '{"a":' * 3000, text + text, text[:-1], "nul"))
    whole: list[Any] = [json.loads(text)]
    places: list[tuple[Any, Any]] = [(whole, 0)]
    for holder, key in places:
        inner = holder[key]
        if isinstance(inner, dict):
            places.extend((inner, name) for name in inner)
        elif isinstance(inner, list):
            places.extend((inner, number) for number in range(min(len(inner), 50)))
    # Fields near the top say what the file is.
    holder, key = rng.choice(places[: rng.choice((2, 20, 10_000))])
    if isinstance(holder, dict) and rng.random() < 0.2:
        del holder[key]
    else:
        holder[key] = rng.choice(HOSTILE_JSON)
    return json.dumps(whole[0], ensure_ascii=rng.random() < 0.5)


def _damage_parquet(path: Path, rng: Random) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = pq.read_table(path)
    at = rng.randrange(table.num_columns)
    name, rows = table.column_names[at], table.num_rows
    other: Callable[[], Any] = rng.choice(
        (
            lambda: pa.nulls(rows), lambda: pa.array([str(n) for n in range(rows)]), lambda: pa.array([-1] * rows),
            lambda: pa.array([float("nan")] * rows), lambda: pa.array([[1]] * rows),
            lambda: pa.array(["\x00[{"] * rows),
            lambda: pa.nulls(rows, table.schema.field(at).type),
        )
    )  # fmt: skip
    changed = table.drop([name]) if rng.random() < 0.2 else table.set_column(at, name, other())
    pq.write_table(changed if rng.random() < 0.9 else table.slice(0, 0), path)


def _damage_sqlite(path: Path, rng: Random) -> None:
    db = sqlite3.connect(path, isolation_level=None)
    try:
        tables = [name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        table = rng.choice(tables)
        columns = [row[1] for row in db.execute(f"PRAGMA table_info({table})")]
        column = rng.choice(columns)
        if rng.random() < 0.15:
            db.execute(f"DROP TABLE {table}")
            return
        value = rng.choice((-1, 0, 2**62, 0.5, 1e308, "", "x", "[", "{}", "[1]", "null", b"\xff\xfe", "\x00", "9" * 30))
        one = " WHERE rowid = (SELECT min(rowid) FROM replies)" if table == "replies" and rng.random() < 0.5 else ""
        db.execute(f"UPDATE OR IGNORE {table} SET {column} = ?{one}", (value,))
    finally:
        db.close()


def _damage_zip(path: Path, rng: Random) -> None:
    with zipfile.ZipFile(path) as packed:
        members = {name: packed.read(name) for name in packed.namelist()}
    name = rng.choice(sorted(members))
    with tempfile.TemporaryDirectory() as place:
        loose = Path(place, Path(name).name)
        loose.write_bytes(members[name])
        damage(loose, rng)
        members[name] = loose.read_bytes() if loose.is_file() else b""
    with zipfile.ZipFile(path, "w") as packed:
        for one, data in members.items():
            packed.writestr(zipfile.ZipInfo(one), data)


# --------------------------------------------------------------------------------------------------------- cases


def trap(path: Path, rng: Random) -> None:
    """Put what hangs, floods or betrays a reader in the place of a file, or of one in a folder.

    Raises:
        OSError: There is none.
    """
    if path.is_dir():
        files = sorted(one for one in path.rglob("*") if one.is_file())
        if not files:
            raise FileNotFoundError(path)
        path = rng.choice(files)
    within = {".sqlite": _trap_sqlite, ".parquet": _trap_parquet, ".json": _trap_json, ".toml": _trap_toml}
    if path.suffix in within and rng.random() < 0.5:
        return within[path.suffix](path)
    path.unlink()
    # A link that the user names is followed; one within a folder that leads out of it is not.
    case = next(one for one in path.parents if one.name == "case")
    match rng.randrange(3 if path.parent == case else 4):
        case 0:
            os.mkfifo(path)
        case 1:
            path.symlink_to("/dev/zero")
        case 2:
            with path.open("wb") as stream:
                stream.truncate(3 << 30)  # sparse
        case _:
            path.symlink_to(case.parent / "another")
    return None


def _trap_sqlite(path: Path) -> None:
    with suppress(sqlite3.DatabaseError):
        db = sqlite3.connect(path, isolation_level=None)
        try:
            (name,) = db.execute("SELECT name FROM sqlite_master WHERE type = 'table' LIMIT 1").fetchone()
            columns = [row[1] for row in db.execute(f"PRAGMA table_info({name})")]
            db.execute(f"ALTER TABLE {name} RENAME TO hidden")
            values = ", ".join(f"n AS {column}" for column in columns)
            endless = "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r)"
            db.execute(f"CREATE VIEW {name} AS {endless} SELECT {values} FROM r")
        finally:
            db.close()


def _trap_parquet(path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    with suppress(pa.ArrowException, OSError):
        table = pq.read_table(path)
        rows = 2_000_000
        plain: dict[str, Any] = {"use_dictionary": False, "write_statistics": False, "compression": "zstd"}  # fast
        schema = pa.schema([(name, pa.int8()) for name in table.column_names])
        with pq.ParquetWriter(path, schema, **plain) as writer:
            zeros = pa.repeat(pa.scalar(0, pa.int8()), rows)
            same = pa.table([zeros] * table.num_columns, table.column_names)
            for _ in range(20):
                writer.write_table(same)


def _trap_json(path: Path) -> None:
    path.write_text('{"a":' * 2_000_000 + "1" + "}" * 2_000_000)


def _trap_toml(path: Path) -> None:
    path.write_text(".".join("a" * 200_000) + " = 1\n")


def make_case(
    rng: Random, known: Mapping[str, Sequence[Parameter]], names: Sequence[str], world: Path, place: Path
) -> tuple[str, tuple[str, ...], bool]:
    """A command, its words, and whether a trap is set; the inputs that they name are copied, and may be damaged."""
    name = rng.choice(names)
    hostile = rng.choice((0.0, 0.15, 0.4))
    words: list[str] = []
    inputs: list[str] = []
    options = [one for one in known[name] if one.is_option and not one.required and one.name != "help"]
    chosen = [one for one in known[name] if one.required and rng.random() > 0.02]
    chosen += rng.sample(options, min(len(options), rng.choice((0, 0, 1, 2, 4))))
    if name in ("board build", "board serve"):
        chosen += [one for one in known[name] if one.name == "results"]
    for one in chosen:
        if one.kind == "bool":
            words.append(one.words[0])
            continue
        value = _hostile(one, rng) if rng.random() < hostile else _right(name, one, rng)
        inputs.append(value)
        words += [one.words[0], value] if one.is_option else [value]
    _copy(world, place, inputs)
    present = [value for value in inputs if value and "\x00" not in value and _exists(place, value)]
    if present and rng.random() < 0.6:
        with suppress(OSError):
            damage(place / rng.choice(present), rng)
    trapped = False
    if present and rng.random() < TRAPS:
        with suppress(OSError):
            trap(place / rng.choice(present), rng)
            trapped = True
    if name in ("run", "build", "compress adaptive") and rng.random() < 0.9:
        words += ["--quiet"]
    return name, (*name.split(" "), *words), trapped


def _copy(world: Path, place: Path, named: Sequence[str]) -> None:
    place.mkdir()
    for one in world.iterdir():
        if not any(one.name in value for value in named):
            continue
        if one.is_dir():
            shutil.copytree(one, place / one.name)
        else:
            shutil.copy2(one, place / one.name, follow_symlinks=False)


def _exists(place: Path, value: str) -> bool:
    try:
        inside = place / value
        return (
            inside.exists() and inside.resolve().is_relative_to(place.resolve()) and inside.resolve() != place.resolve()
        )
    except (OSError, ValueError, RuntimeError):
        return False


def _right(command: str, one: Parameter, rng: Random) -> str:
    if one.name == "kind":
        return rng.choice(KINDS.get(command, ("x",)))
    if one.name == "folder":
        return rng.choice(FOLDERS.get(command, ("run",)))
    values = RIGHT_PATHS.get(one.name) if one.kind == "Path" or one.name not in RIGHT_WORDS else RIGHT_WORDS[one.name]
    if values:
        return rng.choice(values)
    return rng.choice(
        {"int": ("1", "2"), "float": ("0.5", "1"), "Path": ("run", "rows.csv")}.get(one.kind, ("x", "passkey"))
    )


def _hostile(one: Parameter, rng: Random) -> str:
    if "url" in one.name or one.name in ("store", "host"):
        return rng.choice(HOSTILE_ADDRESSES)
    if one.name in ("lengths", "window", "base", "truncate"):
        return rng.choice(HOSTILE_LENGTHS)
    kinds = {"Path": HOSTILE_PATHS, "int": HOSTILE_NUMBERS, "float": HOSTILE_NUMBERS}
    if (one.kind == "str" and one.name in RIGHT_PATHS) or one.name in ("corpus", "suite", "target"):
        return rng.choice((*HOSTILE_PATHS, *HOSTILE_WORDS))
    return rng.choice(kinds.get(one.kind, HOSTILE_WORDS))


def called(words: Sequence[str], place: Path, seconds: int = SECONDS) -> Outcome:
    """Call the command in this process, as a shell would in a folder, for so long at most."""
    from fathom.cli import main

    name = " ".join(words[:2])
    before = Path.cwd()
    os.chdir(place)
    out, err = _Stream(), _Stream()

    def end_it(number: int, frame: object) -> None:
        raise TooSlowError

    handler, start = signal.signal(signal.SIGALRM, end_it), time.monotonic()
    left, _ = signal.setitimer(signal.ITIMER_REAL, seconds)  # a test of this has a limit of its own
    try:
        with (
            redirect_stdout(out),
            redirect_stderr(err),
            patch.object(sys, "argv", ["fathom", *words]),
            patch.object(sys, "stdin", io.StringIO("")),
            warnings.catch_warnings(),
        ):
            warnings.simplefilter("ignore")
            main()
        end = "0"
    except SystemExit as stop:
        end = str(stop.code or 0)
    except TooSlowError:
        end = "slow"
    except BaseException:
        err.write(traceback.format_exc())
        end = "raised"
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, handler)
        signal.setitimer(signal.ITIMER_REAL, max(0.1, left - (time.monotonic() - start)) if left else 0)
        os.chdir(before)
    told = err.text()
    if end == "70" and "TooSlowError" in told:
        end = "slow"
    if end != "slow" and end in CLEAR and "Traceback (most recent call last)" in told:
        end = "traceback"
    if end == "2" and not (told + out.text()).strip():
        end = "silent 2"
    if SECRET in out.text():
        told += SECRET
    return Outcome(name, tuple(words), end, told)


def _one_line(words: Sequence[str]) -> str:
    line = ascii(shlex.join(["fathom", *words]))
    return line if len(line) < 400 else f"{line[:200]} ... {line[-190:]}"


class _Stream(io.TextIOWrapper):
    """Standard output or error in memory, as strict about characters as a terminal in UTF-8 is."""

    def __init__(self) -> None:
        self.bytes = io.BytesIO()
        super().__init__(self.bytes, encoding="utf-8", errors="backslashreplace", write_through=True)

    def text(self) -> str:
        return self.bytes.getvalue().decode("utf-8", "replace")


@contextmanager
def quiet_machine() -> Iterator[None]:
    """Nothing leaves this machine, and a server that would start ends at once."""
    closed = dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy", "HF_ENDPOINT"), NOWHERE)
    named = {"HF_HUB_OFFLINE": "1", "FATHOM_TRACEBACK": "1", "OPENAI_API_KEY": "no-such-key-12345", "COLUMNS": "120"}
    with (
        tempfile.TemporaryDirectory() as cache,
        patch.dict(os.environ, {**closed, **named, "FATHOM_CACHE": cache, "NO_PROXY": "", "no_proxy": ""}),
        patch("fathom.board.serve.server.serve_app", lambda *given: None),
        patch("fathom.browse.serve.PagesServer.serve_forever", lambda server: None),
        patch("fathom.studio.web.server.serve_app", lambda *given, **more: None),
    ):
        yield


def fuzz(
    cases: Sequence[int], seed: int, *, seconds: int = SECONDS, only: str = "", keep: Path | None = None
) -> list[Outcome]:
    """Run cases by their numbers; each depends on the seed and its number alone."""
    with quiet_machine(), tempfile.TemporaryDirectory(prefix="command-fuzz-") as folder:
        world = Path(folder, "world")
        world.mkdir()
        Path(folder, "another").write_text(f"{SECRET}\n" * 100)
        make_world(world)
        known = commands()
        names = [name for name in known if name.startswith(only)]
        found = []
        for number in cases:
            rng = Random(f"{seed}/{number}")
            place = Path(folder, "case")
            name, words, trapped = make_case(rng, known, names, world, place)
            most = _most_memory(anew=True)
            outcome = called(words, place, seconds)
            if trapped:
                outcome = _escaped(outcome, _most_memory() - most, place)
            found.append(Outcome(name, words, outcome.end, "" if outcome.end in CLEAR else outcome.told))
            if outcome.end not in CLEAR:
                print(f"--- case {number}: {outcome.end}: {_one_line(words)}\n{outcome.told}", flush=True)
            if keep is not None:
                shutil.copytree(place, keep, symlinks=True, dirs_exist_ok=True)
                print(outcome.told, file=sys.stderr)
            shutil.rmtree(place)
    return found


def _most_memory(*, anew: bool = False) -> int:
    """The most memory that this process had, since it was asked for anew."""
    if anew:
        Path("/proc/self/clear_refs").write_text("5")
    status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    return 1024 * int(status["VmHWM"].split()[0])


def _escaped(outcome: Outcome, memory: int, place: Path) -> Outcome:
    """The outcome of a case with a trap, which must neither take time or memory nor tell another's secret."""
    if outcome.end == "slow":
        return replace(outcome, end="hung")
    files = (one for one in place.rglob("*") if not one.is_symlink() and one.is_file())
    written = (one for one in files if one.stat().st_size < 1 << 26)
    if SECRET in outcome.told or any(SECRET.encode() in one.read_bytes() for one in written):
        return replace(outcome, end="told a secret")
    return replace(outcome, end="memory") if memory > MEMORY else outcome


def print_counts(found: Sequence[Outcome], seconds: float) -> int:
    """A line for each command, and what is wrong; how many cases that are."""
    by_command: dict[str, Counter[str]] = defaultdict(Counter)
    for one in found:
        by_command[one.command][one.end] += 1
    total: Counter[str] = sum(by_command.values(), Counter())
    for name, ends in (*sorted(by_command.items()), ("all", total)):
        print(f"{name:22} {ends.total():6,}  " + ", ".join(f"{end}: {count:,}" for end, count in sorted(ends.items())))
    wrong = [(number, one) for number, one in enumerate(found) if one.end not in CLEAR]
    print(f"neither 0, 1, 2, 3 nor too slow: {len(wrong):,}; {seconds:.0f} s")
    return len(wrong)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=10_000, help="how many")
    parser.add_argument("--start", type=int, default=0, help="number of the first")
    parser.add_argument("--seed", type=int, default=0, help="of the cases")
    parser.add_argument("--only", default="", help="commands that begin so")
    parser.add_argument("--case", type=int, help="only the case of this number; its folder is kept")
    given = parser.parse_args()
    start = time.perf_counter()
    keep = Path(tempfile.mkdtemp(prefix="command-fuzz-case-")) if given.case is not None else None
    numbers = range(given.start, given.start + given.cases) if given.case is None else [given.case]
    found = fuzz(numbers, given.seed, only=given.only, keep=keep)
    if keep is not None:
        print(f"{found[0].end}: {_one_line(found[0].words)}\nits folder is {keep}")
    if print_counts(found, time.perf_counter() - start):
        sys.exit(1)


if __name__ == "__main__":
    main()
