"""Converts run folders to rows: every stored reply is scored, by its task's scorer or by a judge."""

import re
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from fathom.plugins import loading
from fathom.plugins.extras import MissingLibraryError
from fathom.printing import several
from fathom.rows.origins import differing_settings, origin_of, read_origin, setting_text
from fathom.rows.parts import ReadOptions
from fathom.rows.schema import NUMBER, SCHEMA, check_rows, in_slices, scan_rows, to_frame
from fathom.rows.scoring import RULES, Judged, choose_judges, read_judged, score_of_likelihood, score_reply
from fathom.rows.table import RowSources, RowsTable
from fathom.runfile.manifest import FILE, no_run, read_manifest
from fathom.runfile.part import asked_so_far
from fathom.runfile.progress import status
from fathom.runfile.servers import checkpoints, server_lines
from fathom.runfile.store import StoredReply, peek, replies, unasked
from fathom.stats.outcomes import SCORER_FAILED, scorer_errors
from fathom.suites.registry import task_name
from fathom.suites.suitefile.pools import shared_contexts as pool_warnings
from fathom.tokens.tokenizers import public_name
from fathom.types import FathomError, Row
from fathom.types.origins import ORIGINS, TABLE, Origin
from fathom.types.samples import STEP

_DEFAULT_OPTIONS = ReadOptions()
_UNKNOWN_FLAGS, _PLAIN = "not told", "no other flags"
_KEY = ["suite", "model", "variant", "sample", "epoch"]
SAME_REPLY = [*_KEY, "rule", "prompt_hash", "status", "value", "answer", "tokens_out", "seconds"]
"""Columns that identify a reply, also among replies to the same sample."""


def rows_from_run(folder: Path, rule: str = "strict", judge: str | None = None) -> pl.DataFrame:
    """Score the replies of a run, finished or not.

    Replies are scored even if truncated by the output cap; unanswered ones are 0. A failed request, a prompt that did
    not fit, a judgement that is missing or could not be parsed, a failing scorer, or a task that is not installed
    leaves ``value`` empty, with the reason in ``detail``; it never raises.

    Args:
        folder: A folder written by ``fathom run``.
        rule: ``strict``, or ``official`` for the paper's rule if the task has one.
        judge: The judge for tasks with a rubric, by name; ``none`` for the tasks' own scorers; None for the judge that
            ``fathom judge`` was run with, if any.

    Returns:
        A rows table, one row per sample and epoch.

    Raises:
        FathomError: The folder holds no run, its files are damaged, the rule is unknown, or the judge is ambiguous.
    """
    manifest = read_manifest(folder)
    return _frame(folder, manifest, rule, choose_judges([folder], judge))


def load(
    paths: Sequence[Path],
    rule: str = "strict",
    judge: str | None = None,
    options: ReadOptions = _DEFAULT_OPTIONS,
    tasks: Collection[str] | None = None,
) -> pl.DataFrame:
    """The rows of :func:`scan` in memory."""
    return scan(paths, rule, judge, options, tasks).read()


