"""Recomputes the scores of a bundle from its logs and compares them."""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import polars as pl

from fathom.board.bundles.bundle import ROWS, RULES, Bundle, JudgedReply, ReplyLog, Result, canonical, row_record
from fathom.board.bundles.bundling import kept_judgements
from fathom.board.bundles.findings import Finding, Level
from fathom.models.embedding_judge import judge_kind
from fathom.printing import printable, several
from fathom.rows.runs import scored_rows
from fathom.rows.scoring import NOT_JUDGED, Judged
from fathom.runfile.serving import SERVER_CUT
from fathom.runfile.store import StoredReply
from fathom.score.registry import metric_name
from fathom.stats.outcomes import (
    ASKED_AGAIN_AT_MOST,
    CHOSEN,
    DOES_NOT_FIT,
    asked_again,
    counted,
    scorer_errors,
    tally,
    unmeasured,
)
from fathom.storage.versions import fathom_version
from fathom.suites.registry import get_task
from fathom.types import Reply, Row
from fathom.types.samples import STEP

SAME = 1e-9
"""Scores that differ by less are equal: machines round the last digit of a mean differently."""
_SHOWN = 60


def check_scores(
    bundle: Bundle, seconds: float = float("inf"), clock: Callable[[], float] = time.monotonic
) -> Iterator[Finding]:
    """Recomputes the scores of a bundle.

    Args:
        bundle: A bundle whose tasks are installed.
        seconds: Time limit; scoring stops at the first reply beyond it.
        clock: Seconds, from any starting point.

    Yields:
        Findings about the scores.
    """
    yield from _ended(bundle)
    if not bundle.logs:
        yield Finding(
            "unverified", "scores", "the bundle has no logs, so scores cannot be recomputed (bundle with --logs)"
        )
        return
    wrong = _wrong_judges(bundle)
    if wrong:
        yield Finding("refused", "judges", wrong)
        return
    end, compared = clock() + seconds, 0
    for at, given, computed in rescored(bundle):
        if clock() > end:
            words = f"scoring takes more than {seconds:,.0f} seconds ({compared:,} rows are done)"
            yield Finding("refused", "time", f"{words}; shorten the replies, or leave the logs out (--no-logs)")
            return
        field = _differing(given, computed)
        if field is not None:
            topic = "scores" if field in ("value", "valid", "answer", "detail") else "rows"
            yield Finding("refused", topic, _words(at, field, given, computed, bundle))
            return
        compared += 1
    yield Finding("verified", "scores", f"{compared:,} scores match the scores recomputed from the replies")
    if bundle.judgements:
        yield Finding(
            "unverified",
            "judges",
            f"scores of {several(len(bundle.judgements), 'reply')} follow from judgements by "
            f"{', '.join(bundle.judges)}, whose origin cannot be verified",
        )


def needed_judgements(bundle: Bundle) -> tuple[JudgedReply, ...]:
    """The judgements of replies that are in the bundle."""
    used = {
        (number, judged.name, key)
        for number in range(len(bundle.parts))
        for judged in _judged(bundle, number, list(_stored(bundle, number)))
        for key in judged.judgements
    }
    return tuple(judgement for judgement in bundle.judgements if judgement.order in used)


def thinking_facets(bundle: Bundle) -> tuple[str, ...]:
    """Facets of rows that describe the model or the run, not the sample."""
    return (*(("thinking", "model_kind") if bundle.settings.get("thinking") else ()), STEP)


def _ended(bundle: Bundle) -> Iterator[Finding]:
    """Outcomes of replies (``fathom.stats.outcomes``): what is missing, and what counts 0."""
    rows = counted(bundle.rows)
    outcomes, lost = tally(rows), rows.filter(pl.col("outcome") == "missing")
    errors = len(lost.filter(pl.col("status") == "error"))
    waiting = len(lost.filter(pl.col("status") != "error", pl.col("detail").str.starts_with(NOT_JUDGED)))
    others = len(lost) - errors - waiting
    if errors:
        yield Finding(
            "incomplete",
            "errors",
            f"{several(errors, 'request')} failed; repeat the `fathom run` command to retry them",
        )
    if waiting:
        yield Finding(
            "incomplete", "judges", f"{several(waiting, 'reply is', 'replies are')} not judged yet; run `fathom judge`"
        )
    for error in scorer_errors(rows):
        yield Finding("incomplete", "scorer", f"{error}; correct the scorer")
    if others:
        words = f"{several(others, 'reply has', 'replies have')} no score, because the judgement was unreadable"
        yield Finding("incomplete", "unscored", f"{words}; `fathom judge --again` repeats the judgements")
    if again := asked_again(rows):
        doubt = f"; {CHOSEN}" if asked_again(rows, ASKED_AGAIN_AT_MOST) else ""
        yield Finding("unverified", "requests", f"{again}{doubt}")
    if outcomes["unanswered"]:
        words = (
            f"{outcomes['unanswered']:,} of {len(rows):,} replies have no text (refused, empty, truncated before it)"
        )
        level: Level = "verified" if bundle.logs and bundle.format > 1 else "unverified"
        yield Finding(level, "unanswered", f"{words} and count 0")
    if outcomes["overflow"]:
        cells = [cell for cell in unmeasured(rows) if cell.reason == DOES_NOT_FIT]
        unfit = ", ".join(f"{cell.task} at {cell.length:,} tokens ({cell})" for cell in cells)
        cut = len(rows.filter(pl.col("outcome") == "overflow", pl.col("detail").str.starts_with(SERVER_CUT)))
        cause = f" (the server cut {cut:,} of them)" if cut else ""
        words = f"{outcomes['overflow']:,} of {len(rows):,} prompts did not fit{cause} and count 0"
        left = f"; cells where more than a fifth did not fit have no score: {unfit}" if unfit else ""
        yield Finding("unverified", "overflow", f"{words}, which cannot be verified{left}")


