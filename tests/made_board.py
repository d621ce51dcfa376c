"""A site of made results, for tests and benchmarks of its page.

    python tests/made_board.py OUT [--models 300] [--tasks 100]

Data files follow the contract of the site; nothing here knows how the real ones are computed.
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from fathom.web import assets

Z = 1.959963984540054
HOSTILE = (
    "<script>alert('model')</script><img src=x onerror=alert(1)>",
    "\u202egnp.live\u202c right-to-left \u0000\u001b[31m",
    "an-endless-name-" + "without-any-place-to-break-" * 9,
)
FAMILIES = ("orca", "heron", "lynx", "ibex", "wren", "otter", "marlin", "finch", "tapir", "civet")
KINDS = ("Retrieval", "Questions", "Multiple choice", "In-context learning", "Summaries", "Reasoning")
LENGTHS = (2000, 4000, 8000, 16000, 32000, 64000, 128000)
ITEMS = 40
SETTINGS = {"temperature": 0, "suites": {"leader": "ab12"}, "tasks": {"one": {"rule": "strict"}}}


def make_site(
    folder: Path,
    *,
    models: int = 14,
    tasks: int = 12,
    seed: int = 0,
    items: bool = True,
    hostile: bool = True,
    pairs: bool = True,
) -> Path:
    """Writes a whole site.

    Args:
        folder: Where to; made if it is not there.
        models: Lines of the first board.
        tasks: Tasks of the first board.
        seed: Seed of all scores.
        items: Whether lines were asked the same questions (of the first board, published lines apart).
        hostile: Whether three names are as unpleasant as names can be.
        pairs: Whether the first board has differences, which take long to make for many lines.

    Returns:
        Its ``index.html``.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in assets("fathom.board", "site"):
        (folder / name).write_bytes(content)
    rng = np.random.default_rng(seed)
    boards = [
        _board("leader-128k", "LongLeader 128K", rng, models, tasks, LENGTHS, hostile),
        _board("ada", "Ada-LEval", rng, min(models, 9), 2, LENGTHS[:4], False),
        _board("mini", "MiniLongBench", rng, min(models, 7), 3, (), False),
    ]
    for board in boards:
        first = board["id"] == "leader-128k"
        _write_board(folder, board, items and first, pairs or not first)
    _write(folder, "site", _site(boards))
    _write(folder, "index", _index(boards))
    _write(folder, "tasks", _tasks(boards, hostile))
    _write_models(folder, boards)
    downloads = folder / "downloads"
    downloads.mkdir(exist_ok=True)
    for name in ("all", *(board["id"] for board in boards)):
        for ending in ("csv", "parquet", "json"):
            (downloads / f"{name}.{ending}").write_bytes(b"made\n")
    (downloads / "index.html").write_bytes(b"<!doctype html><title>made</title><h1>made</h1>\n")
    return folder / "index.html"


def _write(folder: Path, name: str, value: Any) -> None:
    path = folder / "data" / f"{name}.js"
    path.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps(value, ensure_ascii=True, separators=(",", ":"))
    path.write_text(f"fathom.add({json.dumps(name)}, {text});\n", encoding="ascii")


def _estimate(value: float, error: float | None, n: int | None, bound: int = 0) -> list[Any]:
    ends = None if error is None else [round(max(value - Z * error, 0.0), 5), round(min(value + Z * error, 1.0), 5)]
    return [round(value, 5), ends, n, bound]


