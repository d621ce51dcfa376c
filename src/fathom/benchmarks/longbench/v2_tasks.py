"""LongBench v2: questions with four choices over contexts of any length.

Bai et al. (2024), arXiv:2412.15204. ``longbench_v2`` asks for the choice at once. ``longbench_v2_cot`` first asks for
thoughts, and then, with the thoughts and without the context, for the choice. As in the released code the first reply
may have 1,024 tokens and the second one 128, and thoughts truncated by their cap are used as they are.

Prompts are our own; with ``--prompts official`` they come from the text files of the user's copy of LongBench
(``Resources.templates``). The sentence that gives the choice is the released code's, whose metric searches for it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from fathom.benchmarks.longbench.v2_records import GROUPS, LETTERS, NAME
from fathom.documents.sources.templates import filled
from fathom.score.registry import strict_score
from fathom.suites.tasks import whole_text
from fathom.suites.tasks.natural import natural
from fathom.suites.tasks.published import record_pool
from fathom.types import (
    CandidatePool,
    Document,
    Draw,
    Ending,
    Facet,
    FathomError,
    Part,
    Plan,
    Resources,
    Sample,
    Task,
)

RECORDS = 503
CHOICE_TOKENS = 128
METRIC = "longbench_v2/mcq"
FORM = "one line of this form, where X is A, B, C or D:\nThe correct answer is (X)"
BEFORE = (
    "Read the text below. After it comes a question with four choices, exactly one of which is right according to the "
    "text.\n\nText:\n\n"
)
AFTER = "\n\n(End of the text.)\n\nQuestion: {asked}\n\n"
NO_TEXT = (
    "Here is a question about a text that you cannot see, with four choices, exactly one of which is right. Choose the "
    "one that is most likely from what you know.\n\nQuestion: {asked}\n\n"
)
ANSWER = f"Reply with {FORM}"
THINK = (
    "Do not answer at once. First think in a few short paragraphs: {what} bears on the question, and what speaks for "
    "and against each choice? Then say which choice is best."
)
IN_TEXT, KNOWN = "what in the text", "what that you know"
READ = "Somebody has read a text, which is left out here because it is long, to answer this question.\n\n"
NOT_READ = "Somebody has been asked this question about a text that they could not see.\n\n"
THOUGHTS = (
    "Question: {asked}\n\nTheir thoughts about it:\n\n{thoughts}\n\n"
    f"Which choice follows from these thoughts? Reply with {FORM}"
)


@dataclass(frozen=True, slots=True)
class Files:
    """Names of LongBench's text files with the prompts of one task.

    Attributes:
        prompt: The prompt with the context.
        second: The second prompt, in which ``$COT$`` stands for the first reply; "" if there is none.
    """

    prompt: str
    second: str = ""


CLOSED = "0shot_no_context.txt"
DIRECT, COT = Files("0shot.txt"), Files("0shot_cot.txt", "0shot_cot_ans.txt")
_COT = "$COT$"
CHOICE_GAPS = tuple(f"$C_{letter}$" for letter in LETTERS)


def pool(resources: Resources, files: Files) -> CandidatePool:
    """See ``fathom.suites.tasks.published.record_pool``.

    Raises:
        FathomError: Official prompts are requested and one of the files is missing, or two records have the same id.
    """
    return record_pool(resources, NAME, lambda record: _prompt(record, resources.templates, files), RECORDS)


def plan(draw: Draw, files: Files) -> Plan:
    """The prompt of one record; truncated in the middle beyond the longest length.

    Our own prompts lose whole sentences of the context, publishers' prompts the middle of their tokens.
    """
    assert draw.candidate is not None
    record, templates = draw.candidate.document, draw.resources.templates
    parts = _prompt(record, templates, files)
    ending = Ending(
        question=parts[-1] if isinstance(parts[-1], str) else "",
        targets=(str(record.meta["answer"]),),
        chance=1 / len(LETTERS),
        facets=_facets(record, templates),
        asked=_asked(record) if templates is None or not files.second else _second(record, templates, files),
        closed=_closed(record, templates, files),
        inputs={"dataset": NAME, "prompt": _prompt_of(templates)},
    )
    return natural(parts, ending, even=templates is not None)


def follow_up(reply: str, sample: Sample) -> str:
    """The second prompt: the question and the thoughts of the first reply, without context.

    Args:
        sample: The sample. With official prompts ``asked`` is the second prompt with a gap for the reply.
    """
    if sample.inputs.get("prompt") == "official":
        before, _, after = sample.asked.rpartition(_COT)
        return before + reply.strip() + after
    pieces = filled(THOUGHTS, {"{asked}": sample.asked, "{thoughts}": reply.strip()})
    return (READ if sample.length else NOT_READ) + "".join(text for text, _ in pieces)


def _prompt(record: Document, templates: Mapping[str, str] | None, files: Files) -> list[Part]:
    if templates is None:
        request = THINK.replace("{what}", IN_TEXT) if files.second else ANSWER
        return [BEFORE, whole_text(record), _with_question(AFTER, record) + request]
    template = _template(templates, files.prompt)
    return [whole_text(record) if text == "$DOC$" else text for text in _pieces(template, record, document="$DOC$")]


def _closed(record: Document, templates: Mapping[str, str] | None, files: Files) -> str:
    """The closed-book prompt; LongBench has none with thoughts."""
    if templates is None:
        return _with_question(NO_TEXT, record) + (THINK.replace("{what}", KNOWN) if files.second else ANSWER)
    if files.second or CLOSED not in templates:
        return ""
    return "".join(_pieces(_template(templates, CLOSED), record, document=""))


def _second(record: Document, templates: Mapping[str, str], files: Files) -> str:
    return "".join(_pieces(_template(templates, files.second), record, document=""))


def _template(templates: Mapping[str, str], name: str) -> str:
    if name not in templates:
        raise FathomError(
            f"`prompts` official: there is no {name} under `data`; LongBench has its prompts of version 2 in the "
            "folder prompts of its repository (github.com/THUDM/LongBench): put them in the data folder, or leave "
            "`prompts` out"
        )
    gaps = ("$Q$", *CHOICE_GAPS, *(["$DOC$"] if name in (DIRECT.prompt, COT.prompt) else []))
    gaps += (_COT,) if name == COT.second else ()
    for gap in gaps:
        if gap not in templates[name]:
            raise FathomError(f"{name}: the template has no {gap}; download the file again from LongBench")
    return templates[name]


def _pieces(template: str, record: Document, document: str) -> list[str]:
    """A template of LongBench in pieces, filled except for the context, for which ``document`` stands."""
    choices = dict(zip(CHOICE_GAPS, _choices(record), strict=True))
    values = {"$DOC$": document, "$Q$": str(record.meta["question"]), **choices}
    return [text for text, _ in filled(template, values)]


def _with_question(frame: str, record: Document) -> str:
    return "".join(text for text, _ in filled(frame, {"{asked}": _asked(record)}))


def _asked(record: Document) -> str:
    choices = (f"({letter}) {text}" for letter, text in zip(LETTERS, _choices(record), strict=True))
    return "\n".join((str(record.meta["question"]), *choices))


def _choices(record: Document) -> Sequence[str]:
    choices = record.meta["choices"]
    assert isinstance(choices, list)
    return [str(choice) for choice in choices]


def _prompt_of(templates: Mapping[str, str] | None) -> str:
    return "own" if templates is None else "official"


def _facets(record: Document, templates: Mapping[str, str] | None) -> dict[str, Facet]:
    """``v2_length`` is the publishers' length category: ``short``, ``medium`` or ``long``, by words."""
    facets: dict[str, Facet] = {"prompt": _prompt_of(templates)}
    for name in GROUPS:
        if isinstance(value := record.meta.get(name), str):
            facets["v2_length" if name == "length" else name] = value
    return facets


def _task(name: str, title: str, files: Files, cap: int, description: str) -> Task:
    return Task(
        name=name,
        title=title,
        plan=partial(plan, files=files),
        score=partial(strict_score, metric=METRIC),
        metric="accuracy",
        max_output_tokens=cap,
        description=description,
        answer="choice",
        source="LongBench v2",
        languages=("en",),
        pool=partial(pool, files=files),
        data=("longbench_v2",),
        needs="records of LongBench v2",
        gold=("record",),
        noise=(),
        official=METRIC,
        capped=True,
        follow_up=follow_up if files.second else None,
        follow_up_tokens=CHOICE_TOKENS if files.second else None,
    )


TASKS = (
    _task(NAME, "LongBench v2", DIRECT, CHOICE_TOKENS, "questions with four choices over a long context"),
    _task(
        f"{NAME}_cot",
        "LongBench v2, thoughts first",
        COT,
        1024,
        "the same with thoughts first, and the choice in a second request",
    ),
)
