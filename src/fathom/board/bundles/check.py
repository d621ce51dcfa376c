"""Checks of a bundle: what is wrong with it, what is missing, what is sure, and what nobody can tell from it."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

from fathom import plugins
from fathom.board.bundles.bundle import RULES, Bundle, hashed
from fathom.board.bundles.findings import LEVELS, Finding, Level, RefusedError
from fathom.board.bundles.opening import LIMITS, Limits, parse_bundle, read_limited
from fathom.board.bundles.rescoring import check_scores
from fathom.board.bundles.suite_check import check_suites
from fathom.printing import readable
from fathom.registry import suites as known_suites
from fathom.registry import task_name
from fathom.registry import tasks as known_tasks
from fathom.run.manifest import fathom_version
from fathom.suitefile import BuiltSuite, open_suite
from fathom.types import Json


@readable
@dataclass(frozen=True)
class Checked:
    """What a check of a bundle has found.

    Attributes:
        findings: What was found, what is wrong first.
        bundle: The content; None where it could not be read.
        sha256: Of the file, in hexadecimal digits; "" where the file is too large to be read.
    """

    findings: tuple[Finding, ...]
    bundle: Bundle | None
    sha256: str

    @property
    def accepted(self) -> bool:
        """Whether nothing is wrong with it."""
        return not self.of("refused")

    @property
    def complete(self) -> bool:
        """Whether nothing is wrong with it and nothing is missing from it, so that its scores may stand on a board."""
        return self.accepted and not self.of("incomplete")

    def of(self, level: Level) -> tuple[Finding, ...]:
        """The findings of one level."""
        return tuple(finding for finding in self.findings if finding.level == level)

    def json(self) -> dict[str, Json]:
        """The findings as JSON, and what the bundle is."""
        about: dict[str, Json] = {} if self.bundle is None else {
            "model": self.bundle.model,
            "variant": self.bundle.variant,
            "created": self.bundle.created,
            "suites": [part.suite for part in self.bundle.parts],
            "replies": len(self.bundle.results),
        }  # fmt: skip
        found: list[Json] = [asdict(finding) for finding in self.findings]
        return {"accepted": self.accepted, "complete": self.complete, "sha256": self.sha256, **about, "findings": found}


def check(path: Path, suites: Sequence[Path] = (), limits: Limits = LIMITS, today: date | None = None) -> Checked:
    """Check a bundle.

    What is in the file, whatever it is, becomes a finding; it never raises.

    Args:
        path: The file.
        suites: Folders of built suites that it is checked against.
        limits: How much it may hold.
        today: The day of the check; by default that of the clock.

    Raises:
        FathomError: The file or a suite folder cannot be read.
    """
    built = [open_suite(folder) for folder in suites]
    for suite in built:
        plugins.use_again(suite.manifest.get("plugins"), suite.folder)
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
    """What is found in a bundle that can be read.

    Raises:
        RefusedError: It is of another time, or of tasks that are not known here.
    """
    # A day more, for whoever is ahead of us on the globe.
    if bundle.created > str(today + timedelta(days=1)):
        raise RefusedError("fields", f"bundle.json: created is {bundle.created}, which is still to come")
    _check_known(bundle, built)
    rows = f"{len(RULES) * len(bundle.results):,} rows"
    yield Finding(
        "verified", "hashes", f"the file is whole: {rows} of {len(bundle.results):,} replies, hashes are right"
    )
    yield from check_scores(bundle, limits.seconds)
    yield from check_suites(bundle, built)
    yield Finding("unverified", "source", _source(bundle))
    scored = str(bundle.versions.get("scored by", ""))
    if scored != fathom_version():
        words = (
            f"scored by fathom {scored or '(unknown)'}, checked by {fathom_version()}: scorers may differ by version"
        )
        yield Finding("unverified", "version", words)


def _source(bundle: Bundle) -> str:
    return (
        f"that the replies come from {bundle.model}, asked as the settings say, and took the tokens, seconds and cost "
        "that are given"
    )


def _check_known(bundle: Bundle, built: Sequence[BuiltSuite]) -> None:
    suites = {*known_suites(), *(task_name(str(one.manifest["suite"])) for one in built)}
    for part in bundle.parts:
        if task_name(part.suite) not in suites:
            raise RefusedError(
                "unknown", f"suite {part.suite!r} is not known here; install its package, or give --suite DIR"
            )
        tasks = [task for task in part.tasks if task_name(task) not in known_tasks()]
        if tasks:
            raise RefusedError(
                "unknown", f"task {tasks[0]!r} is not known here; install the package that it comes from"
            )