def scan(
    paths: Sequence[Path],
    rule: str = "strict",
    judge: str | None = None,
    options: ReadOptions = _DEFAULT_OPTIONS,
    tasks: Collection[str] | None = None,
) -> RowsTable:
    """Read run folders, rows files and results of other programs as one table.

    Runs of one model with different settings (temperature, overflow policy, window, ...) are distinguished by
    ``variant``: the run's own variant (its label, ``thinking``), the settings that differ, the checkpoints that their
    servers name, the server's address if nothing else differs, and the name of the folder if even that is the same,
    with those above it that tell it apart.
    Suites with equal names but different content get part of their fingerprint added to their name.
    Duplicate replies (a run and the rows file made from it) count once.

    Args:
        paths: Run folders, and rows files for :func:`fathom.rows.read_rows`.
        rule: Scoring rule for run folders.
        judge: The judge for tasks with a rubric, see ``rows_from_run``; the same for all runs.
        options: What the user chose for results of other programs.
        tasks: The tasks whose replies in run folders are scored; all by default.

    Returns:
        One rows table: runs and rows files in the order of ``paths``, then the results of other programs.

    Raises:
        FathomError: A path is neither, the judge is ambiguous, or two paths share some replies of a model and have
            different ones to another sample in the same epoch: an average would count an item twice.
    """
    for path in paths:
        if not path.exists():
            raise no_run(path)
    others = {path: program for path in paths if (program := _origin(path, options)) is not None}
    named = labels(paths)
    chosen = choose_judges(list(named), judge)
    held = RowSources()
    for path in paths:
        if path in others:
            continue
        if path in named:
            frame = _frame(path, read_manifest(path), rule, chosen, tasks).with_columns(
                pl.lit(value, dtype=pl.String).alias(name)
                for name, value in zip(("suite", "model", "variant"), named[path], strict=True)
            )
            held.add(frame.with_columns(origin=pl.lit(str(path))))
        else:
            held.add(scan_rows(path).with_columns(origin=pl.lit(str(path))))
    for origin in dict.fromkeys(others.values()):
        frame, places = read_origin([path for path, other in others.items() if other == origin], origin, options)
        held.add(frame.with_columns(pl.Series("origin", places, dtype=pl.String)))
    place = ", ".join(map(str, paths))
    parts = held.parts() or [pl.LazyFrame(schema={**SCHEMA, "origin": pl.String})]
    together = RowsTable(pl.concat(parts), place, held, lambda: chain.from_iterable(map(in_slices, parts)))
    table = _without_duplicates(together)
    origins = together.rows.select("model", "variant", "origin").unique(maintain_order=True)
    table.origins = tuple(together.read(origins).rows())
    return table


def read_foreign(paths: Sequence[Path], origin: Origin, options: ReadOptions) -> pl.DataFrame:
    """Read results of one other program.

    Args:
        paths: Files and folders.
        options: What the user chose for them.

    Raises:
        FathomError: A file cannot be read, or two files have different replies to the same sample.
    """
    frame, places = read_origin(paths, origin, options)
    named = frame.with_columns(pl.Series("origin", places, dtype=pl.String))
    # Published results may be averages, several for each sample.
    return named.drop("origin") if origin not in ORIGINS else _without_duplicates(RowsTable(named)).read()


def _origin(path: Path, options: ReadOptions) -> Origin | None:
    """The program that wrote a source; None for runs and for rows files."""
    if is_run(path):
        return None
    origin = origin_of(path)
    if origin is None and path.is_file() and (options.columns or options.constants or options.metric):
        return next(origin for origin in ORIGINS if origin.name == TABLE)
    return origin


def is_run(path: Path) -> bool:
    """Whether a folder is a run."""
    return path.is_dir() and (path / FILE).exists()


def is_foreign(path: Path) -> bool:
    """Whether a source has results of another program."""
    return not is_run(path) and origin_of(path) is not None


def run_folders(paths: Iterable[Path]) -> list[Path]:
    """The folders that are runs, and those whose content is unknown, which is an error when they are read."""
    return [path for path in paths if path.is_dir() and (is_run(path) or not is_foreign(path))]


def unfinished(paths: Iterable[Path]) -> list[str]:
    """A sentence about each run that is not finished, or asked some samples only: its scores are those of a part."""
    sentences = []
    for folder in run_folders(paths):
        progress = status(folder)
        if progress is None:
            continue
        if progress.finished < progress.total:
            sentences.append(
                f"{folder.name} ({progress.model}) is unfinished, {progress.finished:,} of {progress.total:,} replies "
                f"so far: its scores cover only a part of the samples{_how_asked(folder)}; resume the run to finish it"
            )
        manifest = read_manifest(folder)
        with peek(folder) as store:
            asked, whole = store.samples(), manifest["suite"].get("samples") or 0
        if asked < whole and manifest.get("subset") is None:
            sentences.append(
                f"{folder.name} ({progress.model}) asked {asked:,} of the {whole:,} samples of its suite: its scores "
                "are those of a part"
            )
    return sentences


def _how_asked(folder: Path) -> str:
    """How the part was asked, and what its intervals hold for."""
    part = asked_so_far(folder)
    return f" ({part}; intervals are for one look, `fathom gate --sequential` is for any number)" if part else ""


