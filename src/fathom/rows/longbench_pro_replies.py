"""Scored replies of LongBench Pro's released code as rows, under the names of our tasks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from fathom.benchmarks.pro.secondary_tasks import (
    BY_NAME,
    DIFFICULTIES,
    LANGUAGES,
    LENGTHS,
    REQUIREMENTS,
    SUMMARY_PASSES_ABOVE,
    Metric,
)
from fathom.rows.longbench_pro_fields import SOURCE, SUITE, Published, choice_of, count_of, score_of, shown
from fathom.types import Facet, FathomError, Row

METRICS: Mapping[Metric, str] = {
    "NDCG": "ndcg",
    "Pairwise_Accuracy": "pairwise_accuracy",
    "Accuracy": "accuracy",
    "F1_Score": "f1",
    "SubEM": "sub_em",
    "Summary": "summary",
}
"""Their names of metrics and those of our tasks."""


def replies_of(records: Iterable[tuple[str, Mapping[str, object]]], published: Published) -> Iterator[Row]:
    """Scored replies as rows: one reply a row, one repeat an epoch.

    A reply that never came, or came empty, was scored 0 by the released code; its row says so in ``detail``.

    Args:
        records: What the released code wrote, each with its place for messages; fields that rows have no use for, the
            reply itself among them, are not read.
        published: What the file's name says.

    Raises:
        FathomError: A field is missing or has an unknown value, or a question has two replies in one repeat.
    """
    seen: dict[tuple[str, int], str] = {}
    for place, record in records:
        row = _row(record, published, place)
        first = seen.setdefault((row.sample, row.epoch), place)
        if first != place:
            raise FathomError(
                f"{place}: a second reply to question {shown(record['id'])} in repeat {row.epoch}, beside {first}; "
                "keep one of them"
            )
        yield row


def _row(record: Mapping[str, object], published: Published, place: str) -> Row:
    task = BY_NAME[choice_of(record, "secondary_task", BY_NAME, place)]
    choice_of(record, "primary_task", (task.primary,), place)
    language = LANGUAGES[choice_of(record, "language", LANGUAGES, place)]
    length = LENGTHS[choice_of(record, "token_length", LENGTHS, place)]
    item = f"{task.task}/{language}/{_id(record, place)}"
    facets: dict[str, Facet] = {
        "dataset": task.name,
        "primary_task": task.primary,
        "secondary_task": task.name,
        "contextual_requirement": choice_of(record, "contextual_requirement", REQUIREMENTS, place),
    }
    if record.get("difficulty") is not None:
        facets["difficulty"] = choice_of(record, "difficulty", DIFFICULTIES, place)
    if task.metric == "Summary":
        facets["pass_above"] = SUMMARY_PASSES_ABOVE
    came = _came(record, place)
    return Row(
        suite=SUITE,
        task=task.task,
        item=item,
        sample=f"{item}@{length}",
        model=published.model,
        length=length,
        value=score_of(record, "metric", place),
        variant=published.variant,
        epoch=count_of(record, "bon_idx", place, least=1),
        valid=came,
        answer="",
        language=language,
        metric=METRICS[task.metric],
        grader=f"{SUITE}/{task.metric}",
        rule="official",
        source=SOURCE,
        detail="" if came else "no reply: the released code scores it 0",
        answered=came if "prediction" in record else None,
        facets={**published.facets, **facets},
    )


def _id(record: Mapping[str, object], place: str) -> str:
    name = record.get("id")
    if isinstance(name, bool) or not isinstance(name, str | int) or not str(name).strip():
        raise FathomError(f"{place}: 'id' is {shown(name)}, expected the name of a question")
    return str(name)


def _came(record: Mapping[str, object], place: str) -> bool:
    """Whether there was a reply; files without replies do not say that there was none."""
    reply = record.get("prediction", "unknown")
    if reply is not None and not isinstance(reply, str):
        raise FathomError(f"{place}: 'prediction' is {shown(reply)}, expected a text")
    return bool(reply and reply.strip())
