"""Bundles from runs: their replies, scored by every rule, without private data."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from fathom.board.bundles.bundle import (
    RULES,
    Bundle,
    JudgedReply,
    Part,
    ReplyLog,
    Result,
    archive,
    canonical,
    facts_of_part,
    hashed,
    is_judge,
)
from fathom.board.bundles.findings import RefusedError
from fathom.board.bundles.opening import parse_bundle
from fathom.plugins import loading
from fathom.rows.runs import scored_rows
from fathom.rows.scoring import Judged, choose_judges, read_judged
from fathom.runfile.judgements import case_key, case_of
from fathom.runfile.manifest import read_manifest
from fathom.runfile.serving import served_names
from fathom.runfile.store import StoredReply, peek, replies
from fathom.safety.secrets import HIDDEN, hide_secrets
from fathom.score.judge import get_rubric
from fathom.storage.versions import fathom_version
from fathom.suites.registry import get_task
from fathom.types import FathomError, Json, Reply
from fathom.world.private import FACET

# An address, or an absolute, home, drive or parent path.
_PRIVATE = re.compile(
    r"://|(?:^|[\s=,;:'\"(])(?:[/~\\]|\.\.?[/\\]|[A-Za-z]:[/\\])|@[\w-]+\.|localhost|\d+\.\d+\.\d+\.\d+"
)


def bundle_of(runs: Sequence[Path], *, judge: str | None = None, logs: bool = True) -> Bundle:
    """The bundle of some runs, which are one entry of a board.

    Args:
        runs: Run folders of one model with the same settings, for instance one per suite.
        judge: Judge whose judgements are used, see ``fathom.rows.scoring.choose_judges``.
        logs: Whether the replies are included, so that others can recompute the scores.

    Raises:
        FathomError: A folder has no run or no reply, several models answered, the runs differ in model or settings, or
            the judge is ambiguous.
    """
    manifests = [read_manifest(run) for run in runs]
    for run, manifest in zip(runs, manifests, strict=True):
        loading.use_again(manifest["suite"].get("plugins"), run)
    _check_together(runs, manifests)
    judges = choose_judges(runs, judge)
    bundled = [_bundled(number, run, manifests[number], judges, logs=logs) for number, run in enumerate(runs)]
    results = [result for run in bundled for result in run.results]
    return Bundle(
        model=manifests[0]["model"],
        variant=manifests[0].get("variant") or "",
        created=datetime.fromtimestamp(max(run.last for run in bundled), UTC).date().isoformat(),
        settings=public_settings(manifests[0]),
        versions=_versions(manifests, results),
        judges=tuple(judge for judge in judges if is_judge(judge, results)),
        parts=tuple(run.part for run in bundled),
        results=tuple(results),
        judgements=tuple(judgement for run in bundled for judgement in run.judgements),
        logs=logs,
    )


def accepted_bundle(runs: Sequence[Path], *, judge: str | None = None, logs: bool = True) -> Bundle:
    """The bundle of some runs, if boards would accept it; the arguments are those of ``bundle_of``.

    Raises:
        FathomError: See ``bundle_of``; or a board would refuse it.
    """
    bundle, named = bundle_of(runs, judge=judge, logs=logs), ", ".join(map(str, runs))
    try:
        parse_bundle(archive(bundle))
    except RefusedError as refused:
        raise FathomError(
            f"{named}: no board would accept a bundle of this: {refused}. Correct names in run.json, and run again "
            "with a smaller limit of tokens where replies are too long; then bundle it again"
        ) from None
    except UnicodeEncodeError as error:
        raise FathomError(
            f"{named}: a gold answer, question or facet holds half a character ({error.object[error.start]!a}), which "
            "no bundle can; correct it in the suite, and run that again"
        ) from None
    return bundle


def public_settings(manifest: Mapping[str, Any]) -> dict[str, Json]:
    """How a model was asked, without secrets, addresses and paths.

    Args:
        manifest: The content of a ``run.json``.
    """
    thinking = manifest.get("thinking")
    return {
        "generation": _public(manifest.get("generation") or {}),
        "model_args": _public(manifest.get("model_args") or {}),
        "window": manifest.get("window"),
        "on_overflow": manifest.get("on_overflow") or "refuse",
        # Runs of earlier versions had no such setting.
        "chat_template": manifest.get("chat_template") or "always",
        "thinking": None if thinking is None else dict(thinking),
    }


def kept_judgements(stored: Sequence[StoredReply], judged: Sequence[Judged]) -> tuple[Judged, ...]:
    """The judgements of these replies only, so that a bundle and its reader give the same scores.

    Args:
        stored: The replies of one run.
        judged: Judgements, including those of other replies.

    Raises:
        FathomError: A task is not installed.
    """
    used = {pair for reply in stored if reply.reply.answered for pair in _case_keys(reply, judged)}
    kept = []
    for judge in judged:
        # Rows name the parts of a score in their order, which the lines of a bundle do not preserve.
        own = {
            key: replace(judgement, parts=dict(sorted(judgement.parts.items())))
            for key, judgement in judge.judgements.items()
            if (judge.name, key) in used
        }
        kept.append(Judged(judge.name, own))
    return tuple(kept)


def _case_keys(stored: StoredReply, judged: Sequence[Judged]) -> Iterator[tuple[str, str]]:
    """The judges that score a reply, each with the key of its judgement."""
    task = get_task(stored.task)
    rubric = get_rubric(task.rubric) if task.rubric and judged else None
    for judge in judged:
        if rubric is not None and judge.kind == rubric.by:
            yield judge.name, case_key(rubric, case_of(stored))


def _check_together(runs: Sequence[Path], manifests: Sequence[Mapping[str, Any]]) -> None:
    if not runs:
        raise FathomError("nothing to bundle: give at least one run folder")
    alike = [
        {"model": manifest["model"], "variant": manifest.get("variant") or ""} | public_settings(manifest)
        for manifest in manifests
    ]
    for run, other in zip(runs, alike, strict=True):
        differing = [name for name in alike[0] if canonical(other[name]) != canonical(alike[0][name])]
        if differing:
            name = differing[0]
            raise FathomError(
                f"{run}: {name} is {other[name]!r}, but {alike[0][name]!r} in {runs[0]}; all runs of a bundle must "
                "have the same model and settings: bundle them separately"
            )


def _check_one_model(run: Path) -> None:
    with peek(run) as store:
        served = served_names(store.served())
    if len(served) > 1:
        names = ", ".join(sorted(served))
        raise FathomError(
            f"{run}: {len(served)} models answered ({names}), so the scores are of none of them (`fathom rows` names "
            "the model of each reply in the column 'served'); turn off fallbacks of the server, and run "
            "again in another folder"
        )


@dataclass(frozen=True, slots=True)
class _Bundled:
    """The content of a bundle from one run; ``last`` is the time of its last reply, in seconds since the epoch."""

    part: Part
    results: tuple[Result, ...]
    judgements: tuple[JudgedReply, ...]
    last: float


def _bundled(number: int, run: Path, manifest: Mapping[str, Any], judges: Sequence[str], *, logs: bool) -> _Bundled:
    _check_one_model(run)
    if (manifest.get("generation") or {}).get("likelihood") == "gold":
        raise FathomError(
            f"{run}: the likelihoods of gold answers are not answers, and no score to compare with those of others"
        )
    stored = [replace(reply, reply=_public_reply(reply.reply)) for reply in replies(run)]
    if not stored:
        raise FathomError(f"{run}: the run has no reply yet; repeat its `fathom run` command")
    judged = kept_judgements(stored, [_without_errors(judge) for judge in read_judged(run, judges)])
    scored = [scored_rows(stored, manifest, rule, judged) for rule in RULES]
    results = [
        Result(
            number,
            tuple(rows),
            hashed(reply.reply.text),
            ReplyLog(reply.targets, reply.asked, reply.reply.text, reply.inputs),
        )
        for reply, *rows in zip(stored, *scored, strict=True)
    ]
    if any(FACET in result.rows[0].facets for result in results):
        raise FathomError(
            f"{run}: its suite has names of a private family, which a bundle would show with gold answers and replies; "
            "share `fathom report` or a board that you build from the run"
        )
    judgements = [
        JudgedReply(number, judge.name, key, judgement)
        for judge in judged
        for key, judgement in judge.judgements.items()
    ]
    return _Bundled(
        part=facts_of_part(
            [result.rows[0] for result in results],
            fingerprint=manifest["suite"]["fingerprint"],
            subset=str((manifest.get("subset") or {}).get("hash") or ""),
        ),
        results=tuple(sorted(results if logs else map(_without_log, results), key=lambda result: result.order)),
        judgements=tuple(sorted(judgements, key=lambda judged_reply: judged_reply.order)) if logs else (),
        last=max(reply.finished_at for reply in stored),
    )


def _public_reply(reply: Reply) -> Reply:
    """A reply without its error message, which may name servers, and without text that is no answer."""
    return replace(reply, error="", text=reply.text if reply.answered else "")


def _without_log(result: Result) -> Result:
    return replace(result, log=None)


def _without_errors(judged: Judged) -> Judged:
    """The same judgements without error messages, which may name servers."""
    kept = {
        key: replace(judgement, detail="") if judgement.status == "error" else judgement
        for key, judgement in judged.judgements.items()
    }
    return replace(judged, judgements=kept)


def _versions(manifests: Sequence[Mapping[str, Any]], results: Sequence[Result]) -> dict[str, str]:
    """Versions by package; several if runs differ. ``scored by`` is the version that scored."""
    by_package: dict[str, set[str]] = {"fathom-eval": {result.rows[0].fathom_version for result in results}}
    for manifest in manifests:
        for name, version in (manifest.get("versions") or {}).items():
            by_package.setdefault(str(name), set()).add(str(version))
    shown = {name: ", ".join(sorted(filter(None, versions))) for name, versions in sorted(by_package.items())}
    return shown | {"scored by": fathom_version()}


def _public(values: Mapping[str, Any]) -> dict[str, Json]:
    return {name: _open(value) for name, value in hide_secrets(values).items()}


def _open(value: Any) -> Json:
    if isinstance(value, Mapping):
        return {str(name): _open(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_open(inner) for inner in value]
    return HIDDEN if isinstance(value, str) and _PRIVATE.search(value) else value