def served(paths: Iterable[Path]) -> list[str]:
    """Sentences about what the replies of runs show about their servers: prompts that were cut, other models."""
    sentences = []
    for folder in run_folders(paths):
        if (progress := status(folder)) is not None:
            sentences += [f"{folder.name} ({progress.model}): {note}" for note in progress.server]
    return sentences


def unread_files(paths: Iterable[Path]) -> list[str]:
    """A sentence about each suite that was built although files of its corpus could not be read."""
    suites = [read_manifest(path)["suite"] for path in run_folders(paths)]
    missed = {suite["fingerprint"]: (suite["name"], suite.get("unread_files") or 0) for suite in suites}
    return [
        f"{several(count, 'file')} of the documents of {name} could not be read; manifest.json of the suite names them"
        for name, count in missed.values()
        if count
    ]


def questions_left_out(paths: Iterable[Path]) -> list[str]:
    """A sentence about each suite that does not ask all questions about the user's documents."""
    suites = [read_manifest(path)["suite"] for path in run_folders(paths)]
    counts = {suite["fingerprint"]: (suite["name"], suite.get("questions_left_out") or 0) for suite in suites}
    return [
        f"{several(count, 'question')} about the documents of {name} {'is' if count == 1 else 'are'} not asked; "
        "questions_left_out.csv of the suite has the reasons"
        for name, count in counts.values()
        if count
    ]


def shared_contexts(paths: Iterable[Path]) -> list[str]:
    """Sentences about suites whose contexts at a length use more than half of the texts to fill them with."""
    suites = [read_manifest(path)["suite"] for path in run_folders(paths)]
    pools = {suite["fingerprint"]: (suite["name"], suite.get("pools") or ()) for suite in suites}
    return [f"{name}: {sentence}" for name, used in pools.values() for sentence in pool_warnings(used)]


def fingerprints(paths: Iterable[Path]) -> list[tuple[str, str]]:
    """The fingerprints of the suites of runs, as one setting; none without runs."""
    suites = [read_manifest(path)["suite"] for path in run_folders(paths)]
    hashes = list(dict.fromkeys(str(suite["fingerprint"]) for suite in suites if suite.get("fingerprint")))
    return [("Fingerprint of the suite", ", ".join(hashes))] if hashes else []


def servers(paths: Iterable[Path]) -> list[tuple[str, str]]:
    """What the servers of runs stated of themselves, as settings; none without runs on servers that say it."""
    stated: dict[str, list[str]] = {}
    for path in run_folders(paths):
        manifest = read_manifest(path)
        stated.setdefault(str(manifest["model"]), []).extend(server_lines(manifest.get("observed")))
    return [(f"Server of {model}", "; ".join(dict.fromkeys(words))) for model, words in stated.items() if words]


def _frame(
    folder: Path,
    manifest: Mapping[str, Any],
    rule: str,
    judges: Sequence[str],
    tasks: Collection[str] | None = None,
) -> pl.DataFrame:
    if rule not in RULES:
        raise FathomError(f"scoring rule {rule!r}: expected {' or '.join(RULES)}")
    loading.use_again(manifest["suite"].get("plugins"), folder)
    judged = read_judged(folder, judges)
    every = (stored for stored in chain(replies(folder), unasked(folder)) if tasks is None or stored.task in tasks)
    return check_rows(to_frame(scored_rows(every, manifest, rule, judged)), str(folder))


def scorer_failures(folder: Path, seconds: float) -> tuple[str, ...]:
    """One sentence for each exception that a scorer raised on replies of a run.

    Args:
        folder: The run folder; the run may still be in progress.
        seconds: Time after which no further reply is scored.

    Returns:
        A sentence without a full stop for each exception; empty if none was raised, or if the tasks cannot be used.

    Raises:
        FathomError: The folder holds no run, or its files are damaged.
    """
    manifest, end = read_manifest(folder), time.monotonic() + seconds
    details, whole = list[tuple[str, str]](), True
    with suppress(MissingLibraryError):
        try:
            loading.use_again(manifest["suite"].get("plugins"), folder)
        except FathomError:
            return ()
        for stored in replies(folder):
            details.append((stored.sample, score_reply(stored, RULES[0]).score.detail))
            if time.monotonic() > end:
                whole = False
                break
    return failure_sentences(str(manifest["model"]), details, whole=whole)


