"""Records of Every Eval Ever: one aggregate file and one file of replies for each model and suite.

Schema 0.3 (https://github.com/evaleval/every_eval_ever). A score is a number there, so figures and replies without one
are left out, and counted in the record.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import UUID

from fathom.convert.formats import RELATIONSHIPS, Choices, Written
from fathom.convert.material import Figure, Material, Prompts, RunFolder, ScoredReply, chosen_systems, without_score
from fathom.convert.places import refuse_existing
from fathom.printing import several
from fathom.report.results import ALL, System
from fathom.stats.intervals import REPLICATES
from fathom.storage.atomic import whole_file
from fathom.storage.versions import fathom_version
from fathom.types import FathomError

SCHEMA = "0.3.0"
UNKNOWN = "unknown"
_COUNTS = ("replies", "scored", "invalid", "unanswered", "overflow", "missing", "scorer_error", "cut", "truncated")
_RESERVED = re.compile(r"^(data|con|prn|aux|nul|com\d|lpt\d)$", re.IGNORECASE)


def write(material: Material, out: Path | str, choices: Choices) -> Written:
    """Writes ``data/SUITE/DEVELOPER/MODEL/UUID.json`` and ``UUID_samples.jsonl`` into a folder.

    The UUID follows from the suite, the model and its variant, so that the same results have the same name.

    Args:
        material: Rows, figures and replies.
        choices: ``organization`` and ``relationship`` describe the evaluator.

    Raises:
        FathomError: A file exists, or no figure has a score.
    """
    if choices.about.relationship not in RELATIONSHIPS:
        raise FathomError(f"`relationship` {choices.about.relationship}: expected one of {', '.join(RELATIONSHIPS)}")
    systems = chosen_systems(material, choices.about.model)
    places: list[str] = []
    notes = list(material.notes)
    for system in systems:
        made = _record(material, Path(out), system, choices)
        places += made.places
        notes += made.notes
    command = f"hf upload evaleval/EEE_datastore {Path(out) / 'data'} data --repo-type dataset --create-pr"
    return Written(tuple(places), tuple(notes), command)


def _record(material: Material, out: Path, system: System, choices: Choices) -> Written:
    figures = material.figures(system)
    scored = [figure for figure in figures if figure.mean is not None]
    if not scored:
        return Written((), (f"{system.name}: no figure has a score; no record was written",))
    suite, model = "+".join(material.suites_of(system)) or UNKNOWN, model_id(system.model)
    folder = out / "data" / _part(suite) / _part(model.partition("/")[0]) / _part(model.partition("/")[2])
    name = str(_uuid("\n".join((suite, *system))))
    aggregate, samples = folder / f"{name}.json", folder / f"{name}_samples.jsonl"
    for place in (aggregate, samples):
        refuse_existing(place, choices.force)
    now, run = datetime.now(UTC), material.run_of(system)
    when = choices.about.date or (run.started if run is not None else "")
    identity = f"{suite}/{model}/{now.timestamp():.0f}"
    names = {figure.name for figure in scored}
    lost, rows, checksum = _write_replies(material, system, samples, choices, (identity, model), names)
    record = {
        "schema_version": SCHEMA,
        "evaluation_id": identity,
        **({"evaluation_timestamp": when} if when else {}),
        "retrieved_timestamp": f"{now.timestamp():.0f}",
        "source_metadata": _source(material, figures, choices),
        "eval_library": {"name": "fathom", "version": fathom_version()},
        "model_info": _model_info(system, model, run),
        "evaluation_results": [_result(material, system, figure, suite, choices) for figure in scored],
        **_replies_file(samples, out, rows, checksum, lost),
    }
    # Last, so that an aggregate never names replies that are not there.
    with whole_file(aggregate) as stream:
        json.dump(record, stream, ensure_ascii=False, indent=2, allow_nan=False)
    if not rows:
        samples.unlink(missing_ok=True)
    notes = without_score(system, figures)
    if lost:
        notes.append(f"{system.name}: {several(lost, 'reply')} without a score, counted but not listed")
    return Written((str(aggregate), *([str(samples)] if rows else [])), tuple(notes))


def model_id(model: str) -> str:
    """A model's name in the form ``developer/name`` without characters that file names cannot have."""
    plain = re.sub(r'[<>:"\\|?*\x00-\x1f\s]+', "_", model).strip("/")
    parts = [_part(part) for part in plain.split("/") if part] or [UNKNOWN]
    return "/".join(parts if len(parts) > 1 else (UNKNOWN, *parts))


