"""Converts results of NeMo Evaluator to rows.

Two of its files have single samples: ``byob_predictions.jsonl`` of own benchmarks (``contrib/byob``: ``sample_id``,
``prompt``, ``response``, ``target``, ``scores``, ``status``, ``error``, ``metadata``), and the files of
``nemo-evaluator-per-sample-outputs/`` (class ``SampleRecord``: ``id``, ``generation``, ``score``, ``score_name``,
``num_prompt_tokens``, ``num_generated_tokens``, ``answer``, ``ground_truth``). ``results.yml`` has the model and its
settings, and else averages only.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from fathom.documents.records import File, checked_records, walk
from fathom.rows.parts import Part, Record, Wanted, as_mapping, as_text, choose_metric, first_key, unit, whole
from fathom.types import FathomError, Row

RESULTS, PREDICTIONS, OUTPUTS = "results.yml", "byob_predictions.jsonl", "nemo-evaluator-per-sample-outputs"
_SETTINGS = ("temperature", "top_p", "max_new_tokens")
_SCORED = "scored"


def recognises(path: Path) -> bool:
    """Whether a file is a result of NeMo Evaluator, by its name and start."""
    if path.name == PREDICTIONS:
        return first_key(path) == "sample_id"
    if path.parent.name == OUTPUTS:
        return path.suffix == ".jsonl"
    return path.name == RESULTS and _looks_like_results(path)


def _looks_like_results(path: Path) -> bool:
    text = path.read_text(encoding="utf-8", errors="replace")[: 1 << 16]
    return all(f"\n{name}:" in f"\n{text}" for name in ("config", "results", "target"))


def read(path: Path, wanted: Wanted) -> Iterator[Part]:
    """Read results of NeMo Evaluator: a file with single samples, or a results folder.

    Raises:
        FathomError: There are no single samples, or a file is damaged.
    """
    files = [path] if path.is_file() else [file for file in walk(path).files if recognises(file)]
    samples = [file for file in files if file.name != RESULTS]
    if not samples:
        averages = next((str(file) for file in files), str(path))
        raise FathomError(
            f"{averages}: averages only. fathom reads single samples: {PREDICTIONS} (own benchmarks, with "
            f"--save-predictions), {OUTPUTS}/, or the logs of the harness that NeMo Evaluator ran (lm-eval and others) "
            "in the same folder"
        )
    for file in samples:
        about = _about(file, path)
        read = _predictions if file.name == PREDICTIONS else _outputs
        yield read(file, about, wanted)


def _about(file: Path, root: Path) -> Mapping[str, Any]:
    """The content of the ``results.yml`` beside the file or in a folder above it, up to the one that was given."""
    for folder in file.absolute().parents:
        if (folder / RESULTS).is_file():
            return _yaml(folder / RESULTS)
        if folder == root.absolute():
            break
    return {}


def _yaml(path: Path) -> Mapping[str, Any]:
    import yaml

    try:
        found = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeError, yaml.YAMLError, ValueError, RecursionError) as error:
        raise FathomError(f"{path}: cannot be read: {(str(error).splitlines() or ['damaged'])[0]}") from None
    return as_mapping(found)


def _named(file: Path, about: Mapping[str, Any]) -> tuple[str, str, dict[str, object]]:
    """Task, model and settings."""
    config, target = as_mapping(about.get("config")), as_mapping(about.get("target"))
    parameters = as_mapping(config.get("params"))
    task = as_text(parameters.get("task")) or as_text(config.get("type")) or file.parent.name
    model = as_text(as_mapping(target.get("api_endpoint")).get("model_id"))
    return task, model or file.absolute().parent.name, {name: parameters.get(name) for name in _SETTINGS}


def _predictions(file: Path, about: Mapping[str, Any], wanted: Wanted) -> Part:
    task, model, settings = _named(file, about)
    scores = (as_mapping(one.get("scores")) for one in _records(file, "sample_id"))
    metric = choose_metric(
        str(file), ({n: v for n, v in one.items() if not isinstance(v, str)} for one in scores), wanted
    )
    return Part(str(file), _prediction_rows(file, (task, model, metric)), settings)


def _prediction_rows(file: Path, named: tuple[str, str, str]) -> Iterator[tuple[Row, Record]]:
    task, model, metric = named
    repeats: dict[str, int] = {}
    for one in _records(file, "sample_id"):
        facts = as_mapping(one.get("metadata"))
        number = whole(one.get("sample_id"))
        repeat = whole(facts.get("_repeat")) or 0
        # The identifier of a repeat is that of the first one plus the number of samples, which is not stored.
        name = as_text(facts.get("id")) if facts.get("id") is not None else as_text(one.get("sample_id"))
        if facts.get("id") is None and repeat and number is not None:
            first = repeats.setdefault(str(repeat), number)
            name = str(number - first)
        text, status = one.get("response"), one.get("status")
        failed = status not in (_SCORED, None) or text is None
        answered = None if not isinstance(text, str) else bool(text.strip())
        value = None if failed else (0.0 if answered is False else unit(as_mapping(one.get("scores")).get(metric)))
        item = f"{task}/{name}"
        yield (
            Row(
                suite="NeMo Evaluator",
                task=task,
                item=item,
                sample=item,
                model=model,
                length=0,
                value=value,
                epoch=repeat + 1,
                valid=value is not None and answered is not False,
                status="error" if failed else "ok",
                answer=text if isinstance(text, str) else None,
                target=as_text(one.get("target")),
                metric=metric,
                grader=metric,
                rule="nemo-evaluator",
                source="nemo-evaluator",
                detail=as_text(one.get("error") or status) if failed else "",
                answered=False if failed else answered,
            ),
            one,
        )


def _outputs(file: Path, about: Mapping[str, Any], wanted: Wanted) -> Part:
    task, model, settings = _named(file, about)
    return Part(str(file), _output_rows(file, task, model, wanted), settings)


def _output_rows(file: Path, task: str, model: str, wanted: Wanted) -> Iterator[tuple[Row, Record]]:
    for one in _records(file, "generation"):
        named = as_text(one.get("score_name")) or "score"
        if wanted.metric and named != wanted.metric:
            continue
        if one.get("score") is None:
            continue  # an intermediate step, as the class says
        text = one.get("generation")
        answered = bool(text.strip()) if isinstance(text, str) else None
        item = f"{task}/{as_text(one.get('id'))}"
        value = 0.0 if answered is False else unit(one.get("score"))
        yield (
            Row(
                suite="NeMo Evaluator",
                task=task,
                item=item,
                sample=item,
                model=model,
                length=0,
                value=value,
                epoch=(whole(one.get("sub_query_id")) or 0) + 1,
                valid=value is not None and answered is not False,
                answer=as_text(one["answer"]) if one.get("answer") is not None else None,
                target=as_text(one.get("ground_truth")),
                tokens_in=whole(one.get("num_prompt_tokens")),
                tokens_out=whole(one.get("num_generated_tokens")),
                metric=named,
                grader=named,
                rule="nemo-evaluator",
                source="nemo-evaluator",
                detail="" if value is not None else f"score {one.get('score')!r} is not a number in [0, 1]",
                answered=answered,
            ),
            one,
        )


def _records(file: Path, needed: str) -> Iterator[Record]:
    for place, record in checked_records(File.at(file)):
        if needed not in record:
            raise FathomError(f"{place}: no field {needed!r}; expected a sample of NeMo Evaluator")
        yield record
