"""LOFT's published queries, asked in our own words: instruction, corpus, examples, query.

Queries are at the length of their folder, whatever their tokens. Of queries of several turns each turn is asked by
itself, after the earlier ones with their gold answers; the released code sends the model's own replies.
"""

import json
import math
import re
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any, TypeAlias

from fathom.benchmarks.loft.records import BY_CONTENT, KINDS, LENGTHS, SOURCE_NAME
from fathom.score.registry import strict_score
from fathom.score.released import GOLD
from fathom.storage.toml import packaged_toml
from fathom.suites.tasks import whole_text
from fathom.types import (
    Arranged,
    Candidate,
    CandidatePool,
    Draw,
    Ending,
    Facet,
    FathomError,
    Measure,
    Plan,
    Resources,
    Task,
    Whole,
)

_PROMPTS: Mapping[str, Mapping[str, Any]] = packaged_toml(__package__, "published_prompts.toml")
FRAME, SOUGHT = _PROMPTS["frame"], _PROMPTS["sought"]
SHORT = {
    "date_understanding": "date",
    "salient_translation_error_detection": "salient",
    "tracking_shuffled_objects_seven_objects": "tracking7",
    "web_of_lies": "web",
}
"""Names of data sets as LOFT's own table shortens them."""
TOPS = {"hotpotqa": 2, "musique": 5, "qampari": 5, "quest": 3}
"""How many of the first identifiers count where several passages are sought."""
MULTIPLE = ("qampari", "quest")
"""Data sets whose queries have several answers."""
CAPS = {"sql": 8192}
CAP = 2048
FORM = "gold turns"
_OPTION = re.compile(r"^\([A-Z]\) ", re.MULTILINE)
_NAME = re.compile(r"[^\w.-]")
Turn: TypeAlias = Mapping[str, Any]


def metric_of(kind: str, dataset: str) -> str:
    """The primary metric of a data set, as LOFT's own table has it."""
    if kind == "retrieval":
        return f"loft/retrieval_mrecall@{TOPS[dataset]}" if dataset in TOPS else "loft/retrieval_recall@1"
    if kind == "rag":
        return "loft/multi_value_rag_subspan_em" if dataset in MULTIPLE else "loft/rag_subspan_em"
    return {"sql": "loft/sql_exec_acc", "icl": "loft/icl_em"}[kind]


def pool(resources: Resources, kind: str, dataset: str) -> CandidatePool:
    """The queries of a data set in the order of their files, each at the length of its folder.

    Raises:
        FathomError: Two queries have the same id and are not equal.
    """
    name = f"loft_{kind}_{dataset}"
    candidates, elsewhere = dict[str, Candidate](), 0
    for corpus in resources.documents:
        if corpus.meta.get("dataset") != name:
            continue
        folder = str(corpus.meta["length"])
        if LENGTHS[folder] not in resources.lengths:
            elsewhere += len(corpus.questions)
            continue
        for question in corpus.questions:
            query, turns = str(question.meta["query"]), question.meta["turns"]
            assert isinstance(turns, list)
            item = f"{folder}-{_NAME.sub('_', query)}" + (f"-{len(turns)}" if len(turns) > 1 else "")
            if item in candidates:
                raise FathomError(
                    f"{candidates[item].document.source} and {corpus.source}: different queries of {name} with the id "
                    f"{query!r}; name one copy of the data set with `data`"
                )
            spans, lengths = (whole_text(corpus),), (LENGTHS[folder],)
            candidates[item] = Candidate(
                corpus, spans, (question,), lengths=lengths, name=item, cluster=f"{name} {query}"
            )
    return CandidatePool((), list(candidates.values()), shuffled=False, stated=True, elsewhere=elsewhere)


def plan(draw: Draw, kind: str, dataset: str) -> Plan:
    """The prompt of one query."""
    assert draw.candidate is not None
    return Whole(partial(_arranged, draw.candidate, kind, dataset), over=math.inf)


