"""Reads the prompts of 100-LongBench from a copy of its repository.

A prompt is a template of ``config/dataset2prompt.json`` with ``{context}``, ``{instruction}`` and ``{input}``. The
texts of the latter two, the headings of passages and the hidden sentences are f-strings of ``utils/data_utils.py``,
which are read from its syntax tree.
"""

from collections.abc import Mapping

from fathom.documents.sources.python_texts import Text, texts_in, texts_named
from fathom.documents.sources.templates import read_object
from fathom.documents.sources.wording import around_context
from fathom.types import FathomError, PromptSource

TEMPLATES, CODE = "config/dataset2prompt.json", "utils/data_utils.py"
NAMES = {
    "single_doc_qa": "single_doc_qa",
    "multi_doc_qa": "multi_doc_qa",
    "single_doc_summary": "single_doc_sum",
    "multi_doc_summary": "multi_doc_sum",
    "passage_retrieval": "passage_retrieval",
    "passage_count": "passage_count",
    "kv_retrieval": "kv_retrieval",
    "counting_stars": "counting_stars",
    "counting_stars_corrected": "counting_stars",
}
"""The paper's names of the tasks in its code."""
CLOSED = "qa_old"
_NUMBER = {"i + 1": "{number}", "c_i + 1": "{number}"}
_NUMBERS = "','.join(map(str, num))"


def read(contents: Mapping[str, str]) -> dict[str, dict[str, str]]:
    """The texts of all tasks.

    Args:
        contents: The content of both files by path.

    Raises:
        FathomError: A text is not where it is expected.
    """
    templates = read_object(contents[TEMPLATES], TEMPLATES, dict[str, str])
    if "single_doc_qa" not in templates:
        return {}  # LongBench has a file of the same name
    code = texts_in(contents[CODE], CODE)
    return {task: _texts(task, name, templates, code) for task, name in NAMES.items() if name in templates}


def _texts(task: str, name: str, templates: Mapping[str, str], code: tuple[Text, ...]) -> dict[str, str]:
    function = f"generate_dataset_{name}"
    (passage,) = texts_named(code, "context", function)[-1:]
    header, end = _passage(passage)
    whole = around_context(templates[name], f"{TEMPLATES}: {name}", context_end=end)
    intro, frame = whole["intro"], whole["question"]
    if name.endswith("qa"):
        named_passages = {**_NUMBER, _NUMBERS: "{numbers}"}
        instruction = texts_named(code, "instruction", function)[-1].template(named_passages)
        question = frame.replace("{instruction}", instruction).replace("{input}", "{question}")
        closed = {"closed": templates[CLOSED].replace("{input}", "{question}")} if CLOSED in templates else {}
        return {"intro": intro, "header": header, "question": question, **closed, **_listing(name, code, function)}
    if name.endswith("sum"):
        instruction = texts_named(code, "instruction", function)[-1].template({**_NUMBER, _NUMBERS: "{numbers}"})
        with_query, without = (
            prompt.template({"instruction": instruction, "inp": "{query}"})
            for prompt in texts_named(code, "input", function)[-2:]
        )
        texts = {"intro": intro, "header": header, "question": frame.replace("{input}", without)}
        query = {"query": frame.replace("{input}", with_query)} if name == "single_doc_sum" else {}
        return {**texts, **query, **_listing(name, code, function)}
    if name == "kv_retrieval":
        pair = texts_named(code, "key_value[p]", function)[-1].template({"keys[i]": "{key}", "keys[i + 1]": "{value}"})
        asked = texts_named(code, "input", function)[-1].template({"keys[0]": "{key}"})
        return {"intro": intro, "needle": pair.strip(), "question": frame.replace("{input}", asked)}
    if name == "counting_stars":
        return {"intro": intro, **_stars(frame, code, function, corrected=task.endswith("corrected"))}
    return {"intro": intro, "header": header, "question": frame.replace("{input}", "{summary}")}


def _passage(passage: Text) -> tuple[str, str]:
    """The heading of a passage, and the space after its text."""
    expressions = [piece for piece, is_expression in passage.pieces if is_expression]
    if len(expressions) != 3:
        raise FathomError(f"{CODE}: {passage.function}: context: expected a number and a text")
    before, _, text = expressions
    end = passage.between(text, "").template({})
    return passage.between(before, text).template(_NUMBER), end


def _listing(name: str, code: tuple[Text, ...], function: str) -> dict[str, str]:
    """How several passages are named in one prompt."""
    if not name.startswith("multi"):
        return {}
    each = [text for text in code if text.function == function and text.name == "num.append"]
    return {"each": each[-1].template(_NUMBER) if each else "{number}", "separator": ","}


def _stars(frame: str, code: tuple[Text, ...], function: str, corrected: bool) -> dict[str, str]:
    condition = f"test_type == '{'Reasoning' if corrected else 'Acquisition'}'"
    counts = {"a_stars": "{count}", "r_stars": "{wrong}"}
    needle = texts_named(code, "single_star", function, condition)[-1].template(counts)
    start = texts_named(code, "question", function, condition)[-1].template({})
    # A list of counts, as Python writes it.
    built = {"question": "", "q_i + 1": "{number}", "q": "[{counts}]"}
    asked, option, ending = (text.template(built) for text in texts_named(code, "question", function, "")[-3:])
    before, gap, after = frame.partition("{input}")
    if not gap:
        raise FathomError(f"{TEMPLATES}: counting_stars: expected {{input}} in the prompt")
    return {
        "needle": needle.strip(),
        "question": before + start + asked.removesuffix("\n"),
        "option": option.removesuffix("\n"),
        "ending": ending + after,
    }


PROMPT_SOURCES = (
    PromptSource(
        name="100-LongBench",
        repository="github.com/uservan/100-LongBench",
        tasks=tuple(NAMES),
        files=(TEMPLATES, CODE),
        read=read,
    ),
)