def _part(text: str) -> str:
    """A component of a path, by the rules of the datastore."""
    plain = re.sub(r'[<>:"\\|?*/\x00-\x1f\s]+', "_", text).strip(". ")[:100]
    return f"{plain or UNKNOWN}_" if not plain or _RESERVED.match(plain.partition(".")[0]) else plain


def _uuid(text: str) -> UUID:
    return UUID(bytes=hashlib.sha256(text.encode("utf-8", "replace")).digest()[:16], version=4)


def _source(material: Material, figures: Sequence[Figure], choices: Choices) -> dict[str, Any]:
    blank = [figure.name for figure in figures if figure.mean is None]
    details = {
        "unanswered_replies": "count 0" if material.results.unanswered == "zero" else "left out",
        "closed_book_filter": material.filtered.policy,
        **({"not_measured": ", ".join(blank)} if blank else {}),
        **({"notes": choices.about.notes} if choices.about.notes else {}),
        **({"url": choices.about.source} if choices.about.source else {}),
    }
    return {
        "source_name": "fathom",
        "source_type": "evaluation_run",
        "source_organization_name": choices.about.organization or UNKNOWN,
        "evaluator_relationship": choices.about.relationship,
        "additional_details": details,
    }


def _model_info(system: System, model: str, run: RunFolder | None) -> dict[str, Any]:
    details = {"deployment_type": UNKNOWN, "model_availability": UNKNOWN}
    if system.variant:
        details["variant"] = system.variant
    if run is not None and run.manifest.get("window"):
        details["window"] = str(run.manifest["window"])
    return {"name": system.model, "id": model, "developer": model.partition("/")[0], "additional_details": details}


def _result(material: Material, system: System, figure: Figure, suite: str, choices: Choices) -> dict[str, Any]:
    at = "over all lengths" if figure.length is None else f"at {figure.length:,} tokens"
    about = "the mean over tasks" if figure.task == ALL else f"task {figure.task}"
    return {
        "evaluation_result_id": figure.name,
        "evaluation_name": figure.name,
        "source_data": _data(suite, choices),
        "metric_config": {
            "evaluation_description": f"Mean score of {about} {at}",
            "metric_id": "fathom.mean_score",
            "metric_name": "mean score",
            "metric_unit": "proportion",
            "lower_is_better": False,
            "score_type": "continuous",
            "min_score": 0.0,
            "max_score": 1.0,
            **({"metric_parameters": {"length": figure.length}} if figure.length is not None else {}),
        },
        "score_details": _score(figure),
        **_generation(material.run_of(system)),
    }


def _data(suite: str, choices: Choices) -> dict[str, Any]:
    if choices.about.dataset:
        details = {"additional_details": {"revision": choices.about.revision}} if choices.about.revision else {}
        return {"dataset_name": suite, "source_type": "hf_dataset", "hf_repo": choices.about.dataset, **details}
    return {"dataset_name": suite, "source_type": "other"}


def _score(figure: Figure) -> dict[str, Any]:
    details: dict[str, str] = {}
    if figure.counts is not None:
        details = {name: str(getattr(figure.counts, name)) for name in _COUNTS}
    if figure.chance is not None:
        details["chance"] = str(figure.chance)
    score: dict[str, Any] = {"score": figure.mean, "details": details}
    if figure.interval is not None:
        score["uncertainty"] = {
            "confidence_interval": {
                "lower": figure.interval.low,
                "upper": figure.interval.high,
                "confidence_level": figure.interval.level,
                "method": "Bayesian bootstrap over items, stratified by task",
            },
            "num_bootstrap_samples": REPLICATES,
            **({"num_samples": figure.items} if figure.items is not None else {}),
        }
    return score


def _generation(run: RunFolder | None) -> dict[str, Any]:
    if run is None:
        return {}
    settings = run.generation
    arguments = {
        **({"temperature": settings["temperature"]} if isinstance(settings.get("temperature"), int | float) else {}),
        **({"max_tokens": settings["max_output_tokens"]} if settings.get("max_output_tokens") else {}),
        **({"reasoning": True} if (run.manifest.get("thinking") or {}).get("prompt") == "thinking" else {}),
    }
    others = {name: json.dumps(value) for name, value in settings.items() if value is not None}
    return {"generation_config": {"generation_args": arguments, "additional_details": others}}