def _arranged(candidate: Candidate, kind: str, dataset: str, length: int, measure: Measure) -> Arranged:
    quoted = "text" if dataset in BY_CONTENT and kind == "retrieval" else "title"
    words = {"quoted": quoted, **SOUGHT.get(dataset, SOUGHT["documents"])}
    corpus, (question,) = candidate.document, candidate.questions
    shots: Any = corpus.meta["shots"]
    turns: Any = question.meta["turns"]
    *earlier, last = turns
    parts = []
    for number, shot in enumerate(shots, start=1):
        parts.append(
            FRAME["example"].format(number=number) + FRAME["turn"].join(_block(turn, kind, words) for turn in shot)
        )
    parts += [FRAME["question"] if shots else "\n\n"]
    parts += [_block(turn, kind, words) + FRAME["turn"] for turn in earlier]
    parts += [_ask(last, kind, words)]
    ending = _ending(last, kind, dataset, "".join(parts), int(str(corpus.meta["passages"])))
    facets: Mapping[str, Facet] = {"split": str(question.meta["split"]), **({"form": FORM} if earlier else {})}
    ending = replace(ending, facets=facets)
    return Arranged((_PROMPTS[kind]["before"].format_map(words), whole_text(corpus), ending.question), ending)


def _ask(turn: Turn, kind: str, words: Mapping[str, str]) -> str:
    return str(_PROMPTS[kind]["ask"]).format(query=turn["query"], **words)


def _block(turn: Turn, kind: str, words: Mapping[str, str]) -> str:
    """A query with its gold passages and its gold answer, as an example or an earlier turn."""
    quoted = [FRAME["quote"].format(quoted=words["quoted"].upper(), id=id, text=text) for id, text in turn["support"]]
    return "\n".join([_ask(turn, kind, words), *quoted, reply_of(turn, kind, several=True)])


def reply_of(turn: Turn, kind: str, *, several: bool) -> str:
    """A reply with the gold answers of a turn.

    Args:
        several: Whether all of them are listed, not only one of those that are right.
    """
    gold = turn["gold"]
    answers = [id for id, _ in gold] if kind == "retrieval" else gold if several else gold[:1]
    return f"Output: {answers}" if kind == "icl" else FRAME["final"].format(answers=answers)


def _ending(turn: Turn, kind: str, dataset: str, question: str, passages: int) -> Ending:
    metric, gold = metric_of(kind, dataset), turn["gold"]
    chance = 1 / passages if metric.endswith("recall@1") else 0.0
    if kind == "icl":
        # Questions without options have yes and no.
        chance, gold = 1 / (len(_OPTION.findall(turn["query"])) or 2), [gold]
    several = kind == "sql" or dataset in MULTIPLE
    inputs = {GOLD: json.dumps(gold, ensure_ascii=False)}
    return Ending(question, (reply_of(turn, kind, several=several),), chance=chance, inputs=inputs, asked=turn["query"])


_WHAT = {
    "retrieval": "the passages that a query is about",
    "rag": "an answer from passages",
    "sql": "rows from tables",
    "icl": "an answer after many examples",
}


def _task(kind: str, dataset: str) -> Task:
    metric, short = metric_of(kind, dataset), SHORT.get(dataset, dataset)
    return Task(
        name=f"loft_published_{kind}_{short}",
        title=f"LOFT {kind} {short} (published)",
        plan=partial(plan, kind=kind, dataset=dataset),
        score=partial(strict_score, metric=metric),
        metric="accuracy",
        max_output_tokens=CAPS.get(kind, CAP),
        description=f"the published queries of {dataset}: {_WHAT[kind]}",
        source="LOFT, section 3",
        languages=("en",),
        pool=partial(pool, kind=kind, dataset=dataset),
        data=(SOURCE_NAME,),
        needs="records of LOFT",
        gold=("record",),
        noise=(),
        official=metric,
        substitutes={FORM: "earlier turns stand in the prompt with their gold answers, not the model's own"},
    )


TASKS = tuple(_task(kind, dataset) for kind, datasets in KINDS.items() for dataset in datasets)
