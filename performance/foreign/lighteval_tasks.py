"""The task that lighteval is given."""

from lighteval.metrics.metrics import Metrics
from lighteval.tasks.lighteval_task import LightevalTaskConfig
from lighteval.tasks.requests import Doc


def prompt(line: dict, task_name: str) -> Doc:
    """A sample of the task; ``specific`` keeps its length."""
    return Doc(
        task_name=task_name,
        query=line["prompt"],
        choices=[line["answer"]],
        gold_index=0,
        specific={"length": line["max_length"], "item": line["item"]},
    )


TASKS_TABLE = [
    LightevalTaskConfig(
        name=f"codes:{length}",
        prompt_function=prompt,
        hf_repo="codes",
        hf_subset="default",
        hf_filter=lambda line, length=length: line["max_length"] == length,
        hf_avail_splits=["test"],
        evaluation_splits=["test"],
        generation_size=32,
        metrics=[Metrics.exact_match, Metrics.f1_score],
        stop_sequence=[],
        version=1,
    )
    for length in (64, 128)
]
