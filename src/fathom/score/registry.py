"""Metrics by name: those of ``fathom.benchmarks``, and those of other packages (``fathom.plugins.discovery``).

A metric is named ``SUITE/METRIC`` and has one scorer per rule: ``official`` equals the released code of its paper,
including its faults; in ``strict`` known faults are corrected.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TypeAlias

from fathom.plugins.discovery import declared
from fathom.plugins.names import unknown
from fathom.types import FathomError, Sample, Score

RULES = ("official", "strict")


@dataclass(frozen=True, slots=True)
class ScoringRow:
    """The input of a scorer: a reply and its gold answers, from any file.

    Attributes:
        prediction: The reply; scorers decide about non-strings.
        answers: Gold answers, as a list or not.
        all_classes: Possible labels, if the task has them.
        language: ``en``, ``zh`` or as the source names it, or "".
        dataset: The source's name of the task; some official rules depend on it.
        extra: Other fields of the source.
        asked: The bare question, or the key whose value is asked for; "" if unknown. Official rules ignore it.
    """

    prediction: object
    answers: object
    all_classes: object = None
    language: str = ""
    dataset: str = ""
    extra: Mapping[str, object] = field(default_factory=dict)
    asked: str = ""


Scorer: TypeAlias = Callable[[ScoringRow], Score]


@dataclass(frozen=True, slots=True)
class Metric:
    """Declaration of a metric.

    Attributes:
        suite: Name of the suite that defines it.
        name: Name within the suite.
        rules: Scorer by rule.
        description: One line for ``fathom list metrics``.
        alias: Another name of the suite, accepted wherever the metric is named; "" for none.
    """

    suite: str
    name: str
    rules: Mapping[str, Scorer]
    description: str
    alias: str = ""

    @classmethod
    def of(cls, suite: str, name: str, official: Scorer, strict: Scorer, description: str, alias: str = "") -> "Metric":
        """A metric with both rules."""
        return cls(suite, name, MappingProxyType({"official": official, "strict": strict}), description, alias)

    @property
    def full_name(self) -> str:
        """``SUITE/METRIC``."""
        return f"{self.suite}/{self.name}"


def metrics() -> Mapping[str, Metric]:
    """All metrics by their full name."""
    return declared("metrics", lambda metric: metric.full_name, order=lambda metric: metric.full_name)


def metric_name(full_name: str) -> str:
    """The name of a metric, given that or one with the alias of its suite."""
    aliases = {metric.alias: metric.suite for metric in metrics().values() if metric.alias}
    suite, slash, name = full_name.partition("/")
    return f"{aliases.get(suite, suite)}{slash}{name}"


def get_metric(full_name: str) -> Metric:
    """The metric of that name.

    Raises:
        FathomError: It does not exist; the message names similar ones.
    """
    known, name = metrics(), metric_name(full_name)
    if name in known:
        return known[name]
    raise unknown("metric", name, known, see="fathom list metrics")


def get_scorer(full_name: str, rule: str = "official") -> Scorer:
    """The scorer of a metric under a rule.

    Raises:
        FathomError: The metric does not exist, or does not have the rule.
    """
    rules = get_metric(full_name).rules
    if rule not in rules:
        raise FathomError(f"metric {full_name!r} has no rule {rule!r}; it has {' and '.join(sorted(rules))}")
    return rules[rule]


def row_of(reply: str, sample: Sample) -> ScoringRow:
    """A reply to a sample as the input of a scorer; official rules use its inputs ``dataset`` and ``classes``."""
    classes, dataset = sample.inputs.get("classes"), sample.inputs.get("dataset", sample.task)
    return ScoringRow(
        reply,
        list(sample.targets),
        json.loads(classes) if isinstance(classes, str) else None,
        sample.language,
        str(dataset),
        sample.inputs,
        str(sample.inputs.get("key") or sample.asked),
    )


def unscored(rule: str, why: str = "no reply: the prediction is not a string") -> Score:
    """The score of a row that cannot be scored: none, with the reason."""
    return Score(None, valid=False, grader=rule, detail=why)


def strict_score(reply: str, sample: Sample, metric: str) -> Score:
    """The score of a reply by the rule ``strict`` of a metric; bound to its metric it is the ``score`` of a task."""
    return get_scorer(metric, "strict")(row_of(reply, sample))


class Crash(Score):
    """The official score where the released code raises an exception."""

    __slots__ = ()


def crash(exception: str, why: str) -> Crash:
    """The official score where the released code raises an exception: none, with that exception."""
    return Crash(None, valid=False, grader="official", detail=f"{exception}: {why}")
