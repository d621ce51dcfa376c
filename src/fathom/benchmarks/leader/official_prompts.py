"""Reads the prompts of LongLeader's data sets of InfiniteBench from a copy of InfiniteBench's repository.

``src/prompt.py`` has a dictionary of templates for each model; those for GPT-4, the first ones, are used. The sentence
before the list of Math.Find is an f-string of ``src/eval_utils.py``. Both are read from their syntax trees. LongLeader
itself published no prompts.
"""

from collections.abc import Mapping

from fathom.benchmarks.leader.prompts import LONG
from fathom.documents.sources.python_texts import texts_in, texts_named
from fathom.documents.sources.wording import CONTEXT
from fathom.types import FathomError, PromptSource

TEMPLATES, CODE = "src/prompt.py", "src/eval_utils.py"
MODEL = "gpt4_templates"


def read(contents: Mapping[str, str]) -> dict[str, dict[str, str]]:
    """The texts around the context by task.

    Args:
        contents: The content of both files by path.

    Raises:
        FathomError: A template has no context, or a text is not where it is expected.
    """
    known = {text.name: text for text in texts_in(contents[TEMPLATES], TEMPLATES) if text.owner == MODEL}
    if not known:
        return {}
    prefix = texts_named(texts_in(contents[CODE], CODE), "prefix", "create_prompt")[-1].template(
        {"target_number": "{target}"}
    )
    values = {f"{{OPTION_{letter}}}": f"{{{letter}}}" for letter in "ABCD"}
    values |= {"{input}": "{question}", "{prefix}": prefix}
    prompts = {}
    for dataset, kind in LONG.items():
        if dataset not in known:
            continue
        template = known[dataset].template({})
        for name, value in values.items():
            template = template.replace(name, value)
        before, gap, after = template.partition(CONTEXT)
        if not gap:
            raise FathomError(f"{TEMPLATES}: {dataset}: expected {CONTEXT} in the template")
        prompts[kind.name] = {"before": before, "after": after}
    return prompts


PROMPT_SOURCES = (
    PromptSource(
        name="InfiniteBench",
        repository="github.com/OpenBMB/InfiniteBench",
        tasks=tuple(kind.name for kind in LONG.values()),
        files=(TEMPLATES, CODE),
        read=read,
    ),
)
