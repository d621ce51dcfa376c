"""Records in the form of InfiniteBench and LongBench, as long and as many as LongLeader counts, from texts at hand.

    python performance/leader_records.py --out records --tokenizer TOKENIZER            # as many as in table 3
    python performance/leader_records.py --out records --tokenizer words --share 0.02   # a few

Contexts are articles of the generated world, with their own questions and summaries; modules of Python's standard
library, one function of which has lost the sense of what it returns; and lists of numbers. They are no test of a model:
they make a build of the real size where the published records are not at hand.
"""

from __future__ import annotations

import argparse
import ast
import json
import sysconfig
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from random import Random
from typing import Any, TypeAlias, TypeVar

from fathom.storage.atomic import whole_file
from fathom.tokens.tokenizers import Tokenizer, get_tokenizer
from fathom.types import Document
from fathom.world.corpus import generate

Record: TypeAlias = dict[str, Any]
Source: TypeAlias = tuple[str, str]  # name of a module, and its text
Text = TypeVar("Text", Document, Source)

ARTICLES = 1000  # of the generated world
LONGEST = 126_500  # tokens of a context that leaves room for what asks
SUMMARIES = 12  # articles that a summary is of
LONGBENCH = ("narrativeqa", "triviaqa", "gov_report")
"""Data sets of LongBench of which nothing is at hand in another form."""


@dataclass(frozen=True)
class Wanted:
    """How many records of a data set there should be, and the average tokens of their prompts (table 3)."""

    count: int
    tokens: float


TABLE = {
    "longbook_qa_eng": Wanted(92, 99_337.86),
    "longbook_choice_eng": Wanted(63, 102_713.44),
    "longbook_sum_eng": Wanted(37, 96_854.84),
    "code_debug": Wanted(155, 113_426.43),
    "math_find": Wanted(350, 117_918.33),
    "narrativeqa": Wanted(200, 36_083.33),
    "triviaqa": Wanted(200, 14_099.07),
    "gov_report": Wanted(200, 12_281.15),
}


@dataclass(frozen=True)
class Pool:
    """What records are put together from, each text with its tokens, and the tokens of one number of a list."""

    articles: Sequence[tuple[Document, int]]
    modules: Sequence[tuple[Source, int]]
    number: float

    @staticmethod
    def of(tokenizer: Tokenizer) -> Pool:
        """The pool, counted with a tokenizer."""
        world = (article for article in islice(generate(7, "en"), ARTICLES) if article.questions and article.summary)
        articles = [(article, tokenizer.count(article.text)) for article in world]
        modules = [(source, tokenizer.count(source[1])) for source in _library()]
        return Pool(articles, modules, tokenizer.count(str([*range(100)] * 10)) / 1000)


def record_of(dataset: str, number: int, tokens: float, pool: Pool) -> Record:
    """One record whose prompt has about so many tokens: from nine to eleven tenths of them, and fewer than 128k."""
    rng = Random(f"{dataset}|{number}")
    size = int(min(tokens * rng.uniform(0.9, 1.1), LONGEST))
    if dataset == "math_find":
        return _numbers(number, size, rng, pool)
    if dataset == "code_debug":
        return _code(number, size, rng, pool)
    return _book(dataset, number, size, rng, pool)


def _book(dataset: str, number: int, size: int, rng: Random, pool: Pool) -> Record:
    articles = _taken(pool.articles, size, rng)
    context = "\n\n".join(article.text for article in articles)
    question = rng.choice([one for article in articles for one in article.questions])
    summary = " ".join(article.summary for article in articles[:SUMMARIES])
    if dataset in LONGBENCH:
        asked = ("", [summary]) if dataset == "gov_report" else (question.text, list(question.answers))
        return _longbench(dataset, number, context, *asked)
    record: Record = {"id": number, "context": context, "input": question.text, "answer": list(question.answers)}
    if dataset == "longbook_sum_eng":
        return {**record, "input": "", "answer": [summary], "options": []}
    if dataset == "longbook_choice_eng":
        right = question.answers[0]
        return {**record, "answer": [right], "options": _options(right, articles, rng)}
    return {**record, "options": []}


def _longbench(dataset: str, number: int, context: str, asked: str, answers: list[str]) -> Record:
    about = {"input": asked, "context": context, "answers": answers, "length": len(context.split())}
    return {**about, "dataset": dataset, "language": "en", "all_classes": None, "_id": f"{dataset}-{number}"}


