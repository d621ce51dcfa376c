"""The check of one bundle before it is accepted, in a separate process with limits of time and memory.

python -m fathom.board.serve.checking ORDER    # JSON as ``check_of`` writes it; prints the result as JSON
"""

from __future__ import annotations

import json
import logging
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from fathom.board.serve.limits import Limits
from fathom.board.serve.process import run_process
from fathom.printing import printable
from fathom.suites.registry import boards
from fathom.types import FathomError

if TYPE_CHECKING:
    from fathom.board.bundles.bundle import Bundle
    from fathom.board.bundles.check import Checked
    from fathom.board.bundles.findings import Finding as Found
    from fathom.board.serve.own import OwnResults

MEMORY = 8 << 30
"""Bytes of address space of a check; libraries reserve more than they use."""
FILE = 1 << 30
"""Bytes of the largest file that a check may write."""
_FINDINGS, _WORDS = 200, 1000
_MENDABLE, _NO_MEMORY = 2, 3
log = logging.getLogger("fathom.board")


@dataclass(frozen=True, slots=True)
class Policy:
    """Requirements for bundles beyond those of the bundle check.

    Attributes:
        suites: Folders of built suites, against whose answers replies are scored again.
        any_suite: Accept bundles of other suites too, whose scores can only be compared with their own references.
        without_logs: Accept bundles without replies, whose scores cannot be recomputed.
        names: Models of the site's own results.
    """

    suites: tuple[Path, ...] = ()
    any_suite: bool = False
    without_logs: bool = False
    names: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Finding:
    """One finding of the check: its level, its topic for counting, and its text."""

    level: str
    topic: str
    words: str


@dataclass(frozen=True, slots=True)
class CheckResult:
    """The result of checking a bundle.

    Attributes:
        model: Its model; "" if it could not be read.
        variant: What distinguishes its runs.
        created: Day of its last reply.
        suites: Names of its suites.
        findings: At most 200 findings.
        reasons: Why it is refused; empty if it is accepted.
    """

    model: str = ""
    variant: str = ""
    created: str = ""
    suites: tuple[str, ...] = ()
    findings: tuple[Finding, ...] = ()
    reasons: tuple[str, ...] = ()


Check: TypeAlias = Callable[[Path], CheckResult]
"""Checks the file of a bundle; raises FathomError for problems other than those of the bundle."""


def check_of(policy: Policy, limits: Limits, stopping: threading.Event, own: OwnResults | None = None) -> Check:
    """The check in a separate process.

    Args:
        policy: Requirements for bundles.
        limits: Maximum size of a bundle and time of its check.
        stopping: Ends running checks when it is set.
        own: Results on the site to compare bundles with.
    """
    seconds = limits.check_seconds
    order = asdict(policy) | {"suites": [str(folder.resolve()) for folder in policy.suites]}
    order |= {"limits": asdict(limits)}

    def check(path: Path) -> CheckResult:
        command = [sys.executable, "-m", __name__, json.dumps(order | {"bundle": str(path)})]
        end = run_process(command, seconds, stopping)
        if stopping.is_set() and end.code != 0:
            raise FathomError("the server is stopping; send the bundle again later")
        if end.code == 0:
            verdict = _parsed(json.loads(end.out))
            copied = _copied(own, path, verdict.model) if own and not verdict.reasons else ()
            return replace(verdict, findings=(*copied, *verdict.findings))
        if end.code == _MENDABLE:
            raise FathomError(end.err.strip())
        return CheckResult(reasons=(_cut_short(end.code, seconds),))

    return check


def _copied(own: OwnResults, path: Path, model: str) -> list[Finding]:
    """Findings for moderators about replies that are the same as those of the site's own results."""
    from fathom.board.likeness import unpacked

    prints = unpacked(prints_path(path).read_bytes())
    try:
        return [Finding("flagged", "replies", _one_line(words)) for words in own.copied(model, prints)]
    except FathomError as error:
        log.error("%s", printable(str(error)))
        # Moderators can decide without it: the site also shows what results have in common.
        words = "whether its replies are those of the site's own results"
        return [Finding("unverified", "replies", words)]


def _parsed(record: Mapping[str, Any]) -> CheckResult:
    lists = {name: tuple(record[name]) for name in ("suites", "reasons")}
    return CheckResult(**{**record, **lists, "findings": tuple(Finding(**finding) for finding in record["findings"])})


def _cut_short(code: int | None, seconds: float) -> str:
    if code is None:
        return f"the check took more than {seconds:g} seconds, the limit of this server; send fewer runs at once"
    if code == _NO_MEMORY:
        return f"the check took more than {MEMORY >> 30} GiB of memory, the limit here; send fewer runs at once"
    return f"the check ended with status {code}; ask the operator of this server"


