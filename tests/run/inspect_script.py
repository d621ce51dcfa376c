"""Run by ``test_inspect_tasks`` in a process of its own: Inspect leaves streams open and changes logging.

Evaluates tasks with a model that answers by matching words: ``inspect_script.py LOG_DIR TASK...``.
"""

from __future__ import annotations

import json
import sys
from random import Random
from typing import Any

from fathom.models.baselines import get_baseline
from fathom.suites.registry import get_task
from fathom.types import AnswerKind

ARGUMENTS = {"length": "512,1k", "items": 4, "tokenizer": "words", "seed": 5}


def answer(prompt: str, kind: AnswerKind) -> str:
    """What the model says: words match, except that every other prompt gets no answer."""
    return "none" if len(prompt) % 2 else get_baseline("fathom/lexical")(prompt, kind, Random(0))


def main(folder: str, names: list[str]) -> None:
    from inspect_ai import eval as evaluate
    from inspect_ai.model import ModelOutput, ModelUsage, get_model

    for name in names:
        kind = get_task(name.removeprefix("fathom/")).answer

        def say(messages: Any, tools: Any, choice: Any, config: Any, kind: AnswerKind = kind) -> ModelOutput:
            output = ModelOutput.from_content("mockllm/model", answer(messages[-1].text, kind))
            output.usage = ModelUsage(input_tokens=7, output_tokens=config.max_tokens)
            return output

        model = get_model("mockllm/model", custom_outputs=say)
        (log,) = evaluate(name, model=model, task_args=ARGUMENTS, log_dir=folder, display="none")
        metrics = log.results.scores[0].metrics if log.results else {}
        print(
            json.dumps([log.eval.task, log.location, {name: metric.value for name, metric in metrics.items()}]),
        )


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