def _replies_file(samples: Path, out: Path, rows: int, checksum: str, lost: int) -> dict[str, Any]:
    if not rows:
        return {}
    return {
        "detailed_evaluation_results": {
            "format": "jsonl",
            "file_path": samples.relative_to(out).as_posix(),
            "hash_algorithm": "sha256",
            "checksum": checksum,
            "total_rows": rows,
            **({"additional_details": {"replies_without_a_score": str(lost)}} if lost else {}),
        }
    }


def _write_replies(
    material: Material, system: System, place: Path, choices: Choices, identity: tuple[str, str], figures: set[str]
) -> tuple[int, int, str]:
    """Writes the replies; returns how many have no score, how many were written, and the checksum of the file."""
    prompts = material.prompts(system) if choices.prompts else None
    digest, written, lost = hashlib.sha256(), 0, 0
    with whole_file(place, "wb") as stream:
        for scored in material.scored_replies(system):
            if scored.row.value is None:
                lost += 1
                continue
            record = _instance(scored, prompts, identity, figures)
            line = json.dumps(record, ensure_ascii=False, allow_nan=False).encode("utf-8", "replace") + b"\n"
            digest.update(line)
            stream.write(line)
            written += 1
    return lost, written, digest.hexdigest()


def _instance(
    scored: ScoredReply, prompts: Prompts | None, identity: tuple[str, str], figures: set[str]
) -> dict[str, Any]:
    row, stored = scored
    figure = Figure(row.task, row.length).name
    prompt = prompts.text(row) if prompts is not None else None
    asked = prompt if prompt is not None else stored.asked if stored is not None else ""
    reference = list(stored.targets) if stored is not None else [row.target] if row.target else []
    used = row.tokens_in is not None and row.tokens_out is not None
    tokens = {
        "input_tokens": row.tokens_in,
        "output_tokens": row.tokens_out,
        "total_tokens": (row.tokens_in or 0) + (row.tokens_out or 0),
        **({"reasoning_tokens": row.tokens_reasoning} if row.tokens_reasoning is not None else {}),
    }
    return {
        "schema_version": SCHEMA,
        "evaluation_id": identity[0],
        "model_id": identity[1],
        "evaluation_name": figure,
        **({"evaluation_result_id": figure} if figure in figures else {}),
        "sample_id": row.sample,
        **({"sample_hash": _hash(prompt, reference)} if prompt is not None else {}),
        "interaction_type": "single_turn",
        "input": {"raw": asked, "reference": reference},
        "output": _output(scored),
        "answer_attribution": _attribution(scored),
        "evaluation": {"score": row.value, "is_correct": row.value == 1.0},
        **({"token_usage": tokens} if used else {}),
        **({"performance": {"latency_ms": 1000 * row.seconds}} if row.seconds is not None else {}),
        **({"error": f"{row.status}: {row.detail}".strip(": ")} if row.status != "ok" else {}),
        "metadata": _metadata(scored, prompt is not None),
    }


def _output(scored: ScoredReply) -> dict[str, Any]:
    row, stored = scored
    if stored is None:
        return {"raw": [row.answer] if row.answer is not None else []}
    thoughts = {"reasoning_trace": [stored.reply.reasoning]} if stored.reply.reasoning else {}
    return {"raw": [stored.reply.text], **thoughts}


def _attribution(scored: ScoredReply) -> list[dict[str, Any]]:
    row = scored.row
    if row.answer is None:
        return []
    method = row.metric or row.grader or "custom"
    place = {"turn_idx": 0, "source": "output.raw", "is_terminal": True}
    return [{**place, "extracted_value": row.answer, "extraction_method": method}]


def _metadata(scored: ScoredReply, prompt: bool) -> dict[str, str]:
    row = scored.row
    named: Mapping[str, object] = {
        **{f"facet.{name}": value for name, value in row.facets.items()},
        **{name: getattr(row, name) for name in ("item", "epoch", "length", "tokens", "language", "chance", "suite")},
        **{name: getattr(row, name) for name in ("valid", "status", "answered", "rule", "tokenizer", "prompt_hash")},
        "input": "the whole prompt" if prompt else "the question, without the text that it is about",
    }
    return {name: str(value) for name, value in named.items() if value not in (None, "")}


def _hash(prompt: str, reference: Sequence[str]) -> str:
    return hashlib.sha256((prompt + "".join(reference)).encode("utf-8", "replace")).hexdigest()