def _wrong_judges(bundle: Bundle) -> str:
    """Why the judgements do not belong to the rows; "" if they do."""
    if len({judge_kind(judge) for judge in bundle.judges}) < len(bundle.judges):
        return f"bundle.json: judges {', '.join(bundle.judges)}: expected at most one of a kind"
    idle = len(bundle.judgements) - len(needed_judgements(bundle))
    return f"judgements.jsonl: {idle:,} judgements without a reply in the bundle" if idle else ""


def rescored(bundle: Bundle) -> Iterator[tuple[int, Row, Row]]:
    """Scores the replies of a bundle.

    Args:
        bundle: A bundle with logs, whose tasks are installed.

    Yields:
        Number of the result, the row in the bundle, and the recomputed row, for each rule.
    """
    for number, part in enumerate(bundle.parts):
        of_part = [(at, result) for at, result in enumerate(bundle.results) if result.part == number]
        stored = list(_stored(bundle, number))
        judged = _judged(bundle, number, stored)
        manifest = {
            "model": bundle.model,
            "variant": bundle.variant,
            "suite": {"name": part.suite, "tokenizer": part.tokenizer},
            "thinking": bundle.settings.get("thinking"),
            "step": next((result.rows[0].facets.get(STEP) for _, result in of_part), None),
        }
        scored = [scored_rows(stored, manifest, rule, judged) for rule in RULES]
        for (at, result), *computed in zip(of_part, *scored, strict=True):
            for given, row in zip(result.rows, computed, strict=True):
                yield at, given, row if bundle.format > 1 else _in_format_1(given, row, result.log)


def _in_format_1(given: Row, computed: Row, log: ReplyLog | None) -> Row:
    """The row in format 1: only complete replies have scores; those of empty ones come from the task's scorer."""
    row = replace(computed, answered=None)
    if row.status != "ok":
        return replace(row, value=None, valid=False, answer=None, grader="", detail="")
    if given.value in (0.0, None) and not (log and log.text.strip()):
        own = ("value", "valid", "answer", "grader", "detail")
        return replace(row, **{name: getattr(given, name) for name in own})
    return row


def _judged(bundle: Bundle, number: int, stored: Sequence[StoredReply]) -> tuple[Judged, ...]:
    own = [judgement for judgement in bundle.judgements if judgement.part == number]
    by_judge = [
        Judged(name, {judged.key: judged.judgement for judged in own if judged.judge == name}) for name in bundle.judges
    ]
    return kept_judgements(stored, by_judge)


def _stored(bundle: Bundle, number: int) -> Iterator[StoredReply]:
    """The replies of a run, as far as scores depend on them."""
    about = thinking_facets(bundle)
    for result in bundle.results:
        if result.part == number:
            yield _one_stored(result, about)


def _one_stored(result: Result, about: Sequence[str]) -> StoredReply:
    row, log = result.rows[0], result.log or ReplyLog((), "", "")
    facets = {name: value for name, value in row.facets.items() if name not in about}
    return StoredReply(
        sample=row.sample,
        item=row.item,
        task=row.task,
        length=row.length,
        tokens=row.tokens or 0,
        language=row.language,
        chance=row.chance or 0.0,
        targets=log.targets,
        facets=facets,
        inputs=facets if log.inputs is None else dict(log.inputs),
        asked=log.asked,
        epoch=row.epoch,
        reply=Reply(
            status=row.status,
            text=log.text,
            stop=row.stop,
            tokens_in=row.tokens_in,
            tokens_out=row.tokens_out,
            tokens_reasoning=row.tokens_reasoning,
            seconds=row.seconds or 0.0,
            truncated=row.truncated,
        ),
        prompt_hash=row.prompt_hash,
        cost=row.cost,
        finished_at=0.0,
        fathom_version=row.fathom_version,
        asked_again=row.asked_again,
    )


def _differing(given: Row, computed: Row) -> str | None:
    """The first field in which two rows differ; None if they are equal."""
    given = replace(given, metric=metric_name(given.metric))  # of earlier versions
    first, second = row_record(0, given), row_record(0, computed)
    near = first["value"] is not None and second["value"] is not None and abs(first["value"] - second["value"]) < SAME
    differing = [name for name in first if canonical(first[name]) != canonical(second[name])]
    return next((name for name in differing if not (name == "value" and near)), None)


def _words(at: int, field: str, given: Row, computed: Row, bundle: Bundle) -> str:
    line = len(RULES) * at + RULES.index(given.rule) + 1
    versions = get_task(given.task).version, fathom_version()
    scored = given.task_version, bundle.versions.get("scored by", "")
    other = ""
    if versions != scored:
        other = (
            f". It was scored with version {scored[0]} of the task (fathom {printable(str(scored[1]))[:_SHOWN]}), here "
            f"with version {versions[0]} (fathom {versions[1]}): bundle the run again with this version"
        )
    return (
        f"{ROWS}: line {line}: {field} of sample {given.sample} is {_printable(getattr(given, field))}, but "
        f"recomputed from the reply it is {_printable(getattr(computed, field))}{other}"
    )


def _printable(value: Any) -> str:
    return printable(ascii(value))[:_SHOWN]
