"""LOFT's abilities over corpora that fathom generates: retrieval, answers, tables and many examples, at any length.

Lee et al. (2024), arXiv:2406.13121. ``loft_retrieval``, ``loft_retrieval_hops`` and ``loft_retrieval_all`` ask which of
many papers answers a question, which two together do, and which three to five report the same kind of thing;
``loft_rag`` and ``loft_rag_hops`` ask for the answer. The papers are those of the suite ``world``, whose facts are
proven to agree: near misses stand in every prompt, and papers of other towns fill it. ``loft_sql`` asks in words for
rows that are computed over two tables, ``loft_icl`` for the code of a message after many examples of such codes.

A corpus of a longer prompt has all of a shorter one, with the same identifiers, which say nothing about places. Unlike
in LOFT they are no running numbers, and there are no examples of questions. Under ``strict`` answers must be exact,
with their unit or title or without; LOFT's own rule takes any text that contains one.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial

from fathom.benchmarks.loft.tables import WORLD, drawn, line
from fathom.benchmarks.oolong.messages import OPENINGS, SUBJECTS
from fathom.benchmarks.ruler.tasks import coined
from fathom.score.registry import strict_score
from fathom.score.released import GOLD
from fathom.storage.toml import packaged_toml
from fathom.suites.tasks.growing import Growing, Piece, different, enough, growing, no_documents
from fathom.types import Draw, Ending, Facet, Plan, Task
from fathom.world.annals.case import Case
from fathom.world.annals.family import ANNALS
from fathom.world.facts import CAUSES, Record
from fathom.world.prose import Writer
from fathom.world.types import AS_USUAL, Dials, Language, Passage, Problem
from fathom.world.wording import LETTERS

SOURCE = "LOFT, section 3"
ENTRY = "ID: {id} | TITLE: {title} | CONTENT: {content} | END ID: {id}"
FINAL = "Final Answer: {}"
IDS = range(100_000, 1_000_000)
PAPER, PAYMENT, EXAMPLE = 64, 14, 18
"""Fewest tokens of a paper, of a payment and of an example."""
TRIED = 24
MOST = 5
"""Most papers that are asked for."""
FEW = ("material", "defect", "cause")
"""What few values are known of: a guess is right for one in ``CAUSES``."""
NEAR = {"T6.2": 2}
"""Towns of near misses, if not as many as the world has, so that 8k hold them."""
SHOWN = 2
"""Examples of each desk of the office in question."""
PROMPTS: Mapping[str, Mapping[str, str]] = packaged_toml(__package__, "prompts.toml")
Texts = Mapping[str, str]


def _language(draw: Draw) -> Language:
    return "zh" if draw.resources.language == "zh" else "en"


def listed(values: Sequence[object]) -> str:
    """A list as a reply has it."""
    return json.dumps(list(values), ensure_ascii=False)


# -------------------------------------------------------------------------------------------------------------- papers


def case_of(draw: Draw, code: str) -> Case:
    """The facts of an item, of which at most ``MOST`` papers are evidence."""
    dials = Dials(near=NEAR.get(code, AS_USUAL))
    while True:
        case = ANNALS.facts(code, WORLD, draw.rng.getrandbits(32), dials)
        if len({mark for mark, _, _ in case.needed}) <= MOST:
            return case


def plan_papers(draw: Draw, code: str, name: str) -> Plan:
    """Papers with identifiers, and a question whose answer is some of them or in them.

    Args:
        code: The question of the world, by its secondary task.
        name: Name of the text of the question.
    """
    rng, prompts, language = draw.rng, draw.resources.texts_of(PROMPTS), _language(draw)
    case = case_of(draw, code)
    papers, problem = ANNALS.passages(case, language), ANNALS.problem(case, code, language)
    count = enough(draw.resources.lengths[-1], PAPER)
    names = [str(number) for number in rng.sample(IDS, len(papers) + count)]

    def piece(id: str, paper: Passage) -> Piece:
        return Piece((ENTRY.format(id=id, title=paper.title, content=paper.text),), rng.random())

    core = [piece(id, paper) for id, paper in zip(names, papers, strict=False)]
    more = [piece(id, paper) for id, paper in zip(names[len(papers) :], ANNALS.siblings(case, language), strict=False)]
    gold = [id for id, paper in zip(names, papers, strict=False) if paper.evidence]
    question = question_of(problem, language)
    end = prompts[name].format(question=question)
    if name == "rag":
        ending = _answering(case, problem, end, prompts, language)
    else:
        ending = _ending(end, listed(gold), [[id, 1] for id in gold], papers=len(gold))

    def finish(pieces: Sequence[Piece]) -> Ending:
        # A paper of all is right by chance; the right ones of several are not.
        chance = 1 / len(pieces) if name == "retrieval" else ending.chance
        return replace(ending, chance=chance, asked=question)

    return growing(Growing(prompts["passages"], core, more, finish, tried=TRIED), draw.resources.counter)


def question_of(problem: Problem, language: Language) -> str:
    """A question without the form of its answer."""
    mark = "?" if language == "en" else "？"
    before, _, after = problem.question.rpartition(mark)
    return before + mark if before else after


def _answering(case: Case, problem: Problem, question: str, prompts: Texts, language: Language) -> Ending:
    """The question for a value of a paper, in all forms that are as right."""
    value, slot = problem.options[LETTERS.index(problem.answers[0])], str(case.asked["slot"])
    ending = _ending(question, listed([value]), forms(value, slot, asked_record(case), prompts, language), slot=slot)
    return replace(ending, chance=1 / CAUSES if slot in FEW else 0.0)


def asked_record(case: Case) -> Record:
    """The record that has the answer: that of the question, or the last of a chain."""
    if "links" in case.asked:
        last: Record = case.asked["links"][-1]
        return last
    return case.entry(case.asked["town"], case.asked["act"], case.asked["work"])[1]


def forms(value: str, slot: str, record: Record, prompts: Texts, language: Language) -> list[str]:
    """A value as a paper has it, and as it may be said: with its unit or without, a person without a title.

    Args:
        value: The value as an option.
        slot: What it is, by ``SLOTS``.
        record: The record that has it.
        prompts: The texts of the language.
        language: That of the value.
    """
    bare = value
    for word in prompts["left_out"].split(","):
        bare = bare.removeprefix(word).removesuffix(word)
    words = {"value": value, "bare": bare}
    if "material" in record.values:
        words["material"] = Writer(WORLD, language).value("material", record.values["material"])
    key = f"forms_{record.act if slot == 'count' else slot}"
    every = [value, *(form.format_map(words) for form in prompts.get(key, "{value}").split(","))]
    return list(dict.fromkeys([*every, *(form.replace(" & ", " and ") for form in every)]))


def _ending(question: str, reply: str, gold: Sequence[object], **facets: Facet) -> Ending:
    inputs = {GOLD: listed(gold)}
    return Ending(question, (FINAL.format(reply),), chance=0.0, facets=facets, inputs=inputs, asked=question.strip())


# ------------------------------------------------------------------------------------------------- tables and examples


def plan_sql(draw: Draw) -> Plan:
    """Rows computed over two tables, of which one grows."""
    rng, prompts = draw.rng, draw.resources.texts_of(PROMPTS)
    trades = prompts["trades"].split(",")
    query, others = drawn(rng, _language(draw), trades, enough(draw.resources.lengths[-1], PAYMENT))
    asked = prompts[f"sql_{query.kind}"].format(town=query.town, work=query.value, trade=query.value, seat=query.value)
    question = prompts["sql"].format(question=asked, form=prompts[f"sql_{query.kind}_form"])
    ending = replace(_ending(question, listed(query.rows), query.rows, query=query.kind), asked=asked)
    firms = "\n".join([prompts["firms"], *map(line, query.firms)])
    core, more = ([Piece((line(row),), rng.random()) for row in rows] for rows in (query.payments, others))
    before = f"{prompts['tables'].format(firms=firms)}{prompts['payments']}\n"
    return growing(Growing(before, core, more, lambda pieces: ending), draw.resources.counter)


def plan_icl(draw: Draw) -> Plan:
    """Messages with the codes of desks, which follow from office and subject; examples of other offices are added."""
    rng, prompts, language = draw.rng, draw.resources.texts_of(PROMPTS), draw.resources.language
    subjects = SUBJECTS[language]
    count = enough(draw.resources.lengths[-1], EXAMPLE)
    offices = [word.capitalize() for word in different(partial(coined, rng, 3), 1 + count // (SHOWN * len(subjects)))]
    desks = [(office, subject) for office in offices for subject in subjects]
    codes = dict(zip(desks, different(partial(coined, rng, 3), len(desks), list(map(str.lower, offices))), strict=True))
    subject = rng.choice(list(subjects))
    message, *known = rng.sample(subjects[subject], SHOWN + 1)

    def example(office: str, about: str, text: str) -> Piece:
        words = {"office": office, "text": text, "opening": rng.choice(OPENINGS[language])}
        return Piece((prompts["example"].format(code=codes[office, about], **words),), rng.random())

    shown = {about: known if about == subject else rng.sample(subjects[about], SHOWN) for about in subjects}
    core = [example(offices[0], about, text) for about, texts in shown.items() for text in texts]
    others = (rng.choice(desks[len(subjects) :]) for _ in range(count))
    more = [example(office, about, rng.choice(subjects[about])) for office, about in others]
    code = codes[offices[0], subject]
    asked = prompts["icl"].format(office=offices[0], text=message, opening=rng.choice(OPENINGS[language]))
    ending = Ending(
        asked,
        (f"Output: {listed([code])}",),
        chance=1 / len(subjects),
        inputs={GOLD: listed([[code]])},
        asked=asked.strip(),
    )
    return growing(Growing(prompts["examples"], core, more, lambda pieces: ending, gap="\n\n"), draw.resources.counter)


# --------------------------------------------------------------------------------------------------------------- tasks


def _task(
    name: str, plan: Callable[[Draw], Plan], scored: str, official: str, description: str, published: str
) -> Task:
    return Task(
        name=f"loft_{name}",
        title=f"LOFT, {name.replace('_', ', ')}",
        plan=plan,
        score=partial(strict_score, metric=f"loft/{scored}"),
        metric="accuracy",
        max_output_tokens=2048,
        description=description,
        source=SOURCE,
        pool=no_documents,
        gold=(),
        noise=(),
        official=f"loft/{official}",
        published=published and f"loft_published_{published}",
    )


def _papers(name: str, code: str, metric: str, description: str, published: str) -> Task:
    exact = "rag_em" if name.startswith("rag") else metric
    text = "rag" if name.startswith("rag") else name
    return _task(name, partial(plan_papers, code=code, name=text), exact, metric, description, published)


TASKS = (
    _papers("retrieval", "T3.2", "retrieval_recall@1", "the paper of many that answers a question", "retrieval_nq"),
    _papers("retrieval_hops", "T3.1", "retrieval_mrecall@2", "the two papers that together answer a question",
            "retrieval_hotpotqa"),
    _papers("retrieval_all", "T6.2", "retrieval_mrecall@5", "the three to five papers that report a kind of thing",
            "retrieval_qampari"),
    _papers("rag", "T3.2", "rag_subspan_em", "a value that one paper of many states", "rag_nq"),
    _papers("rag_hops", "T3.1", "rag_subspan_em", "a value that follows from two papers of many", "rag_hotpotqa"),
    _task("sql", plan_sql, "sql_exec_acc", "sql_exec_acc", "rows that a question in words asks of two tables",
          "sql_spider"),
    _task("icl", plan_icl, "icl_em", "icl_em", "the code that a message gets, after many examples", ""),
)  # fmt: skip