def _board(
    board_id: str, title: str, rng: np.random.Generator, models: int, tasks: int, lengths: Sequence[int], hostile: bool
) -> dict[str, Any]:
    """The file of a board, and beside it (``scores``: by key, task) what the other files are made of."""
    names = [f"{board_id.split('-')[0]}_task_{n}" for n in range(tasks)]
    kinds = KINDS[: min(len(KINDS), tasks)]
    own = {kind: names[n :: len(kinds)] for n, kind in enumerate(kinds)}
    categories = [
        {"id": kind.lower().replace(" ", "-"), "title": kind, "tasks": mine, "parts": _parts(mine)}
        for kind, mine in own.items()
    ]
    lines = [_line(n, rng, names, hostile) for n in range(models)]
    entries = [_entry(line, categories, names, lengths, rng) for line in lines]
    entries.sort(key=lambda entry: (not entry["complete"], -entry["overall"][0]))
    _rank(entries)
    return {
        "id": board_id,
        "title": title,
        "about": f"Made scores of {models} lines on {tasks} tasks; nothing here was measured.",
        "rule": "mean of the categories, each the mean of its tasks",
        "missingIsZero": board_id == "leader-128k",
        "licence": "CC BY 4.0",
        "citation": "Made et al. (2026), Scores of Nothing",
        "url": "https://example.org/paper",
        "extras": [{"id": "longscore", "title": "LongScore", "about": "relative change with length", "percent": True}]
        if lengths
        else [],
        "categories": categories,
        "tasks": [{"id": name, "title": name.replace("_", " ").capitalize()} for name in names],
        "lengths": list(lengths),
        "lengthTasks": [],
        "near": None,
        "origins": [
            {"provenance": "published", "title": "Scores of Nothing", "table": "Table 2", "date": "2025-01",
             "url": "https://example.org/paper", "note": ""},
            {"provenance": "measured", "title": "measured with fathom", "table": "", "date": "2026-02-03",
             "url": "javascript:alert(1)", "note": "made"},
            {"provenance": "submitted", "title": "a bundle", "table": "", "date": "2026-03-01", "url": "", "note": ""},
        ],
        "entries": entries,
        "scores": {line["key"]: line["scores"] for line in lines},
    }  # fmt: skip


def _parts(tasks: Sequence[str]) -> list[dict[str, Any]]:
    """Two parts where there are three tasks or more: weights of tasks then differ within a category."""
    return [
        {"title": "", "tasks": list(part)} for part in (tasks[:1], tasks[1:] if len(tasks) > 2 else ()) if part
    ] or [{"title": "", "tasks": list(tasks)}]


