"""Checks of a bundle: errors, missing results, what is verified, and what cannot be verified."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

from fathom.board.bundles.bundle import RULES, Bundle, hashed
from fathom.board.bundles.findings import LEVELS, Finding, Level, RefusedError
from fathom.board.bundles.opening import LIMITS, Limits, parse_bundle, read_limited
from fathom.board.bundles.rescoring import check_scores
from fathom.board.bundles.suite_check import check_suites
from fathom.plugins import loading
from fathom.printing import readable, several
from fathom.storage.versions import fathom_version
from fathom.suites.registry import suites as known_suites
from fathom.suites.registry import task_name
from fathom.suites.registry import tasks as known_tasks
from fathom.suites.suitefile import BuiltSuite, open_suite
from fathom.types import Json


@readable
@dataclass(frozen=True)
class Checked:
    """The result of checking a bundle.

    Attributes:
        findings: The findings, errors first.
        bundle: The content; None if it could not be read.
        sha256: Of the file, in hexadecimal digits; "" if the file is too large.
    """

    findings: tuple[Finding, ...]
    bundle: Bundle | None
    sha256: str

    @property
    def accepted(self) -> bool:
        """Whether there are no errors."""
        return not self.of("refused")

    @property
    def complete(self) -> bool:
        """Whether there are no errors and nothing is missing, so that its scores can be shown on a board."""
        return self.accepted and not self.of("incomplete")

    def of(self, level: Level) -> tuple[Finding, ...]:
        """The findings of one level."""
        return tuple(finding for finding in self.findings if finding.level == level)

    def json(self) -> dict[str, Json]:
        """The findings and a description of the bundle, as JSON."""
        about: dict[str, Json] = {} if self.bundle is None else {
            "model": self.bundle.model,
            "variant": self.bundle.variant,
            "created": self.bundle.created,
            "suites": [part.suite for part in self.bundle.parts],
            "replies": len(self.bundle.results),
        }  # fmt: skip
        findings: list[Json] = [asdict(finding) for finding in self.findings]
        return {
            "accepted": self.accepted,
            "complete": self.complete,
            "sha256": self.sha256,
            **about,
            "findings": findings,
        }


def check(path: Path, suites: Sequence[Path] = (), limits: Limits = LIMITS, today: date | None = None) -> Checked:
    """Validates a bundle.

    Problems of the file become findings, not exceptions.

    Args:
        path: The file.
        suites: Folders of built suites to check it against.
        limits: Maximum sizes.
        today: The day of the check; by default today.

    Raises:
        FathomError: The file or a suite folder cannot be read.
    """
    built = [open_suite(folder) for folder in suites]
    for suite in built:
        loading.use_again(suite.manifest.get("plugins"), suite.folder)
    sha, bundle = "", None
    findings: list[Finding] = []
    try:
        data = read_limited(path, limits)
        sha = hashed(data)
        bundle = parse_bundle(data, limits)
        findings += _of_bundle(bundle, built, limits, today or datetime.now(UTC).date())
    except RefusedError as refusal:
        findings.append(Finding("refused", refusal.topic, str(refusal)))
    return Checked(tuple(sorted(findings, key=lambda finding: LEVELS.index(finding.level))), bundle, sha)


def _of_bundle(bundle: Bundle, built: Sequence[BuiltSuite], limits: Limits, today: date) -> Iterator[Finding]:
    """The findings of a bundle that can be read.

    Raises:
        RefusedError: Its date is in the future, or its tasks are unknown here.
    """
    # One more day, for other time zones.
    if bundle.created > str(today + timedelta(days=1)):
        raise RefusedError("fields", f"bundle.json: created is {bundle.created}, which is in the future")
    _check_known(bundle, built)
    rows = several(len(RULES) * len(bundle.results), "row")
    yield Finding("verified", "hashes", f"all hashes match: {rows} of {several(len(bundle.results), 'reply')}")
    yield from check_scores(bundle, limits.seconds)
    yield from check_suites(bundle, built)
    yield Finding("unverified", "source", _source(bundle))
    scored = str(bundle.versions.get("scored by", ""))
    if scored != fathom_version():
        words = f"scored with fathom {scored or '(unknown)'}, checked with {fathom_version()}: scorers may differ"
        yield Finding("unverified", "version", words)


def _source(bundle: Bundle) -> str:
    return (
        f"that the replies come from {bundle.model}, with the stated settings, and that tokens, seconds and cost are "
        "as stated"
    )


def _check_known(bundle: Bundle, built: Sequence[BuiltSuite]) -> None:
    suites = {*known_suites(), *(task_name(str(suite.manifest["suite"])) for suite in built)}
    for part in bundle.parts:
        if task_name(part.suite) not in suites:
            raise RefusedError(
                "unknown", f"suite {part.suite!r} is unknown here; install its package, or give `suite` DIR"
            )
        tasks = [task for task in part.tasks if task_name(task) not in known_tasks()]
        if tasks:
            raise RefusedError("unknown", f"task {tasks[0]!r} is unknown here; install its package")
