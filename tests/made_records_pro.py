"""Made-up records of LongBench Pro's form: all 25 tasks, two languages, any length that they may state.

The texts are short whatever length a record states, for the length is the record's own claim.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from fathom.benchmarks.pro.secondary_tasks import DIFFICULTIES, SECONDARY, SecondaryTask
from made import make_document

LENGTHS = ("8k", "16k")
OPTIONS = "ABCD"
ENTRIES = ("entry one", "entry two", "entry three")
CHINESE_ENTRIES = ("条目一", "条目二", "条目三")
MARK: Mapping[str, str] = {"English": "[Answer]", "Chinese": "[答案]"}


def make_pro(
    number: int,
    task: SecondaryTask | None = None,
    language: str = "",
    length: str = "",
    *,
    sentences: int = 8,
    **fields: Any,
) -> dict[str, Any]:
    """A record.

    By default numbers go round the tasks, then the languages, then ``LENGTHS``: 50 numbers are every task in both
    languages, 100 of them at both lengths.

    Args:
        number: The number of the record, which decides its id, its text and what is not given.
        task: The secondary task.
        language: ``English`` or ``Chinese``.
        length: The length that it states.
        sentences: Sentences of its context.
        fields: Fields that are to be otherwise.
    """
    task = task or SECONDARY[number % len(SECONDARY)]
    language = language or ("English", "Chinese")[number // len(SECONDARY) % 2]
    english = language == "English"
    made = make_document(number, "en" if english else "zh", sentences)
    answer = _answer(number, task, english)
    mark, ask, options = MARK[language], _ask(number, task, english), _options(task, english)
    think = "Think first, then answer." if english else "先思考，再回答。"
    direct = "Answer at once." if english else "直接回答。"
    example = f"{mark}\n" + ("B" if task.metric == "Accuracy" else ("some entry" if english else "某个条目"))
    return {
        "id": f"pro-{number:05d}",
        "context": made.text,
        "language": language,
        "token_length": length or LENGTHS[number // (2 * len(SECONDARY)) % len(LENGTHS)],
        "primary_task": task.primary,
        "secondary_task": task.name,
        "contextual_requirement": task.requirement,
        "question_nonthinking": f"{ask}\n{options}{direct}\n\n{example}",
        "question_thinking": f"{ask}\n{options}{think}\n\n{example}",
        "answer": answer,
        "difficulty": DIFFICULTIES[number % len(DIFFICULTIES)],
        **fields,
    }


def make_all(count: int = 2 * len(SECONDARY), **choices: Any) -> list[dict[str, Any]]:
    """Records 0, 1, 2, ...; ``choices`` are those of ``make_pro``."""
    return [make_pro(number, **choices) for number in range(count)]


def write_pro(
    folder: Path,
    count: int = 2 * len(SECONDARY),
    *,
    name: str = "longbench_pro.json",
    rows: Sequence[Mapping[str, Any]] | None = None,
    **choices: Any,
) -> Path:
    """A folder with a file of records, by default called as the hub's is.

    Args:
        folder: The folder; made if it is not there.
        count: How many records, where they are not given.
        name: The name of the file; its suffix, ``.json``, ``.jsonl`` or ``.parquet``, decides what it is.
        rows: The records.
        choices: Those of ``make_pro``.
    """
    folder.mkdir(parents=True, exist_ok=True)
    rows = make_all(count, **choices) if rows is None else rows
    if name.endswith(".parquet"):
        import pyarrow
        import pyarrow.parquet

        pyarrow.parquet.write_table(pyarrow.Table.from_pylist(list(rows)), folder / name)
        return folder
    lines = "".join(json.dumps(row) + "\n" for row in rows)
    (folder / name).write_text(json.dumps(rows) if name.endswith(".json") else lines, encoding="utf-8")
    return folder


def _ask(number: int, task: SecondaryTask, english: bool) -> str:
    return f"Do what {task.code} asks of volume {number}." if english else f"请按{task.code}的要求处理第{number}卷。"


def _options(task: SecondaryTask, english: bool) -> str:
    if task.metric != "Accuracy":
        return ""
    return "".join(f"{letter}. {'keeper' if english else '看守人'} {letter.lower()}\n" for letter in OPTIONS)


def _answer(number: int, task: SecondaryTask, english: bool) -> list[str]:
    """The right answer: a letter, three summaries, or three entries in an order that the number decides."""
    if task.metric == "Accuracy":
        return [OPTIONS[number % len(OPTIONS)]]
    if task.metric == "Summary":
        words = "Volume {} tells of markets and is kept well, {}." if english else "第{}卷讲述集市，保存完好，{}。"
        return [words.format(number, entry) for entry in (ENTRIES if english else CHINESE_ENTRIES)]
    entries = ENTRIES if english else CHINESE_ENTRIES
    turn = number % len(entries)
    return [*entries[turn:], *entries[:turn]]
