"""Metrics by name: those of ``fathom.benchmarks``, and those of other packages (``fathom.discovery``).

A metric is named ``SUITE/METRIC`` and has one scorer a rule: ``official`` equals the released code of its paper, faults
and all; ``strict`` has the known faults mended.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from fathom.discovery import declared
from fathom.names import unknown
from fathom.types import FathomError, Sample, Verdict

RULES = ("official", "strict")


@dataclass(frozen=True, slots=True)
class ScoringRow:
    """What a scorer may look at: a reply and its gold answers, as they stand in a file of anyone's.

    Attributes:
        prediction: The reply; scorers say what they make of anything but a string.
        answers: Gold answers, as a list or not.
        all_classes: Labels to choose from, where the task has them.
        language: ``en``, ``zh`` or as the source names it; "" if it does not.
        dataset: The source's name of the task; some official rules depend on it.
        extra: Whatever else the source gives.
    """

    prediction: object
    answers: object
    all_classes: object = None
    language: str = ""
    dataset: str = ""
    extra: Mapping[str, object] = field(default_factory=dict)


Scorer: TypeAlias = Callable[[ScoringRow], Verdict]


@dataclass(frozen=True, slots=True)
class Metric:
    """Declaration of a metric.

    Attributes:
        suite: Name of the suite whose rule it is.
        name: Name within the suite.
        rules: Scorer of each rule.
        description: One line for ``fathom list metrics``.
    """

    suite: str
    name: str
    rules: Mapping[str, Scorer]
    description: str

    @property
    def full_name(self) -> str:
        """``SUITE/METRIC``."""
        return f"{self.suite}/{self.name}"


def metrics() -> Mapping[str, Metric]:
    """All metrics by their full name, in the order of these."""
    return declared("metrics", lambda metric: metric.full_name, order=lambda metric: metric.full_name)


def get_metric(full_name: str) -> Metric:
    """The metric of that name.

    Raises:
        FathomError: There is none; the message names similar ones.
    """
    known = metrics()
    if full_name in known:
        return known[full_name]
    raise unknown("metric", full_name, known, see="fathom list metrics")


def get_scorer(full_name: str, rule: str = "official") -> Scorer:
    """The scorer of a metric under a rule.

    Raises:
        FathomError: There is no such metric, or it has no such rule.
    """
    found = get_metric(full_name).rules
    if rule not in found:
        raise FathomError(f"metric {full_name!r} has no rule {rule!r}; it has {' and '.join(sorted(found))}")
    return found[rule]


def row_of(reply: str, sample: Sample) -> ScoringRow:
    """A reply to a sample as scorers read it; official rules depend on its inputs ``dataset`` and ``classes``.

    Args:
        reply: The reply.
        sample: The sample.
    """
    classes, dataset = sample.inputs.get("classes"), sample.inputs.get("dataset", sample.task)
    return ScoringRow(
        reply,
        list(sample.targets),
        json.loads(classes) if isinstance(classes, str) else None,
        sample.language,
        str(dataset),
        sample.inputs,
    )


def crash(exception: str, why: str) -> Verdict:
    """The official verdict where the released code stops with an exception: no score, and which exception."""
    return Verdict(None, valid=False, grader="official", detail=f"{exception}: {why}")