def failure_sentences(model: str, details: Sequence[tuple[str, str]], *, whole: bool) -> tuple[str, ...]:
    """A sentence without a full stop for each exception that a scorer raised.

    Args:
        model: Name of the model.
        details: Sample and ``detail`` of each score.
        whole: Whether these are all of a run.
    """
    failed = [
        (model, "", sample, detail, "scorer_error") for sample, detail in details if detail.startswith(SCORER_FAILED)
    ]
    columns = ["model", "variant", "sample", "detail", "outcome"]
    errors = scorer_errors(pl.DataFrame(failed, schema=dict.fromkeys(columns, pl.String), orient="row"))
    part = "" if whole else f", of the first {len(details):,} replies"
    return tuple(f"{error}{part}" for error in errors)


def scored_rows(
    stored: Iterable[StoredReply], manifest: Mapping[str, Any], rule: str, judged: Sequence[Judged]
) -> Iterator[Row]:
    """The row of each stored reply, scored by ``fathom.rows.scoring.score_reply``.

    Args:
        stored: Replies of one run.
        manifest: ``model``, ``variant``, ``suite``, ``generation`` and ``thinking`` of the run, as in its ``run.json``.
        rule: Scoring rule, ``strict`` or ``official``.
        judged: Judgements of the replies.
    """
    suite: Mapping[str, Any] = manifest.get("suite") or {}
    thinking: Mapping[str, Any] = manifest.get("thinking") or {}
    about = {"thinking": thinking["mode"], "model_kind": thinking["kind"]} if thinking else {}
    about |= {STEP: manifest["step"]} if manifest.get("step") is not None else {}
    by_likelihood = (manifest.get("generation") or {}).get("likelihood") == "gold"
    for record in stored:
        scored = score_of_likelihood(record) if by_likelihood else score_reply(record, rule, judged)
        reply, score = record.reply, scored.score
        yield Row(
            suite=str(suite.get("name") or ""),
            task=record.task,
            item=record.item,
            sample=record.sample,
            model=str(manifest["model"]),
            length=record.length,
            value=score.value,
            variant=str(manifest.get("variant") or ""),
            epoch=record.epoch,
            valid=score.valid,
            status=reply.status,
            stop=reply.stop,
            answer=score.answer,
            target=scored.target,
            language=record.language,
            chance=record.chance,
            tokens=record.tokens,
            tokens_in=reply.tokens_in,
            tokens_out=reply.tokens_out,
            tokens_reasoning=reply.tokens_reasoning,
            truncated=reply.truncated,
            cost=record.cost,
            seconds=reply.seconds,
            metric=scored.metric,
            grader=score.grader,
            rule=rule,
            tokenizer=public_name(str(suite.get("tokenizer") or "")),
            prompt_hash=record.prompt_hash,
            task_version=scored.task_version,
            fathom_version=record.fathom_version,
            detail=score.detail,
            answered=reply.answered,
            served=reply.served,
            asked_again=record.asked_again,
            facets={**record.facets, **about},
        )


def _settings(manifest: Mapping[str, Any]) -> dict[str, object]:
    """Settings that affect replies, besides the model's name and the suite."""
    nested = {**(manifest.get("generation") or {}), **(manifest.get("model_args") or {})}
    plain = {name: manifest.get(name) for name in ("window", "on_overflow")}
    thinking = {f"thinking.{name}": value for name, value in (manifest.get("thinking") or {}).items()}
    # Runs of earlier versions had no such option.
    return plain | {"chat_template": manifest.get("chat_template") or "always"} | thinking | nested