def _taken(pool: Sequence[tuple[Text, int]], size: int, rng: Random) -> list[Text]:
    """Texts of at most so many tokens together, in random order."""
    found, left = [], size
    for text, tokens in rng.sample(pool, len(pool)):
        if tokens <= left:
            found.append(text)
            left -= tokens
    return found


def _options(right: str, articles: Sequence[Document], rng: Random) -> list[str]:
    """Four options: the right one, and answers to other questions."""
    others = {one.answers[0] for article in articles for one in article.questions} - {right}
    options = [right, *rng.sample(sorted(others), 3)]
    rng.shuffle(options)
    return options


def _code(number: int, size: int, rng: Random, pool: Pool) -> Record:
    """Modules, in one of which a function returns the opposite of what it should."""
    modules = _taken(pool.modules, size, rng)
    functions = [(name, found) for name, text in modules for found in _functions(text)]
    chosen = rng.sample(functions, 4)
    context = "\n\n".join(f"# {name}\n{_spoiled(text, chosen[0], name)}" for name, text in modules)
    options = [f"{name}.{found.name}" for name, found in chosen]
    answer = options[0]
    rng.shuffle(options)
    return {"id": number, "context": context, "input": "", "answer": [answer], "options": options}


def _functions(text: str) -> list[ast.FunctionDef]:
    """Functions of a module that end by returning something."""
    found = (node for node in ast.parse(text).body if isinstance(node, ast.FunctionDef))
    return [one for one in found if isinstance(one.body[-1], ast.Return) and one.body[-1].value is not None]


def _spoiled(text: str, wrong: tuple[str, ast.FunctionDef], name: str) -> str:
    if wrong[0] != name:
        return text
    end = wrong[1].body[-1]
    lines = text.split("\n")
    said = "\n".join(lines[end.lineno - 1 : end.end_lineno]).strip().removeprefix("return").strip()
    lines[end.lineno - 1 : end.end_lineno] = [" " * end.col_offset + f"return not ({said})"]
    return "\n".join(lines)


def _numbers(number: int, size: int, rng: Random, pool: Pool) -> Record:
    """A list of numbers, and which of them is asked for."""
    count = int(size / pool.number) | 1  # an odd number has a median that is one of them
    numbers = [rng.randint(0, 99) for _ in range(count)]
    kinds = {"largest": max(numbers), "smallest": min(numbers), "median": sorted(numbers)[count // 2]}
    kind = list(kinds)[number % len(kinds)]
    asked = f"You should answer with only one number, no other words. The {kind} number of the list is: "
    return {"id": number, "context": numbers, "input": asked, "answer": kinds[kind]}


def _library() -> list[Source]:
    """Modules of the standard library with functions that return something."""
    folder = Path(sysconfig.get_paths()["stdlib"])
    files = (file for file in sorted(folder.glob("*/*.py")) if file.parent.name not in ("test", "site-packages"))
    texts = ((f"{file.parent.name}.{file.stem}", file.read_text("utf-8", errors="replace")) for file in files)
    return [(name, text) for name, text in texts if 4000 < len(text) < 80_000 and _functions(text)]


def records(dataset: str, share: float, pool: Pool) -> Iterator[Record]:
    """The records of one data set.

    Args:
        dataset: Its name.
        share: Share of the number in table 3.
        pool: What they are put together from.
    """
    wanted = TABLE[dataset]
    for number in range(max(1, round(wanted.count * share))):
        yield record_of(dataset, number, wanted.tokens, pool)


def write(folder: Path, share: float, tokenizer: Tokenizer, tell: Callable[[str], None] = print) -> Path:
    """A file for each data set, in a folder for each publisher."""
    pool = Pool.of(tokenizer)
    for dataset in TABLE:
        file = folder / ("longbench" if dataset in LONGBENCH else "infinitebench") / f"{dataset}.jsonl"
        file.parent.mkdir(parents=True, exist_ok=True)
        with whole_file(file) as stream:
            for record in records(dataset, share, pool):
                stream.write(json.dumps(record, ensure_ascii=False) + "\n")
        tell(f"{file}: {file.stat().st_size / 1e6:,.1f} MB")
    return folder


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--out", type=Path, required=True, help="folder to write")
    parser.add_argument("--tokenizer", default="tekken", help="what lengths are counted in, tekken by default")
    parser.add_argument("--share", type=float, default=1.0, help="share of the records of table 3, 1 by default")
    wanted = parser.parse_args()
    write(wanted.out, wanted.share, get_tokenizer(wanted.tokenizer))


if __name__ == "__main__":
    main()
