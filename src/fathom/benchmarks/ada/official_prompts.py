"""Reads the prompt of BestAnswer from a copy of Ada-LEval's repository.

``ada_leval/dataset.py`` has its instructions and the texts around the question and the answers, which are read from its
syntax tree. The prompts of TSort are part of the published cases only, and printed in the paper's appendix: nothing to
read them from is in the repository.
"""

import re
from collections.abc import Mapping

from fathom.documents.sources.python_texts import texts_in, texts_named
from fathom.documents.sources.wording import GAP
from fathom.types import FathomError, PromptSource

CODE = "ada_leval/dataset.py"
CLASS = "StackSelect"
_EXAMPLE = re.compile(r"\(e\.g\. ?(A[0-9]+)")


def read(contents: Mapping[str, str]) -> dict[str, dict[str, str]]:
    """The texts of BestAnswer.

    Args:
        contents: The content of the file by path.

    Raises:
        FathomError: A text is not where it is expected.
    """
    code = texts_in(contents[CODE], CODE)
    (instructions,) = texts_named(code, "meta_prompt", f"{CLASS}.__init__")[-1:]
    steps = texts_named(code, "prompt", f"{CLASS}.build_prompt")
    if len(steps) != 5:
        raise FathomError(f"{CODE}: {CLASS}.build_prompt: expected five texts, found {len(steps)}")
    before, question, between, answer, closing = steps
    texts = instructions.template({}) + before.template({})
    expressions = [piece for piece, is_expression in answer.pieces if is_expression]
    if len(expressions) != 2:
        raise FathomError(f"{CODE}: {CLASS}.build_prompt: expected a label and an answer")
    text = expressions[1]
    header, end = answer.between("", text).template({"str(j)": "{number}"}), answer.between(text, "").template({})
    if end != GAP:
        raise FathomError(f"{CODE}: {CLASS}.build_prompt: expected an empty line after an answer")
    example = _EXAMPLE.search(texts)
    return {
        task: {
            "intro": texts,
            "between": question.between("line['question']", "").template({}) + between.template({}),
            "header": GAP + header,
            "closing": closing.template({}),
            **({"example": example[1]} if example else {}),
        }
        for task in TASKS_WITH_PROMPT
    }


TASKS_WITH_PROMPT = ("bestanswer", "bestanswer_published", "leader_bestchoice")
PROMPT_SOURCES = (
    PromptSource(
        name="Ada-LEval",
        repository="github.com/open-compass/Ada-LEval",
        tasks=TASKS_WITH_PROMPT,
        files=(CODE,),
        read=read,
    ),
)