def _variants(manifests: Mapping[Path, Mapping[str, Any]]) -> dict[Path, str]:
    variants = {path: str(manifest.get("variant") or "") for path, manifest in manifests.items()}
    for fellows in _grouped(manifests, lambda path, manifest: (manifest["model"], variants[path])):
        settings = {path: _settings(manifest) for path, manifest in fellows.items()}
        differing = differing_settings(settings.values())
        flags = _differing_flags({path: manifest.get("server_command") for path, manifest in fellows.items()})
        for path, chosen in settings.items():
            settled = (setting_text(name, chosen) for name in differing)
            variants[path] = ", ".join(filter(None, (variants[path], *settled, flags[path])))

    def same_run(path: Path, manifest: Mapping[str, Any]) -> object:
        return manifest["model"], variants[path], manifest.get("suite")

    for fellows in _grouped(manifests, same_run):
        for path, name in _differing_checkpoints(fellows).items():
            variants[path] = ", ".join(filter(None, (variants[path], name)))
    # A server may move between runs, so its address is not a setting; but the same run on two servers is two runs.
    for fellows in _grouped(manifests, same_run):
        if len({manifest.get("base_url") for manifest in fellows.values()}) > 1:
            for path, manifest in fellows.items():
                address = setting_text("base_url", manifest)
                variants[path] = f"{variants[path]}, {address}" if variants[path] else address
    return variants


def _differing_checkpoints(manifests: Mapping[Path, Mapping[str, Any]]) -> dict[Path, str]:
    """What servers stated of the checkpoint that they served under one name, if it differs; {} if not."""
    stated = {path: checkpoints(manifest.get("observed")) for path, manifest in manifests.items()}
    named = {path: " and ".join(names) for path, names in stated.items() if names}
    if len(set(named.values())) < 2:
        return {}
    # Without the hashes of their paths where names are enough.
    short = {path: re.sub(r"#[0-9a-f]{8}", "", name) for path, name in named.items()}
    return short if len(set(short.values())) == len(set(named.values())) else named


def _differing_flags(lines: Mapping[Path, str | None]) -> dict[Path, str]:
    """Flags in which the command lines of servers differ: "" for all if nothing."""
    if len(set(lines.values())) < 2:
        return dict.fromkeys(lines, "")
    split = {path: _flags(line or "") for path, line in lines.items()}
    common = set.intersection(*(set(flags) for path, flags in split.items() if lines[path] is not None))
    described = {}
    for path, line in lines.items():
        shown = " ".join(flag for flag in split[path] if flag not in common)
        described[path] = f"server: {_UNKNOWN_FLAGS if line is None else shown or _PLAIN}"
    descriptions = [described[path] for path in dict.fromkeys(lines)]
    if len(set(descriptions)) == len(set(lines.values())):
        return described
    # They have the same flags in another order.
    return {path: f"server: {_UNKNOWN_FLAGS if line is None else line}" for path, line in lines.items()}


def _flags(line: str) -> list[str]:
    """A command line in parts, each of which begins with an option."""
    return re.split(r" (?=-)", line)


def _grouped(
    manifests: Mapping[Path, Mapping[str, Any]], key: Callable[[Path, Mapping[str, Any]], object]
) -> list[dict[Path, Mapping[str, Any]]]:
    groups: dict[str, dict[Path, Mapping[str, Any]]] = {}
    for path, manifest in manifests.items():
        groups.setdefault(repr(key(path, manifest)), {})[path] = manifest
    return list(groups.values())


def _suite_names(manifests: Mapping[Path, Mapping[str, Any]]) -> dict[Path, str]:
    suites = {path: manifest.get("suite") or {} for path, manifest in manifests.items()}
    prints: dict[str, set[str]] = {}
    for suite in suites.values():
        prints.setdefault(task_name(str(suite.get("name") or "")), set()).add(str(suite.get("fingerprint")))
    names = {}
    for path, suite in suites.items():
        name = task_name(str(suite.get("name") or ""))
        names[path] = f"{name}#{str(suite.get('fingerprint'))[:8]}" if len(prints[name]) > 1 else name
    return names