def _line(n: int, rng: np.random.Generator, tasks: Sequence[str], hostile: bool) -> dict[str, Any]:
    # The eighth line is another variant of the seventh's model.
    model = 6 if n == 7 else n
    family = FAMILIES[model % len(FAMILIES)]
    name = f"{family}/{family}-{3 + model // len(FAMILIES)}-{(8, 32, 70)[model % 3]}b"
    ability = float(rng.normal(0.4, 1.0))
    scores = {task: 1 / (1 + math.exp(-ability + rng.normal(0, 0.5))) for task in tasks}
    if n % 7 == 3:
        scores = {task: scores[task] for task in tasks[:-1] if task == tasks[0] or rng.random() > 0.25}
    return {
        "key": f"line-{n}",
        "model": HOSTILE[n // 2] if hostile and n in (0, 2, 4) else name,
        "modelKey": f"model-{model}",
        "variant": ("", "thinking", "")[n % 3],
        "origin": (0, 1, 2, 1)[n % 4],
        "scores": scores,
    }


def _entry(
    line: dict[str, Any],
    categories: Sequence[dict[str, Any]],
    tasks: Sequence[str],
    lengths: Sequence[int],
    rng: np.random.Generator,
) -> dict[str, Any]:
    scores, n = line["scores"], int(line["key"].split("-")[1])
    published = line["origin"] == 0
    error = None if n % 11 == 8 else 0.02 if published else 0.012
    means = [_mean([scores[task] for task in one["tasks"] if task in scores]) for one in categories]
    overall = _mean([one for one in means if one is not None])
    assert overall is not None
    missing = [task for task in tasks if task not in scores]
    zeros = [_mean([scores.get(task, 0.0) for task in one["tasks"]]) or 0.0 for one in categories]
    usage = {"cost": float(rng.lognormal(-4 + 2 * overall, 1)), "tokensIn": 42000.5, "tokensOut": 210.2, "seconds": 7.5}
    fall = rng.uniform(0, 0.4)
    # The tenth line has replies that were not answered, so that there are two means of it.
    ends: list[Any] = [f"{100 * overall + 3:.1f}% without the 36 not answered", [480, 36, 4, 0, 0]] if n == 9 else []
    return {
        **{name: line[name] for name in ("key", "model", "variant", "modelKey", "origin")},
        "rank": None,
        "group": None,
        "overall": _estimate(overall, error, None if error is None else ITEMS * len(scores), int(published)) + ends,
        "asPaper": round(sum(zeros) / len(zeros), 5),
        "asPaperCategories": [round(zero, 5) for zero in zeros],
        "complete": not missing,
        "missing": missing,
        "categories": [
            None if mean is None else _estimate(mean, error and 2 * error, ITEMS, int(published)) for mean in means
        ],
        "lengths": [
            None if published else _estimate(max(0.0, overall * (1.15 - fall * math.log2(length / 1000) / 4)), 0.03, 40)
            for length in lengths
        ],
        "extras": [_estimate(-fall, None, None)] if lengths else [],
        "usage": None if published else usage,
        **_facts(n),
    }


def _facts(n: int) -> dict[str, Any]:
    """What is stated of a model; nothing of every fourth, and the size of every third only."""
    facts: dict[str, Any] = {"weights": ("open", "closed")[n % 2]} if n % 4 else {}
    return facts | ({"parameters": (8, 32, 70)[n % 9 // 3] * 10**9} if n % 3 == 0 else {})


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None


def _gap(first: list[Any], second: list[Any], shared: int) -> list[Any]:
    """``[difference, low, high, p, common questions]``; errors are those of independent scores."""
    gap = first[0] - second[0]
    half = math.hypot(*((high - low) / 2 for low, high in (first[1], second[1])))
    p = math.erfc(Z * abs(gap) / half / math.sqrt(2))
    return [*(round(one, 5) for one in (gap, gap - half, gap + half, p)), shared]


def _units(gap: list[Any]) -> list[int]:
    """All but the number of questions in units of 0.00001."""
    return [*(round(100_000 * one) for one in gap[:4]), gap[4]]


def _both(asked: dict[str, bool], one: dict[str, Any], other: dict[str, Any], tasks: Sequence[str]) -> int:
    return ITEMS * len(tasks) if asked[one["key"]] and asked[other["key"]] else 0


def _sign(first: dict[str, Any], second: dict[str, Any]) -> str:
    _, low, high, *_ = _gap(first["overall"], second["overall"], 0)
    return "0" if low <= 0 <= high else "+" if low > 0 else "-"


def _rank(entries: Sequence[dict[str, Any]]) -> None:
    """Ranges of ranks, and groups: whoever is not surely below the first of a group belongs to it."""
    ranked = [entry for entry in entries if entry["complete"] and entry["overall"][1] is not None]
    group, head = -1, None
    for entry in ranked:
        signs = [_sign(entry, other) for other in ranked]
        entry["rank"] = [1 + signs.count("-"), len(ranked) - signs.count("+")]
        if head is None or _sign(head, entry) == "+":
            group, head = group + 1, entry
        entry["group"] = group


def _write_board(folder: Path, board: dict[str, Any], items: bool, pairs: bool) -> None:
    scores = board.pop("scores")
    tasks = [task["id"] for task in board["tasks"]]
    cells = {
        key: [_estimate(own[task], 0.03, ITEMS) if task in own else None for task in tasks]
        for key, own in scores.items()
    }
    at_lengths = {key: [_falling(own.get(task), board["lengths"]) for task in tasks] for key, own in scores.items()}
    _write(folder, f"cells/{board['id']}", {"tasks": tasks, "overTasks": cells, "byLength": at_lengths})
    known = [entry for entry in board["entries"] if entry["overall"][1]]
    asked = {entry["key"]: items and entry["origin"] != 0 for entry in board["entries"]}
    ranked = [entry for entry in known if entry["rank"]]
    for entry in board["entries"] if not pairs else ():
        entry["pairs"] = False
    for place, entry in enumerate(board["entries"] if pairs else ()):
        own = cells[entry["key"]]
        rows = {
            other["key"]: [
                _units(_gap(one, two, ITEMS if asked[entry["key"]] and asked[other["key"]] else 0))
                if one and two
                else 0
                for one, two in zip(own, cells[other["key"]], strict=True)
            ]
            for other in board["entries"][place + 1 : len(asked) if items else 0]
        }
        parts = {
            other["key"]: [
                np.delete(_units(_gap(one, two, _both(asked, entry, other, tasks))), 3).tolist()
                if one and two and one[1] and two[1]
                else 0
                for one, two in zip(
                    entry["categories"] + entry["lengths"], other["categories"] + other["lengths"], strict=True
                )
            ]
            for other in board["entries"][place + 1 :]
        }
        overall = [
            [0] * 5
            if other is entry
            else _units(_gap(entry["overall"], other["overall"], _both(asked, entry, other, tasks)))
            for other in (known if entry in known else ())
        ]
        entry["pairs"] = bool(overall or rows)
        if entry["pairs"]:
            sure = "".join(_sign(entry, other) for other in ranked) if entry["rank"] else ""
            columns = [list(column) for column in zip(*overall, strict=True)]
            pairs_of = {"sure": sure, "overall": columns, "tasks": rows, "parts": parts}
            _write(folder, f"pairs/{board['id']}/{entry['key']}", pairs_of)
    _write(folder, f"boards/{board['id']}", board)


def _falling(score: float | None, lengths: Sequence[int]) -> list[Any]:
    """Scores of one task by length."""
    if score is None or score > 0.6:
        return []
    return [[length, _estimate(score * 0.9**place, 0.05, ITEMS)] for place, length in enumerate(lengths[:3])]


def _site(boards: Sequence[dict[str, Any]]) -> dict[str, Any]:
    return {
        "format": 1,
        "title": "Long-context leaderboard",
        "built": "2026-03-04",
        "fathom": "0.1.0",
        "default": boards[0]["id"],
        "boards": [
            {
                **{name: board[name] for name in ("id", "title", "about")},
                "lines": len(board["entries"]),
                "models": len({entry["modelKey"] for entry in board["entries"]}),
                "ranked": sum(entry["rank"] is not None for entry in board["entries"]),
                "tasks": len(board["tasks"]),
                "measured": sum(entry["origin"] == 1 for entry in board["entries"]),
                "submitted": sum(entry["origin"] == 2 for entry in board["entries"]),
            }
            for board in boards
        ],
        "changes": {"old": "2026-02-01", "new": "2026-03-04", "lines": ["new on LongLeader 128K: orca/orca-3-8b"]},
    }


def _index(boards: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """All models over all boards, with the first entry of each on each."""
    found: dict[str, dict[str, Any]] = {}
    for place, board in enumerate(boards):
        for entry in board["entries"]:
            facts = {name: entry[name] for name in ("weights", "parameters") if name in entry}
            empty = {"key": entry["modelKey"], "model": entry["model"], "date": "2026-03-01", "boards": [None] * 3}
            model = found.setdefault(entry["modelKey"], empty | facts)
            own = model["boards"][place] or [entry["key"], entry["overall"], entry["rank"], 0]
            model["boards"][place] = [*own[:3], own[3] + 1]
    return {"models": [found[key] for key in sorted(found)]}


def _tasks(boards: Sequence[dict[str, Any]], hostile: bool) -> dict[str, Any]:
    start = "Read the text <b>below</b> and answer.\n\n" + ("A sentence of the text. " * 12)
    return {
        task["id"]: {
            "title": task["title"] + (" <i>&amp;" if hostile else ""),
            "boards": [board["id"]],
            "description": "A made task: the answer stands in the text.",
            "metric": "exact match",
            "source": "made here",
            "licence": "CC BY 4.0",
            "citation": "Made et al. (2026)",
            "languages": ["English"],
            "chance": 0.25 if place % 2 else None,
            "closedBook": 0.31 if place % 3 == 0 else None,
            "maxOutputTokens": 64,
            "version": "1",
            "rules": {"official": "contains the answer", "strict": "equals the answer"},
            "example": {"start": start, "end": "Question: <script>alert(1)</script>", "tokens": 8000, "target": "42"},
        }
        for board in boards
        for place, task in enumerate(board["tasks"])
    }


def _write_models(folder: Path, boards: Sequence[dict[str, Any]]) -> None:
    found: dict[str, dict[str, Any]] = {}
    for board in boards:
        for entry in board["entries"]:
            model = found.setdefault(entry["modelKey"], {"model": entry["model"], "entries": []})
            measured = entry["origin"] == 1
            model["entries"].append(
                {
                    **{"board": board["id"], "key": entry["key"], "variant": entry["variant"]},
                    "origin": board["origins"][entry["origin"]],
                    "settings": SETTINGS if measured else {},
                    "usage": entry["usage"],
                    "outcomes": {"answered": 470, "overflow": 10} if measured else {},
                }
            )
    for key, model in found.items():
        _write(folder, f"models/{key}", model)


def main() -> None:
    parser = argparse.ArgumentParser(description="Writes a site of made results.")
    parser.add_argument("out", type=Path)
    parser.add_argument("--models", type=int, default=300)
    parser.add_argument("--tasks", type=int, default=100)
    arguments = parser.parse_args()
    print(make_site(arguments.out, models=arguments.models, tasks=arguments.tasks))


if __name__ == "__main__":
    main()
