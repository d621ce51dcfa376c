"""Checks a bundle against the suite that it names: its samples, gold answers, prompts and completeness."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

from fathom.board.bundles.bundle import Bundle, Part, ReplyLog, Result, canonical
from fathom.board.bundles.findings import Finding, RefusedError
from fathom.board.bundles.rescoring import thinking_facets
from fathom.printing import printable, several
from fathom.suites.registry import get_task, task_name
from fathom.suites.suitefile import FORMAT as SUITE_FORMAT
from fathom.suites.suitefile import BuiltSuite
from fathom.tokens.length import render
from fathom.tokens.length import thinking as told_to_think
from fathom.tokens.tokenizers import is_path
from fathom.types import Facet, Sample

_REBUILD = "; an earlier fathom built the suite to compare with: build it again with --force"
_HASH_DIGITS = 16
_NAMED = 5
_SHOWN = 60


@dataclass
class _Comparison:
    """The comparison of a bundle with a suite, sample by sample, and what it has counted."""

    bundle: Bundle
    texts: Mapping[str, str]
    epochs: int
    samples: Counter[str] = field(default_factory=Counter)
    missing: Counter[str] = field(default_factory=Counter)
    replies: int = 0
    prompts: int = 0
    cut: int = 0

    def add(self, built: Sample, results: Sequence[Result]) -> None:
        """Compares the results of one sample.

        Raises:
            RefusedError: One differs from the suite.
        """
        thinking: Any = self.bundle.settings.get("thinking") or {}
        sample = told_to_think(built) if thinking.get("prompt") == "thinking" else built
        self.samples[sample.task] += 1
        self.replies += len(results)
        if len(results) < self.epochs:
            self.missing[sample.task] += self.epochs - len(results)
        for result in results:
            _compare_gold(sample, result, thinking_facets(self.bundle))
        hashes = {result.rows[0].prompt_hash for result in results} - {""}
        prompt = (
            sha256(render(sample, self.texts).encode("utf-8", "surrogatepass")).hexdigest()[:_HASH_DIGITS]
            if hashes
            else ""
        )
        for result in results:
            row = result.rows[0]
            if row.prompt_hash == "" and (row.answered or row.status == "ok"):
                raise RefusedError("prompts", f"sample {row.sample}: it has a reply, but no prompt was sent")
            if row.prompt_hash in ("", prompt):
                self.prompts += row.prompt_hash != ""
            elif row.truncated and self.bundle.settings.get("on_overflow") != "refuse":
                self.cut += 1
            else:
                raise RefusedError(
                    "prompts", f"sample {row.sample}: prompt_hash is {row.prompt_hash}, but its prompt has {prompt}"
                )


def check_suites(bundle: Bundle, suites: Sequence[BuiltSuite]) -> Iterator[Finding]:
    """Compares the samples of a bundle with those of its suites.

    Args:
        bundle: A bundle whose tasks are installed.
        suites: Built suites; those that the bundle does not name are ignored.

    Yields:
        Findings.
    """
    by_print = {str(suite.manifest["fingerprint"]): suite for suite in suites}
    for part in {part.fingerprint: part for part in bundle.parts}.values():
        suite = by_print.get(part.fingerprint)
        if suite is not None:
            try:
                yield from _against(bundle, part, suite)
            except RefusedError as refusal:
                older = refusal.topic == "gold" and suite.manifest.get("format", 1) < SUITE_FORMAT
                yield Finding("refused", refusal.topic, f"{refusal}{_REBUILD if older else ''}")
        elif suites:
            given = ", ".join(f"{built.manifest['suite']} {print}" for print, built in by_print.items())
            yield Finding(
                "refused",
                "suite",
                f"suite {part.suite} with fingerprint {part.fingerprint} is not among the suites to check against "
                f"({given}); run one of these, or check against the suite that was run",
            )
        else:
            yield Finding(
                "unverified",
                "suite",
                f"suite {part.suite} {part.fingerprint} was not given (--suite DIR), so gold answers, prompts and "
                "completeness were not checked",
            )
            yield from _epochs(bundle, part.fingerprint)


def _results_of(bundle: Bundle, fingerprint: str) -> dict[str, list[Result]]:
    by_sample: dict[str, list[Result]] = {}
    for result in bundle.results:
        if bundle.parts[result.part].fingerprint == fingerprint:
            by_sample.setdefault(result.rows[0].sample, []).append(result)
    return by_sample


def _epochs(bundle: Bundle, fingerprint: str) -> Iterator[Finding]:
    """Missing repeats, which can be seen without the suite."""
    results = _results_of(bundle, fingerprint)
    epochs = max(result.rows[0].epoch for repeats in results.values() for result in repeats)
    missing = epochs * len(results) - sum(map(len, results.values()))
    if missing:
        words = f"{several(missing, 'reply')} of repeated samples missing; repeat the `fathom run` command"
        yield Finding("incomplete", "completeness", words)


def _against(bundle: Bundle, part: Part, suite: BuiltSuite) -> Iterator[Finding]:
    """Findings of the comparison with one suite.

    Raises:
        RefusedError: A sample differs from that of the suite.
    """
    name, counted = suite.manifest["suite"], suite.manifest["tokenizer"]
    # The fingerprint includes the vocabulary; its file may have another name on another machine.
    if task_name(part.suite) != task_name(name) or (part.tokenizer != counted and not is_path(counted)):
        stated = (part.suite, part.tokenizer)
        raise RefusedError(
            "suite", f"bundle.json: suite and tokenizer are {stated}, but for this fingerprint they are {name, counted}"
        )
    results = _results_of(bundle, part.fingerprint)
    tasks = {task_name(result.rows[0].task) for repeats in results.values() for result in repeats}
    epochs = max(result.rows[0].epoch for repeats in results.values() for result in repeats)
    seen = _Comparison(bundle, suite.texts(), epochs)
    for built in suite.samples():
        if task_name(built.task) in tasks:
            seen.add(built, results.pop(built.id, []))
    if results:
        raise RefusedError(
            "samples", f"{several(len(results), 'sample is', 'samples are')} not in the suite: {_some(list(results))}"
        )
    yield Finding(
        "verified",
        "gold",
        f"gold answers, chance levels and facets of {several(seen.replies, 'reply')} match the suite",
    )
    yield Finding(
        "verified", "prompts", f"{several(seen.prompts, 'hash', 'hashes')} of prompts match the prompts of the suite"
    )
    if seen.cut:
        words = f"{several(seen.cut, 'prompt was', 'prompts were')} truncated to fit the window; how was not verified"
        yield Finding("unverified", "prompts", words)
    yield from _completeness(part, seen, sorted({*map(task_name, suite.manifest["tasks"])} - tasks))


def _completeness(part: Part, seen: _Comparison, left_out: Sequence[str]) -> Iterator[Finding]:
    epochs, samples = seen.epochs, sum(seen.samples.values())
    not_run = f"; tasks that were not run: {', '.join(left_out)}" if left_out else ""
    repeated = f", {epochs} times each" if epochs > 1 else ""
    if not seen.missing:
        words = (
            f"all samples of suite {part.suite} are there: {several(samples, 'sample')} of "
            f"{several(len(seen.samples), 'task')}{repeated}{not_run}"
        )
        yield Finding("verified", "completeness", words)
        return
    subset = f" (a subset was run: {part.subset})" if part.subset else ""
    some = ", ".join(f"{task} {missing:,}" for task, missing in sorted(seen.missing.items()))
    words = f"{sum(seen.missing.values()):,} of {samples * epochs:,} replies are missing{subset}: {some}{not_run}"
    yield Finding("incomplete", "completeness", words)


def _compare_gold(sample: Sample, result: Result, about: Sequence[str]) -> None:
    """Checks everything that a row and a log say about a sample against the suite."""
    row, log = result.rows[0], result.log
    targets = sample.targets if get_task(sample.task).lines else sample.targets[:1]
    facts: dict[str, tuple[Any, Any]] = {
        "item": (row.item, sample.item),
        "task": (task_name(row.task), task_name(sample.task)),
        "length": (row.length, sample.length),
        "tokens": (row.tokens, sample.tokens),
        "language": (row.language, sample.language),
        "chance": (row.chance, float(sample.chance)),
        "target": (row.target, "\n".join(targets)),
        **_compared_facets(sample, {name: value for name, value in row.facets.items() if name not in about}, log),
    }
    if log is not None:
        facts |= {"targets": (log.targets, sample.targets), "asked": (log.asked, sample.asked)}
    for name, (given, expected) in facts.items():
        if canonical(given) != canonical(expected):
            shown = [printable(ascii(value))[:_SHOWN] for value in (given, expected)]
            raise RefusedError("gold", f"sample {row.sample}: {name} is {shown[0]}, but in the suite it is {shown[1]}")


def _compared_facets(
    sample: Sample, facets: Mapping[str, Facet], log: ReplyLog | None
) -> dict[str, tuple[Any, Mapping[str, Facet]]]:
    """Facets and inputs of a reply, each with those of the suite's sample.

    Replies of earlier versions have one field for both, and without logs only the values of the field show it. A suite
    that was built by an earlier version has no clusters, and its fingerprint is the same.
    """
    known = dict(sample.facets)
    if ("cluster" in facets) != ("cluster" in known):
        facets, known = _without_cluster(facets), _without_cluster(known)
    both = {**known, **sample.inputs}
    given = facets if log is None or log.inputs is None else log.inputs
    if canonical(given) == canonical(facets) and (log is not None or canonical(facets) == canonical(both)):
        return {"facets": (facets, both)}
    inputs = {} if log is None else {"inputs": (log.inputs, sample.inputs)}
    return {"facets": (facets, known), **inputs}


def _without_cluster(facets: Mapping[str, Facet]) -> dict[str, Facet]:
    return {name: value for name, value in facets.items() if name != "cluster"}


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - _NAMED:,} more" if len(names) > _NAMED else ""
    return ", ".join(names[:_NAMED]) + more