def _without_duplicates(table: RowsTable) -> RowsTable:
    """The rows without those that are equal to an earlier one, and without their origin.

    Args:
        table: Rows with the column ``origin``.

    Raises:
        FathomError: There are different replies to the same sample in one source, or in two that share others.
    """
    key = pl.struct(_KEY).hash()
    hashes = [table.read(part.select(key.alias(NUMBER)))[NUMBER].to_numpy() for part in table.slices()]
    keys = np.sort(np.concatenate(hashes))  # 8 bytes for each row
    again = np.unique(keys[1:][keys[1:] == keys[:-1]])
    if not len(again):
        return table.each(lambda rows, _: rows.drop("origin"))
    numbered = table.rows.with_row_index(NUMBER)
    several = table.read(numbered.filter(key.is_in(pl.Series(again).implode())).select(NUMBER, "origin", *SAME_REPLY))
    kept = several.unique(SAME_REPLY, keep="first", maintain_order=True)
    twice = kept.filter(pl.struct(_KEY).is_duplicated())
    if len(twice):
        first = twice.row(0, named=True)
        same = twice.filter(pl.all_horizontal(pl.col(name).eq(first[name]) for name in _KEY))
        places = " and ".join(dict.fromkeys(same["origin"]))
        raise FathomError(
            f"{places}: {len(same)} different replies of model {first['model']!r} to sample {first['sample']!r}, "
            f"epoch {first['epoch']} ({len(twice)} such rows). Read only one of them; to repeat samples, "
            "use `fathom run --epochs`."
        )
    gone = several.join(kept, on=NUMBER, how="anti")[NUMBER]

    def left(rows: pl.LazyFrame, start: int) -> pl.LazyFrame:
        numbered = rows.with_row_index(NUMBER, start)
        return numbered.filter(~pl.col(NUMBER).is_in(gone.implode())).drop(NUMBER, "origin")

    return table.each(left)


def labels(paths: Sequence[Path]) -> dict[Path, tuple[str, str, str]]:
    """The suite, model and variant of each run in the table of :func:`load`.

    Args:
        paths: The paths given to ``load``; rows files are ignored.

    Raises:
        FathomError: A folder holds no run, or its files are damaged.
    """
    manifests = {path: read_manifest(path) for path in run_folders(paths)}
    variants, suites = _variants(manifests), _suite_names(manifests)
    for fellows in _grouped(manifests, lambda path, manifest: (manifest["model"], variants[path])):
        for path, name in _tails(_own_replies({path: suites[path] for path in fellows})).items():
            variants[path] = f"{variants[path]}, {name}" if variants[path] else name
    return {path: (suites[path], str(manifest["model"]), variants[path]) for path, manifest in manifests.items()}


def _own_replies(suites: Mapping[Path, str]) -> list[Path]:
    """The runs with replies of their own to the same samples, such as those of two checkpoints under one name.

    Runs with an equal reply to a sample are copies of one run: none of them is named. Prompts that were not sent or
    not answered have no reply.

    Args:
        suites: Runs of one model and variant, with the suite of each.
    """
    named = list(suites.values())
    places: dict[tuple[object, ...], set[Path]] = {}
    known: dict[tuple[object, ...], Path] = {}
    for path, suite in suites.items():
        if named.count(suite) < 2:
            continue
        for stored in chain(replies(path), unasked(path)):
            reply, key = stored.reply, (suite, stored.sample, stored.epoch)
            places.setdefault(key, set()).add(path)
            if reply.status not in ("error", "overflow"):
                same = (*key, stored.prompt_hash, reply.status, reply.text, reply.tokens_out, reply.seconds)
                if known.setdefault(same, path) != path:
                    return []
    several = set[Path]().union(*(folders for folders in places.values() if len(folders) > 1))
    return [path for path in suites if path in several]


def _tails(folders: Sequence[Path]) -> dict[Path, str]:
    """The names of folders, with as many of those above as tell them apart; no whole paths, which name machines."""
    parts = {folder: folder.resolve().parts for folder in folders}
    names = {}
    for folder, own in parts.items():
        others = set(parts.values()) - {own}
        size = next(size for size in range(1, len(own) + 1) if own[-size:] not in {other[-size:] for other in others})
        names[folder] = Path(*own[-size:]).as_posix()
    return names
