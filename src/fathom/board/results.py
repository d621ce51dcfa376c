"""Results (run folders, rows files, bundles) as rows, with facts about them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

from fathom.board.answers import answers_of, answers_of_run
from fathom.board.bundles.bundling import public_settings
from fathom.board.likeness import Answer, Prints, prints_of
from fathom.board.model import Provenance
from fathom.plugins.names import beside
from fathom.rows.runs import SAME_REPLY, is_foreign, labels, scan
from fathom.rows.table import RowsTable
from fathom.runfile.manifest import FILE, read_manifest
from fathom.safety.secrets import HIDDEN
from fathom.storage.versions import fathom_version
from fathom.suites.registry import task_name, tasks
from fathom.types import FathomError, Json

Label: TypeAlias = tuple[str, str, str]
"""Suite, model and variant, as in rows."""
BUNDLE = ".zip"
NAMELESS = "(no name)"
"""Shown for an empty name."""
_DATE = re.compile(r"\d{4}-\d\d-\d\d")


@dataclass(frozen=True, slots=True)
class About:
    """Facts about rows that are not in the rows.

    Attributes:
        settings: How the model was asked, without secrets, addresses and paths.
        fingerprint: Hash of the suite's content; "" if unknown.
        date: Day of the run, ``YYYY-MM-DD``; "" if unknown.
    """

    settings: Mapping[str, Json]
    fingerprint: str = ""
    date: str = ""


@dataclass(frozen=True, eq=False)
class Batch:
    """Results that are read as one table.

    Attributes:
        about: Facts by label; runs may share a label.
        prints: Function that reads the prints of the replies, if available, by model and variant
            (``fathom.board.likeness``).
    """

    rows: RowsTable
    provenance: Provenance = "measured"
    about: Mapping[Label, tuple[About, ...]] = field(default_factory=dict)
    prints: Callable[[], Mapping[tuple[str, str], Prints]] = dict


def read_results(paths: Sequence[Path], rule: str = "official", judge: str | None = None) -> Iterator[Batch]:
    """Reads results: one batch for all runs and rows files, then one for each bundle with further results.

    Args:
        paths: Run folders, rows files, bundles, and folders of runs and bundles.
        rule: Scoring rule of runs and bundles, ``strict`` or ``official``, which some tasks do not have.
        judge: Judge whose scores are used for runs, see ``fathom.rows.load``.

    Raises:
        FathomError: A path has no results, or they cannot be read.
    """
    every = list(dict.fromkeys(place for path in paths for place in _within(path)))
    seen: list[RowsTable] = []
    if own := [path for path in every if path.suffix != BUNDLE or path.is_dir()]:
        batch = _runs_and_rows(own, rule, judge)
        seen.append(batch.rows)
        yield batch
    for path in every:
        if path in own:
            continue
        batch = _bundle(path, rule)
        if not any(_holds(rows, batch.rows) for rows in seen):
            seen.append(batch.rows)
            yield batch


def _holds(larger: RowsTable, rows: RowsTable) -> bool:
    """Whether all these replies are known already: a bundle of a given run, or a bundle with and without logs."""
    given = rows.rows.select(SAME_REPLY)
    known = larger.rows.select(SAME_REPLY).join(given, on=SAME_REPLY, how="semi", nulls_equal=True)
    return rows.read(given.join(larger.read(known).lazy(), on=SAME_REPLY, how="anti", nulls_equal=True)).is_empty()


def _within(path: Path) -> list[Path]:
    """The path itself, or the runs and bundles in a folder."""
    if not path.exists():
        raise FathomError(f"{path}: no such run folder, rows file or bundle{beside(path)}")
    if not path.is_dir() or (path / FILE).exists() or is_foreign(path):
        return [path]
    inside = sorted(path.iterdir())
    results = [path for path in inside if path.suffix == BUNDLE and path.is_file()]
    results += [path for path in inside if (path / FILE).exists()]
    if not results:
        raise FathomError(
            f"{path}: neither a run folder nor a folder of runs or bundles ({FILE} and *.zip are missing)"
        )
    return results


def _runs_and_rows(paths: Sequence[Path], rule: str, judge: str | None) -> Batch:
    import polars as pl

    where = labels(paths)
    given = scan(paths, rule, judge)
    # Rows that were scored before are the same under every rule.
    table = _scored(given, (lambda: scan(paths, "strict", judge)) if where else (lambda: given), rule)
    manifests = {path: read_manifest(path) for path in where}
    private = _private(manifests.values())
    shown = {variant: _without(variant, private) for _, _, variant in where.values()}
    # Only where a name is changed: otherwise the rows of one model are found before the others are read.
    named = {model: NAMELESS for model, _ in table.models if not model.strip()}
    columns = [pl.col("variant").replace(shown), *([pl.col("model").replace(named)] if named else ())]
    table = RowsTable(table.rows.with_columns(columns), table.place, table)
    about: dict[Label, tuple[About, ...]] = {}
    labelled: dict[Path, Label] = {}
    for path, (suite, model, variant) in where.items():
        label = labelled[path] = (suite, model if model.strip() else NAMELESS, shown[variant])
        about[label] = (*about.get(label, ()), _about_run(manifests[path]))
    return Batch(table, about=about, prints=partial(_prints, labelled, table))


def _scored(table: RowsTable, strict: Callable[[], RowsTable], rule: str) -> RowsTable:
    """Rows of a rule; tasks without an official rule have those of their own scorer.

    Args:
        strict: Reads the same replies, scored by the rule ``strict``.
    """
    import polars as pl

    known = tasks()
    present = table.read(table.rows.select(pl.col("task").unique()))["task"]
    own = [name for name in present if name in known and not (known[name].official or known[name].rubric)]
    if rule != "official" or not own:
        return table
    here, other = pl.col("task").is_in(own), strict()
    return RowsTable(pl.concat([table.rows.filter(~here), other.rows.filter(here)]), table.place, (table, other))


def _prints(where: Mapping[Path, Label], table: RowsTable) -> dict[tuple[str, str], Prints]:
    """The prints of runs."""
    by_name: dict[tuple[str, str], list[Answer]] = {}
    for path, (suite, model, variant) in where.items():
        own = table.read(table.rows.filter(suite=suite, model=model, variant=variant))
        by_name.setdefault((model, variant), []).extend(answers_of_run(path, suite.split("#")[0], own))
    return {name: prints_of(answers) for name, answers in by_name.items()}


def _about_run(manifest: Mapping[str, Any]) -> About:
    settings = public_settings(manifest)
    subset: Mapping[str, Any] = manifest.get("subset") or {}
    if subset:
        settings["subset"] = str(subset.get("name") or subset.get("hash"))
    # Replies are scored as they are read here; bundles record the same of theirs.
    settings["versions"] = dict(manifest.get("versions") or {}) | {"scored by": fathom_version()}
    return About(settings, str(manifest["suite"]["fingerprint"]), day(manifest.get("started")))


def _bundle(path: Path, rule: str) -> Batch:
    from fathom.board.bundles.findings import RefusedError
    from fathom.board.bundles.opening import read_bundle

    try:
        bundle = read_bundle(path)
    except RefusedError as refused:
        raise FathomError(f"{path}: {refused}; run `fathom board check` for details") from None
    about: dict[Label, tuple[About, ...]] = {}
    for part in bundle.parts:
        label = (task_name(part.suite), bundle.model, bundle.variant)
        settings = dict(bundle.settings) | {"versions": dict(bundle.versions)}
        if part.subset:
            settings["subset"] = part.subset
        about[label] = (*about.get(label, ()), About(settings, part.fingerprint, day(bundle.created)))
    name = bundle.model, bundle.variant
    table = _scored(RowsTable(bundle.rows_of(rule)), lambda: RowsTable(bundle.rows_of()), rule)
    return Batch(table, "submitted", about, lambda: {name: prints_of(answers_of(bundle))})


def day(moment: object) -> str:
    """The day of an ISO 8601 time; "" if it is none."""
    match = _DATE.match(str(moment or ""))
    return match[0] if match else ""


def _private(manifests: Iterable[Mapping[str, Any]]) -> list[str]:
    """Addresses and paths among the settings of runs, longest first; variants may contain them."""
    private: set[str] = set()
    for manifest in manifests:
        given = {name: manifest.get(name) or {} for name in ("generation", "model_args")}
        private.update(_hidden(given, public_settings(manifest)))
        private.update([manifest["base_url"]] if manifest.get("base_url") else ())
    return sorted(private, key=lambda text: (-len(text), text))


def _hidden(given: Any, shown: Any) -> Iterator[str]:
    """The texts that are not shown."""
    if isinstance(given, Mapping) and isinstance(shown, Mapping):
        for name, value in given.items():
            yield from _hidden(value, shown.get(name))
    elif isinstance(given, list) and isinstance(shown, list):
        for pair in zip(given, shown, strict=True):
            yield from _hidden(*pair)
    elif shown == HIDDEN != given:
        yield str(given)


def _without(variant: str, private: Sequence[str]) -> str:
    """A variant with numbers instead of addresses and paths, so that runs stay distinct without naming machines."""
    for number, text in enumerate(private, start=1):
        variant = variant.replace(text, f"({number})")
    return variant
