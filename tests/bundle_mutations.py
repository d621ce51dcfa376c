"""Damaged and hostile bundles made of a right one: none of them may be taken.

Each kind of damage is a function of a random generator and of the bytes of a right bundle with logs. What cannot be
told from an honest bundle is not among them: whoever invents replies, their cost or their time, whole and consistently,
is not found out by looking at the file.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from random import Random
from typing import Any, TypeAlias

from bundle_damages import (
    bomb,
    cut,
    flipped,
    grown,
    many_entries,
    noise,
    overlapping,
    packed_otherwise,
    strange_entry,
    torn,
)  # fmt: skip
from fathom.board.bundles.bundle import (
    DIGESTS,
    HEAD,
    JUDGEMENTS,
    REPLIES,
    ROWS,
    Bundle,
    ReplyLog,
    archive,
    hashed,
    zipped,
)
from fathom.board.bundles.opening import parse_bundle
from fathom.types import STATUSES
from made_bundles import Content, consistent, files_of, taken_apart

Damage: TypeAlias = Callable[[Random, bytes], bytes]

HOSTILE_NAMES = (
    "<script>alert(1)</script>", 'x" onload="alert(1)', "javascript:alert(1)", "a&#60;b", "model\u202egnp.exe",
    "mod\u0000el", "mod\u200bel", "line\nbreak", "gpt-4\u043e", "\u0440\u0430\u0443", "\uff47\uff50\uff54", "m" * 121,
    "", " lab/model", "model\u0007", "g\u0261pt", "e\u0301\u0301\u0301", "\u2066x\u2069", "{{7*7}}", "a`b`", "tab\tbed",
)  # fmt: skip
RAW_NUMBERS = ("1e999", "-1e999", "NaN", "Infinity", "-Infinity", "9" * 5_000, "-" + "9" * 4_400, "1e5", "-0.0",
               "0." + "3" * 10_000, "1E400", "0x10", "01", "-1", "1.0000001", "9" * 20, "true")  # fmt: skip
WRONG: tuple[Any, ...] = (
    None,
    True,
    3,
    -1,
    0.5,
    -0.5,
    1e300,
    "text",
    "",
    [],
    {},
    [1],
    {"a": {"b": 1}},
    10**15,
    "\ud800",
)

# ------------------------------------------------------------------------------------------------- the lines


def _line(rng: Random, content: Content) -> tuple[str, dict[str, Any]]:
    name = rng.choice([HEAD, *content.lines])
    return name, content.head if name == HEAD else rng.choice(content.lines[name])


def wrong_type(rng: Random, data: bytes) -> bytes:
    """A field holds something of another kind."""
    content = taken_apart(data)
    _, record = _line(rng, content)
    field = rng.choice(
        sorted(set(record) - {"settings", "versions", "facets", "inputs", "detail", "text", "asked", "answer"})
    )
    value = rng.choice([one for one in WRONG if type(one) is not type(record[field])])
    # A score may be nothing, and so may tokens and cost; whether it was nothing, the scores show.
    if value is None and field in ("tokens_in", "tokens_out", "tokens_reasoning", "cost", "seconds"):
        value = "none"
    if (field, type(value)) in (("cost", float), ("seconds", float)) or record[field] is None:
        value = [value]
    record[field] = value
    return content.packed(rehash=field != "files")


def other_fields(rng: Random, data: bytes) -> bytes:
    """A field is missing, or there is one more."""
    content = taken_apart(data)
    _, record = _line(rng, content)
    if rng.random() < 0.5:
        record.pop(rng.choice(sorted(set(record) - {"files"})))
    else:
        record[rng.choice(["note", "__class__", "", "Value", "value ", "\u202e"])] = rng.choice(WRONG[:12])
    return content.packed()


def strange_number(rng: Random, data: bytes) -> bytes:
    """A number that is none, or too large to be one."""
    content = taken_apart(data)
    _, record = _line(rng, content)
    fields = [field for field, value in record.items() if isinstance(value, int | float)]
    record[rng.choice(sorted(fields or ["sample" if "sample" in record else "key"]))] = "RAW"
    return content.packed(raw=rng.choice(RAW_NUMBERS))


def nested(rng: Random, data: bytes) -> bytes:
    """Brackets without end."""
    content, depth = taken_apart(data), rng.choice([50, 900, 5_000, 100_000])
    name, record = _line(rng, content)
    record["settings" if name == HEAD else rng.choice(sorted(record))] = "RAW"
    left, right = rng.choice([("[", "]"), ('{"a":', "}")])
    return content.packed(raw=left * depth + "1" + right * rng.choice([0, depth]))


def other_spelling(rng: Random, data: bytes) -> bytes:
    """The same values, written otherwise; or what no text can hold."""
    files, name = files_of(data), rng.choice([HEAD, ROWS, DIGESTS, JUDGEMENTS, REPLIES])
    text = files[name]
    files[name] = rng.choice(
        [
            b"\xef\xbb\xbf" + text, text.replace(b"\n", b"\r\n"), text.replace(b":", b": "), text + b"\n", text[:-1],
            text.replace(b'"', b'"\xff', 1), text.replace(b"{", b'{"part":0,', 1), text.replace(b"l", b"\\u006c"),
            b"\n" + text, text.replace(b'":"', b'":"\\ud83d', 1), text.decode().encode("utf-16"), b"",
            b"[]\n", b"null\n",
        ]
    )  # fmt: skip
    if name != HEAD:
        content = taken_apart(data)
        content.head["files"][name] = {"bytes": len(files[name]), "sha256": hashed(files[name])}
        files[HEAD] = files_of(content.packed(rehash=False))[HEAD]
    return zipped(files)


def flipped_within(rng: Random, data: bytes) -> bytes:
    """A bit of a line is another one, and all hashes are right."""
    files, name = files_of(data), rng.choice([ROWS, DIGESTS, JUDGEMENTS, REPLIES])
    files[name] = flipped(rng, files[name])
    content = taken_apart(data)
    content.head["files"][name] = {"bytes": len(files[name]), "sha256": hashed(files[name])}
    return zipped(files | {HEAD: files_of(content.packed(rehash=False))[HEAD]})


def hostile_name(rng: Random, data: bytes) -> bytes:
    """A name with a script, with invisible letters, or that looks like another one; the same everywhere."""
    content, name = taken_apart(data), rng.choice(HOSTILE_NAMES)
    where = rng.choice(["model", "variant", "suite", "sample", "task", "judge"])
    if where == "variant" and not name:
        name = "<b>"
    if where == "sample" and name != HOSTILE_NAMES[11]:  # samples are not named by whoever sends a bundle
        where = "model"
    if where in ("model", "variant"):
        content.head[where] = name
    if where == "suite":
        content.head["parts"][0]["suite"] = name
    if where == "judge":
        content.head["judges"] = [name]
    for record in (one for lines in content.lines.values() for one in lines if where in one):
        record[where] = name
    return content.packed()


def strange_head(rng: Random, data: bytes) -> bytes:
    """Facts of the run that its rows do not have, days that are not, suites that nobody knows."""
    content = taken_apart(data)
    head, part = content.head, content.head["parts"][0]
    head_of, part_of = [
        ("created", "2999-01-01"), ("created", "2026-02-30"), ("created", "1999-01-01"), ("created", "20260101"),
        ("format", 1), ("format", 3),
        ("rules", ["strict"]), ("judges", []), ("judges", ["a", "b"]), ("parts", []), ("model", "lab/x"),
        ("parts", [part, part]), ("variant", "thinking"), ("fathom", "suite"), ("judges", ["lab/judge-1", "embed/x"]),
    ], [
        ("suite", "unknown"), ("fingerprint", "0" * 16), ("replies", 10**6), ("samples", 1), ("statuses", {"ok": 16}),
        ("tasks", ["passkey"]), ("lengths", [256]), ("sample_set", "0" * 64), ("tokenizer", "o200k"), ("subset", 3),
    ]  # fmt: skip
    if rng.random() < 0.5:
        head.update([rng.choice(head_of)])
    else:
        part.update([rng.choice(part_of)])
    return content.packed()


def wrong_hash(rng: Random, data: bytes) -> bytes:
    """A hash or a size is another one, or a file was changed after it was hashed."""
    content = taken_apart(data)
    name = rng.choice(sorted(content.lines))
    if rng.random() < 0.5:
        stated = content.head["files"][name]
        stated[rng.choice(["bytes", "sha256"])] = rng.choice([0, "0" * 64, len(data), "a" * 64])
    else:
        record = rng.choice(content.lines[name])
        record["part"] = 1
    return content.packed(rehash=False)


# ------------------------------------------------------------------------------------------------- the content


def more_or_fewer(rng: Random, data: bytes) -> bytes:
    """Replies are there twice, are missing, or have changed places; with and without the right counts."""
    content = taken_apart(data)
    name = rng.choice(sorted(content.lines))
    lines, at = content.lines[name], rng.randrange(len(content.lines[name]))
    kind = rng.choice(["twice", "gone", "swapped"])
    if kind == "twice":
        lines.insert(at, lines[at])
    elif kind == "gone":
        lines.pop(at)
    else:
        other = rng.choice([one for one in range(len(lines)) if one != at])
        lines[at], lines[other] = lines[other], lines[at]
    return content.packed()


def forged_row(rng: Random, data: bytes) -> bytes:
    """What was scored is another score, in one row or by every rule; the hashes are right or not."""
    content = taken_apart(data)
    rows = content.lines[ROWS]
    row = rng.choice(rows)
    value = row["value"]
    others = [one for one in (0.0, 1.0, 0.5, rng.random(), 1.5, -0.1, None) if one != value]
    change: dict[str, Any] = rng.choice(
        [
            {"value": rng.choice(others)}, {"valid": not row["valid"]}, {"answer": "forged"}, {"metric": "forged"},
            {"grader": "forged"}, {"target": "forged"}, {"task_version": row["task_version"] + 1}, {"chance": 0.25},
            {"detail": "forged"}, {"prompt_hash": "0" * 16}, {"length": 1024}, {"language": "fr"}, {"tokens": 1},
            {"facets": {"depth": 0.1}}, {"cost": -1.0}, {"cost": 1e9}, {"tokens_in": -5}, {"seconds": -1.0},
            {"item": "other"}, {"status": "refused"}, {"source": "elsewhere"}, {"rule": "kind"}, {"epoch": 2},
            {"epoch": 0}, {"length": 0}, {"seconds": 1e12}, {"tokens_out": 10**12}, {"truncated": -5}, {"facets": {}},
        ]
    )  # fmt: skip
    same = [one for one in rows if one["sample"] == row["sample"]] if rng.random() < 0.5 else [row]
    if set(change) & {"cost", "tokens_in", "seconds", "tokens_out"} == set() or rng.random() < 0.5:
        for one in same:
            one.update(change)
    else:
        row.update(change)
    return content.packed(rehash=rng.random() < 0.8)


def forged_reply(rng: Random, data: bytes) -> bytes:
    """A reply, its question or its gold answers are others; the digest is right or not, the scores are as they were."""
    content = taken_apart(data)
    wrong = [row["sample"] for row in content.lines[ROWS] if row["value"] == 0.0 and row["rule"] == "strict"]
    name = rng.choice(wrong)
    reply = next(one for one in content.lines[REPLIES] if one["sample"] == name)
    digest = next(one for one in content.lines[DIGESTS] if one["sample"] == name)
    kind = rng.choice(["text", "targets", "asked"])
    if kind == "text":
        reply["text"] = rng.choice([reply["targets"][0], f"It is {reply['targets'][0]}."])
        if rng.random() < 0.7:
            digest["reply_hash"] = hashed(reply["text"])
    elif kind == "targets":
        reply["targets"] = rng.choice([["forged"], [*reply["targets"], "forged"], [], [reply["text"]]])
    else:
        reply["asked"] = "forged"
    return content.packed()


def relabelled(rng: Random, data: bytes) -> bytes:
    """Wrong replies are called refused, failed or cut off, in all files alike; their text is still there."""
    content = taken_apart(data)
    wrong = sorted({row["sample"] for row in content.lines[ROWS] if row["value"] == 0.0 and row["status"] == "ok"})
    called = set(rng.sample(wrong, rng.randint(1, len(wrong))))
    status, value = rng.choice([one for one in STATUSES if one != "ok"]), rng.choice([None, 0.0])
    for record in (one for name in (ROWS, DIGESTS) for one in content.lines[name] if one["sample"] in called):
        record["status"] = status
        if "value" in record:
            record |= {"value": value, "valid": False, "answer": None, "detail": "", "grader": "", "answered": False}
    ended = Counter(digest["status"] for digest in content.lines[DIGESTS])
    content.head["parts"][0]["statuses"] = dict(sorted(ended.items()))
    return content.packed()


def forged_judgement(rng: Random, data: bytes) -> bytes:
    """A judgement is another one, of another judge or of nothing."""
    content = taken_apart(data)
    lines = content.lines[JUDGEMENTS]
    found = rng.choice(lines)
    parts = [
        one
        for one in ({"fluency": 1.0}, {}, {"correctness": 9.0, "fluency": 1.0}, {"correctness": 1.5, "fluency": 1.0})
        if one != found["parts"]
    ]
    found.update(
        rng.choice(
            [
                {"parts": rng.choice(parts)}, {"status": "unreadable"}, {"judge": "lab/judge-2"}, {"key": "0" * 32},
                {"parts": {"correctness": "2"}}, {"status": "error"}, {"part": 3}, {"key": "f" * 32},
            ]
        )
    )  # fmt: skip
    if rng.random() < 0.2:
        content = taken_apart(data)
        content.lines[JUDGEMENTS].insert(0, lines[0] | {"key": "0" * 32, "part": 0, "judge": "lab/judge-1"})
    return content.packed()


def _changed(bundle: Bundle, at: int, said: Mapping[str, Any], row: Mapping[str, Any]) -> Bundle:
    """Another log and other facts of one reply."""
    results = list(bundle.results)
    one = results[at]
    log = replace(one.log or ReplyLog((), "", ""), **said)
    rows = tuple(replace(given, **row) for given in one.rows)
    results[at] = replace(one, log=log, rows=rows, reply_hash=hashed(log.text))
    return replace(bundle, results=tuple(results))


def careful(rng: Random, data: bytes) -> bytes:
    """Another question, gold answer or prompt, with all scores, counts and hashes computed anew by our own code."""
    bundle = parse_bundle(data)
    at = rng.choice([at for at, one in enumerate(bundle.results) if one.rows[0].status == "ok"])
    one = bundle.results[at]
    row, said = one.rows[0], one.log or ReplyLog((), "", "")
    kinds = ["targets", "asked", "inputs", "facts", "prompt", "dropped", "error", "suite", "sample", "unsent"]
    kind = rng.choice(kinds)
    if kind == "targets":
        bundle = _changed(
            bundle, at, {"targets": rng.choice([(said.text,), ("nobody",), (*said.targets, "nobody")])}, {}
        )
    elif kind == "asked":
        bundle = _changed(bundle, at, {"asked": said.asked + "?"}, {})
    elif kind == "inputs":
        others = [{"digits": 4}, {"digits": 5.5}, {"depth": 0.5}, {"digits": 5, "depth": 0.5}]
        bundle = _changed(bundle, at, {"inputs": rng.choice(others)}, {})
    elif kind == "facts":
        facts: list[dict[str, Any]] = [
            {"tokens": 5},
            {"chance": 0.9},
            {"item": "x"},
            {"facets": {}},
            {"language": "fr"},
            {"tokens": 10**6},
        ]
        bundle = _changed(bundle, at, {}, rng.choice(facts))
    elif kind in ("prompt", "unsent"):
        bundle = _changed(bundle, at, {}, {"prompt_hash": "" if kind == "unsent" else f"{rng.getrandbits(64):016x}"})
    elif kind == "dropped":
        bundle = replace(bundle, results=bundle.results[:at] + bundle.results[at + 1 :])
    elif kind == "error":
        bundle = _changed(bundle, at, {"text": ""}, {"status": "error", "prompt_hash": row.prompt_hash})
    elif kind == "suite":
        parts = tuple(replace(part, fingerprint=f"{rng.getrandbits(64):016x}") for part in bundle.parts)
        bundle = replace(bundle, parts=parts)
    else:
        bundle = _changed(bundle, at, {}, {"sample": row.sample + "x"})
    return archive(consistent(bundle))


DAMAGES: tuple[Damage, ...] = (
    flipped, cut, grown, torn, noise, packed_otherwise, strange_entry, bomb, many_entries, overlapping, wrong_type,
    other_fields, strange_number, nested, other_spelling, flipped_within, hostile_name, strange_head, wrong_hash,
    more_or_fewer, forged_row, forged_reply, relabelled, forged_judgement, careful,
)  # fmt: skip


def hostile_bundles(seed: int, count: int, data: bytes) -> Iterator[tuple[str, bytes]]:
    """Names of damages in turn, and the bytes that they make of a right bundle; none is the right one."""
    rng = Random(seed)
    for number in range(count):
        damage = DAMAGES[number % len(DAMAGES)]
        made = damage(rng, data)
        while made == data:
            made = damage(rng, data)
        yield damage.__name__, made
