"""One sample of a run as a record: its facts, the model's replies, and why they scored so."""

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from fathom.browse.pages import status_word
from fathom.browse.reasons import judge_replies, reasons
from fathom.browse.replies import Answered, Run, read_replies
from fathom.runfile.judgements import replies_by_prompt
from fathom.runfile.manifest import FILE as RUN
from fathom.suites.suitefile.records import facts_of
from fathom.types import FathomError


def is_run(folder: Path) -> bool:
    """Whether a folder holds a run."""
    return (folder / RUN).is_file()


def facts_of_replies(
    folder: Path,
    name: str,
    suites: Sequence[Path] = (),
    *,
    text: bool = False,
    thoughts: bool = False,
    judge: str | None = None,
) -> dict[str, Any]:
    """The facts of one sample of a run, its replies, and why they scored so.

    Args:
        name: Id of the sample or of its item; the first sample if empty.
        suites: Built suites, one of which may be that of the run.
        text: Whether the whole prompt is among the facts.
        thoughts: Whether the prompt is the one that asks for thoughts; by default it is that of the run.
        judge: See ``fathom.rows.load``.

    Returns:
        Those of ``fathom.suites.suitefile.records.facts_of`` if the suite is found, and ``replies``, one for each
        repeat.

    Raises:
        FathomError: There is no such sample, or the prompt was asked for and its suite is not found.
    """
    read = read_replies([folder], suites, judge=judge, name=name)
    entry = next((entry for entry in read.entries if entry.row.length), read.entries[0])
    if name == entry.sample or any(entry.sample == name for entry in read.entries):
        entry = next((entry for entry in read.entries if entry.sample == name), entry)
    run, row, suite = read.runs[0], entry.row, read.suites.get(entry.suite)
    if suite is not None:
        asked = run.thinking and bool(suite.sample(entry.sample).thinking_tokens)
        facts = facts_of(suite, entry.sample, text=text, thoughts=thoughts or asked)
    elif text:
        raise FathomError("; ".join(run.notes))
    else:
        stored = entry.replies[0].stored
        facts = {
            **{field: getattr(row, field) for field in ("item", "task", "language", "length", "tokens", "tokenizer")},
            "targets": list(stored.targets) if stored is not None else [],
            "chance": row.chance,
            "facets": dict(row.facets),
            "inputs": stored.inputs if stored is not None else {},
        }
    about = {"model": run.model, "variant": run.variant, "notes": list(run.notes)}
    return {"id": entry.sample, **about, **facts, "replies": [_reply(reply, run) for reply in entry.replies]}


def _reply(answered: Answered, run: Run) -> dict[str, Any]:
    row, stored = answered.row, answered.stored
    first, *others = (asdict(reason) for reason in reasons(row, stored, run.judged))
    assert stored is not None
    judged = [
        asdict(reply)
        for judge in run.judged
        for reply in judge_replies(
            stored, judge, replies_by_prompt(run.folder, judge.name) if run.folder is not None else {}
        )
    ]
    return {
        "epoch": row.epoch,
        "status": status_word(row),
        "reply": stored.reply.text,
        "reasoning": stored.reply.reasoning,
        "error": stored.reply.error,
        "answer": row.answer,
        "score": row.value,
        "metric": row.metric,
        "why": list(first["words"]),
        "scores": [{name: value for name, value in reason.items() if name != "words"} for reason in (first, *others)],
        "judge": judged,
        **{name: getattr(row, name) for name in ("stop", "served", "tokens_in", "tokens_out", "tokens_reasoning")},
        "truncated": row.truncated,
        "seconds": row.seconds,
        "cost": row.cost,
    }