def check_bundle(path: Path, policy: Policy, limits: Limits) -> CheckResult:
    """Checks a bundle in this process.

    Args:
        path: Its file.
        policy: Requirements for bundles.
        limits: Maximum size and time of the check.

    Raises:
        FathomError: A suite folder cannot be read.
    """
    from fathom.board.answers import answers_of
    from fathom.board.bundles.check import check
    from fathom.board.bundles.opening import LIMITS
    from fathom.board.likeness import packed, prints_of

    # Slightly less time than the process has, for a better message than that of a killed process.
    bounds = replace(LIMITS, file_bytes=min(LIMITS.file_bytes, limits.bundle_bytes), seconds=0.8 * limits.check_seconds)
    checked = check(path, policy.suites, bounds)
    known = _fingerprints(policy.suites)
    if policy.any_suite and checked.bundle and not {part.fingerprint for part in checked.bundle.parts} <= known.keys():
        some = [known[part.fingerprint] for part in checked.bundle.parts if part.fingerprint in known]
        checked = check(path, some, bounds)
    bundle = checked.bundle
    findings: list[Finding] = []
    if bundle:
        findings += [*_names(bundle, policy.names), *_nowhere(bundle)]
        prints_path(path).write_bytes(packed(prints_of(answers_of(bundle))))
    return CheckResult(
        model=_one_line(bundle.model) if bundle else "",
        variant=_one_line(bundle.variant) if bundle else "",
        created=_one_line(bundle.created) if bundle else "",
        suites=tuple(dict.fromkeys(_one_line(part.suite) for part in bundle.parts)) if bundle else (),
        findings=(*findings, *(_finding(finding) for finding in checked.findings[:_FINDINGS])),
        reasons=tuple(_reasons(checked, policy, known)[:_FINDINGS]),
    )


def _fingerprints(suites: Sequence[Path]) -> dict[str, Path]:
    from fathom.suites.suitefile import read_manifest

    return {str(read_manifest(folder)["fingerprint"]): folder for folder in suites}


def _reasons(checked: Checked, policy: Policy, known: Mapping[str, Path]) -> list[str]:
    reasons = [_one_line(finding.words) for level in ("refused", "incomplete") for finding in checked.of(level)]
    if not reasons and not checked.complete:
        reasons.append("the bundle is not complete")
    if checked.bundle is None:
        return reasons
    if not checked.bundle.logs and not policy.without_logs:
        reasons.append("the bundle has no replies, so scores cannot be recomputed; bundle with --logs")
    if not policy.any_suite and not reasons:
        reasons += _strangers(checked.bundle, known)
    return reasons


def _nowhere(bundle: Bundle) -> list[Finding]:
    """Findings for moderators about suites without a declared board."""
    known = {suite for board in boards().values() for suite in board.suites}
    left = dict.fromkeys(part.suite for part in bundle.parts if part.suite not in known)
    return [
        Finding("unverified", "board", f"suite {_one_line(suite)} has no declared board; it gets a new one")
        for suite in left
    ]


def _strangers(bundle: Bundle, known: Mapping[str, Path]) -> list[str]:
    return [
        f"this server has no answers for suite {_one_line(part.suite)} with fingerprint "
        f"{_one_line(part.fingerprint)[:12]}; ask its operator which suites it accepts"
        for part in bundle.parts
        if part.fingerprint not in known
    ]


def _finding(finding: Found) -> Finding:
    return Finding(finding.level, _one_line(finding.topic), _one_line(finding.words))


def _names(bundle: Bundle, own: Sequence[str]) -> Iterator[Finding]:
    """Findings for moderators about a name that is on the site already."""
    from fathom.board.likeness import same_name
    from fathom.board.published import published_models

    suites = {part.suite for part in bundle.parts}
    for board in boards().values():
        models = {model for model in published_models().get(board.id, ()) if same_name(model, bundle.model)}
        if models and suites & set(board.suites):
            words = f"the name is that of a published entry of {board.title} ({_one_line(min(models))})"
            yield Finding("flagged", "name", f"{words}: state it if it is another model, or another run of it")
    if any(same_name(name, bundle.model) for name in own):
        yield Finding("flagged", "name", "the name is that of one of the site's own results")


def prints_path(bundle: Path) -> Path:
    """The file in which a check leaves the prints of a bundle's replies."""
    return bundle.with_suffix(".prints")


def _one_line(text: str) -> str:
    """Text from a bundle in one line of bounded length."""
    return printable(text if len(text) <= _WORDS else f"{text[:_WORDS]}...")


def _limit(seconds: float) -> None:
    """Limits of this process; its parent may be gone when they are reached."""
    import resource

    for name, most in (("AS", MEMORY), ("FSIZE", FILE), ("CPU", int(seconds * 4) + 1), ("CORE", 0)):
        kind = getattr(resource, f"RLIMIT_{name}", None)
        if kind is not None:
            hard = resource.getrlimit(kind)[1]
            most = most if hard == resource.RLIM_INFINITY else min(most, hard)
            resource.setrlimit(kind, (most, most))


def main(order: Mapping[str, Any]) -> int:
    """Checks one bundle, prints the result, and returns the exit status."""
    limits = Limits(**order["limits"])
    _limit(limits.check_seconds)
    policy = Policy(tuple(map(Path, order["suites"])), order["any_suite"], order["without_logs"], tuple(order["names"]))
    try:
        print(json.dumps(asdict(check_bundle(Path(order["bundle"]), policy, limits))))
    except FathomError as error:
        print(error, file=sys.stderr)
        return _MENDABLE
    except MemoryError:
        return _NO_MEMORY
    return 0


if __name__ == "__main__":
    sys.exit(main(json.loads(sys.argv[1])))
