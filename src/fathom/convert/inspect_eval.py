"""Logs for Inspect's viewer: one ``.eval`` file for each model and task, written sample by sample.

The facts of a sample are in its metadata, as in logs of fathom's own tasks in Inspect, so that ``fathom rows --from
inspect`` reads them back.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from fathom.convert.formats import Choices, Written
from fathom.convert.material import Figure, Material, Prompts, RunFolder, ScoredReply, unscored, without_score
from fathom.convert.places import file_name
from fathom.printing import several
from fathom.report.results import System
from fathom.storage.versions import fathom_version
from fathom.suites.registry import tasks
from fathom.suites.suitefile.fresh import check_contents, fresh_folder
from fathom.types import FathomError, Row

if TYPE_CHECKING:
    from inspect_ai.log import EvalLog, EvalSample, EvalSpec
    from inspect_ai.model import ModelOutput

FLUSH_AT = 64_000_000
"""Characters of samples in memory before they are written to disk."""
NO_PROMPT = "[the prompt is not in this log]"
NO_REPLY = "[the reply is not in the rows that this log was made from]"
_STOPS = ("stop", "max_tokens", "model_length", "tool_calls", "content_filter")
_BY_STATUS = {"ok": "stop", "incomplete": "max_tokens", "overflow": "model_length", "refused": "content_filter"}


def write(material: Material, out: Path | str, choices: Choices) -> Written:
    """Writes a folder of logs, one for each model and task.

    Args:
        material: Rows, figures and replies.
        choices: ``force`` replaces a folder that holds nothing but logs; ``prompts`` writes prompts.

    Raises:
        FathomError: The folder holds something, or cannot be written.
    """
    folder, model = Path(out), choices.about.model
    present = sorted(entry.name for entry in folder.iterdir()) if folder.is_dir() else []
    if check_contents(folder, [name for name in present if name.endswith(".eval")], "logs") and not choices.force:
        raise FathomError(f"{folder} holds logs; replace them with `force`, or choose another `out`")
    notes, names = list(material.notes), []
    with fresh_folder(folder) as fresh:
        for system in material.systems:
            if model not in (None, system.model, system.name):
                continue
            figures = material.figures(system)
            notes += without_score(system, figures)
            for task in material.rows_of(system)["task"].unique(maintain_order=True):
                names.append(_write_log(material, fresh, system, str(task), choices))
    if not names:
        raise FathomError(f"`model` {model}: no such model; there are {', '.join(map(str, material.systems))}")
    if lost := unscored(material.rows):
        notes.append(f"{several(lost, 'reply')} without a score: NaN in the log, which Inspect leaves out of means")
    return Written(tuple(str(folder / name) for name in names), tuple(notes))


def _write_log(material: Material, folder: Path, system: System, task: str, choices: Choices) -> str:
    run = material.run_of(system)
    created = run.started if run is not None and run.started else datetime.now(UTC).isoformat(timespec="seconds")
    stamp = created.replace(":", "-")
    name = f"{stamp}_{file_name(task)}_{file_name(system.name)}.eval"
    log = _header(material, system, task, created, choices)
    prompts = material.prompts(system) if choices.prompts else None
    samples = (_sample(scored, log.eval, prompts) for scored in material.scored_replies(system, task=task))
    # In a thread of its own: a notebook has a loop of events already, and Inspect's writer needs one.
    with ThreadPoolExecutor(1) as pool:
        pool.submit(asyncio.run, _written(log, samples, folder / name)).result()
    return name


async def _written(log: EvalLog, samples: Iterator[EvalSample], place: Path) -> None:
    # ``write_eval_log`` would hold all samples, with their prompts, in memory.
    from inspect_ai.log import condense_sample
    from inspect_ai.log._recorders.create import create_recorder_for_location

    recorder = create_recorder_for_location(str(place), str(place.parent))
    await recorder.log_init(log.eval, str(place))
    await recorder.log_start(log.eval, log.plan)
    characters = 0
    for sample in samples:
        # Condensed, a prompt is stored once, although it is the input and a message too.
        await recorder.log_sample(log.eval, condense_sample(sample))
        characters += len(str(sample.input)) + len(sample.output.completion)
        if characters > FLUSH_AT:
            await recorder.flush(log.eval)
            characters = 0
    await recorder.log_finish(log.eval, "success", log.stats, log.results, None)


def _header(material: Material, system: System, task: str, created: str, choices: Choices) -> EvalLog:
    from inspect_ai.log import EvalConfig, EvalDataset, EvalLog, EvalPlan, EvalSpec, EvalStats
    from inspect_ai.model import GenerateConfig

    rows, run = material.rows_of(system, task=task), material.run_of(system)
    ids = [str(sample) for sample in rows["sample"].unique(maintain_order=True)]
    epochs = rows["epoch"].max()
    declared = tasks().get(task)
    settings = dict(run.generation) if run is not None else {}
    cap = settings.get("max_output_tokens") or (declared.max_output_tokens if declared is not None else None)
    spec = EvalSpec(
        created=created,
        task=f"fathom/{task}" if declared is not None else task,
        task_version=max(rows["task_version"].drop_nulls().to_list(), default=1),
        model=system.model,
        dataset=EvalDataset(name=", ".join(material.suites_of(system)), samples=len(ids), sample_ids=list(ids)),
        config=EvalConfig(epochs=epochs if isinstance(epochs, int) else 1),
        model_base_url=run.manifest.get("base_url") if run is not None else None,
        packages={"fathom-eval": fathom_version()},
        metadata=_about(material, system, run, choices),
        tags=[system.variant] if system.variant else None,
    )
    config = GenerateConfig(max_tokens=cap, temperature=settings.get("temperature"), seed=settings.get("seed"))
    figures = [figure for figure in material.figures(system) if figure.task == task]
    results = _results(figures, rows.height, unscored(rows), _metric(rows["metric"].to_list()))
    stats = EvalStats(started_at=created, model_usage=_usage(system, figures))
    return EvalLog(
        status="success", eval=spec, plan=EvalPlan(name="fathom", config=config), results=results, stats=stats
    )


def _about(material: Material, system: System, run: RunFolder | None, choices: Choices) -> dict[str, Any]:
    about: dict[str, Any] = {
        "made by": "fathom convert --to inspect",
        "variant": system.variant,
        "unanswered replies": f"count {material.results.unanswered}",
        "closed-book filter": material.filtered.policy,
        "prompts": "in the log" if choices.prompts else "left out",
    }
    if run is not None:
        about["suite"] = {name: run.manifest["suite"].get(name) for name in ("name", "fingerprint", "tokenizer")}
    return about


def _results(figures: Sequence[Figure], replies: int, without: int, metric: str) -> Any:
    """The figures of the report: the mean over lengths first, which is the headline, then each length."""
    from inspect_ai.log import EvalMetric, EvalResults, EvalScore

    metrics: dict[str, EvalMetric] = {}
    for figure in figures:
        if figure.mean is None and figure.length is not None:
            continue
        at = "" if figure.length is None else f" at {figure.name.rpartition('@')[2]}"
        counts = (
            {} if figure.counts is None else {"replies": figure.counts.replies, "unanswered": figure.counts.unanswered}
        )
        # The mean comes first and is the headline: without it, the viewer would show that of the shortest length.
        mean = math.nan if figure.mean is None else figure.mean
        about: dict[str, Any] = {**counts, **({"why": figure.why} if figure.why else {})}
        metrics[f"mean{at}"] = EvalMetric(name=f"mean{at}", value=mean, metadata=about)
        if figure.interval is not None and figure.standard_error is not None:
            range_of = {"low": figure.interval.low, "high": figure.interval.high, "level": figure.interval.level}
            metrics[f"stderr{at}"] = EvalMetric(name=f"stderr{at}", value=figure.standard_error, metadata=range_of)
    score = EvalScore(
        name=metric, scorer=metric, metrics=metrics, scored_samples=replies - without, unscored_samples=without
    )
    return EvalResults(total_samples=replies, completed_samples=replies, scores=[score])


def _usage(system: System, figures: Sequence[Figure]) -> dict[str, Any]:
    from inspect_ai.model import ModelUsage

    counts = next((figure.counts for figure in figures if figure.length is None and figure.counts is not None), None)
    if counts is None or not (counts.tokens_in or counts.tokens_out):
        return {}
    sent, made = counts.tokens_in, counts.tokens_out
    return {system.model: ModelUsage(input_tokens=sent, output_tokens=made, total_tokens=sent + made)}


def _metric(names: Sequence[str | None]) -> str:
    return next((name for name in names if name), "score")


def _sample(scored: ScoredReply, spec: EvalSpec, prompts: Prompts | None) -> EvalSample:
    from inspect_ai._util.error import EvalError
    from inspect_ai.log import EvalSample
    from inspect_ai.model import ChatMessage, ChatMessageUser

    row, stored = scored
    prompt = prompts.text(row) if prompts is not None else None
    output = _output(scored, spec.model)
    failed = None
    if row.status == "error":
        why = (stored.reply.error if stored is not None else "") or row.detail or "the request failed"
        failed = EvalError(message=why, traceback="", traceback_ansi="")
    asked = prompt or (stored.asked if stored is not None else "") or NO_PROMPT
    messages: list[ChatMessage] = [ChatMessageUser(content=asked), *(choice.message for choice in output.choices)]
    return EvalSample(
        id=row.sample,
        epoch=row.epoch,
        input=asked,
        messages=messages,
        target=list(stored.targets) if stored is not None and stored.targets else row.target,
        output=output,
        scores=None if row.status == "error" else {row.metric or "score": _score(row)},
        metadata=_facts(scored),
        error=failed,
        total_time=row.seconds,
        model_usage={spec.model: output.usage} if output.usage is not None else {},
    )


def _score(row: Row) -> Any:
    from inspect_ai.scorer import Score

    return Score(
        value=math.nan if row.value is None else row.value,
        answer=row.answer,
        explanation=row.detail or None,
        metadata={"valid": row.valid, "grader": row.grader, "rule": row.rule},
    )


def _output(scored: ScoredReply, model: str) -> ModelOutput:
    from inspect_ai.model import (
        ChatCompletionChoice,
        ChatMessageAssistant,
        ContentReasoning,
        ContentText,
        ModelOutput,
        ModelUsage,
    )

    row, stored = scored
    model = row.served or model
    usage = None
    if row.tokens_in is not None or row.tokens_out is not None:
        sent, made = row.tokens_in or 0, row.tokens_out or 0
        usage = ModelUsage(
            input_tokens=sent,
            output_tokens=made,
            total_tokens=sent + made,
            reasoning_tokens=row.tokens_reasoning,
            total_cost=row.cost,
        )
    if row.status == "error":
        return ModelOutput(model=model, usage=usage, error=row.detail or None)
    answered = row.answered if row.answered is not None else row.value is not None
    text = stored.reply.text if stored is not None else (row.answer or NO_REPLY) if answered else ""
    thoughts = stored.reply.reasoning if stored is not None else ""
    content: Any = [ContentReasoning(reasoning=thoughts), ContentText(text=text)] if thoughts else text
    choice = ChatCompletionChoice(message=ChatMessageAssistant(content=content, model=model), stop_reason=_stop(row))
    return ModelOutput(model=model, choices=[choice], completion=text, usage=usage, time=row.seconds)


def _stop(row: Row) -> Literal["stop", "max_tokens", "model_length", "tool_calls", "content_filter"]:
    reason: Any = row.stop if row.status == "ok" and row.stop in _STOPS else _BY_STATUS[row.status]
    return reason  # type: ignore[no-any-return]


def _facts(scored: ScoredReply) -> dict[str, Any]:
    """What ``fathom.rows`` reads from a log."""
    row, stored = scored
    return {
        **{name: getattr(row, name) for name in ("suite", "task", "item", "length", "tokens", "language", "chance")},
        "tokenizer": row.tokenizer,
        "truncated": row.truncated,
        "facets": dict(row.facets),
        "inputs": dict(stored.inputs) if stored is not None else {},
        "asked": stored.asked if stored is not None else "",
        "outcome": {"status": row.status, "stop": row.stop, "answered": row.answered, "variant": row.variant},
    }
