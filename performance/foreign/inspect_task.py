"""The tasks that Inspect is given."""

from inspect_ai import Task, task
from inspect_ai.dataset import Sample, json_dataset
from inspect_ai.scorer import exact, includes
from inspect_ai.solver import generate


def _sample(line: dict) -> Sample:
    return Sample(
        input=line["prompt"],
        target=line["answer"],
        id=line["id"],
        metadata={"max_length": line["max_length"], "item": line["item"]},
    )


@task
def codes() -> Task:
    """Two scorers, two epochs."""
    return Task(
        dataset=json_dataset("codes.jsonl", _sample, name="codes"),
        solver=generate(),
        scorer=[includes(), exact()],
        epochs=2,
    )


@task
def codes_without_length() -> Task:
    """The short samples, without a length in their metadata."""
    data = json_dataset("codes_64.jsonl", _sample, name="codes")
    for one in data:
        one.metadata = None
    return Task(dataset=data, solver=generate(), scorer=includes())
