"""Records of the shape of LongBench Pro, of any number and size, made from documents at hand.

    python performance/pro_records.py --corpus BOOKS --corpus 'LEVAL?text=input' --out records.json   # 1,500 records
    python performance/pro_records.py --out small.json --each 1 --lengths 8k   # from the generated world only

Five records for each of the 25 tasks, two languages and six lengths. A context is numbered passages of novels, L-Eval
documents and generated articles; a few of them hold a note of who moved how many crates, and every question is about
these notes, so that its answer is exact. The questions are no test of a model: they make a run of the real size.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from random import Random
from typing import Any

from fathom.benchmarks.pro.secondary_tasks import DIFFICULTIES, LANGUAGES, LENGTHS, SECONDARY, SecondaryTask
from fathom.documents.corpus import read_corpus
from fathom.storage.atomic import whole_file
from fathom.tokens.length import format_length, parse_length
from fathom.tokens.tokenizers import Tokenizer, get_tokenizer
from fathom.world.corpus import generate

NOTES = 8
PASSAGE = 1_200  # characters at least
ARTICLES = 400  # of the generated world, in each language
NAMES = {"en": ("Ada Pell", "Bram Yarrow", "Cleo Finch"), "zh": ("李明远", "王思齐", "陈若兰")}
PLACES = {"en": ("the quay", "the mill", "the chapel", "the depot"), "zh": ("码头", "磨坊", "教堂", "仓库")}
WORDS = {
    "en": {
        "passage": "[P{number}]",
        "note": "Note: on day {day} {name} moved {crates} crates to {place}.",
        "think": "Think step by step first. Then write [Answer] on a line of its own and your answer below it.",
        "direct": "Answer at once: write [Answer] on a line of its own and your answer below it, nothing else.",
        "NDCG": "Which passages hold a note about {name}? Most crates first, one passage a line.",
        "Pairwise_Accuracy": "Put all passages that hold a note in the order of the days in the notes, one a line.",
        "Accuracy": "Where did {name} move {crates} crates?\n{options}\nReply with the letter.",
        "Summary": "Summarise all notes of the text in a few sentences.",
        "F1_Score": "Which passages hold a note about {place}? One passage a line.",
        "SubEM": "How many notes are there, and how many crates were moved in all? One number a line.",
        "total": "{count} notes tell of {crates} crates. ",
    },
    "zh": {
        "passage": "【P{number}】",
        "note": "记录：第{day}天，{name}把{crates}箱货物搬到了{place}。",
        "think": "请先逐步思考，然后单独一行写出[答案]，并在其后写出你的回答。",
        "direct": "请直接回答：单独一行写出[答案]，并在其后写出你的回答，不要写其他内容。",
        "NDCG": "哪些段落含有关于{name}的记录？按箱数从多到少，每行一个段落。",
        "Pairwise_Accuracy": "请按记录中的天数先后排列所有含有记录的段落，每行一个。",
        "Accuracy": "{name}把{crates}箱货物搬到了哪里？\n{options}\n请回答字母。",
        "Summary": "请用几句话概括文中的所有记录。",
        "F1_Score": "哪些段落含有关于{place}的记录？每行一个段落。",
        "SubEM": "一共有多少条记录？一共搬了多少箱？每行一个数字。",
        "total": "共有{count}条记录，搬运{crates}箱。",
    },
}


@dataclass(frozen=True)
class Note:
    """A note in a passage: who moved how many crates where, and when."""

    passage: str
    day: int
    name: str
    crates: int
    place: str


@dataclass(frozen=True)
class Material:
    """Paragraphs in one language with their tokens."""

    paragraphs: Sequence[str]
    tokens: Sequence[int]


def material(language: str, corpora: Sequence[str], tokenizer: Tokenizer) -> Material:
    """All paragraphs of the documents at hand, joined to passages of some size."""
    texts = [document.text for document in islice(generate(0, language), ARTICLES)]
    for spec in corpora:
        texts += [one.text for one in read_corpus(spec).documents if one.language == language]
    found: list[str] = []
    for text in texts:
        held = ""
        for paragraph in text.split("\n"):
            held = f"{held}\n{paragraph}".strip()
            if len(held) >= (PASSAGE if language == "en" else PASSAGE // 3):
                found.append(held)
                held = ""
    return Material(found, [tokenizer.count(text) for text in found])


def context(rng: Random, language: str, pool: Material, budget: int) -> tuple[str, list[Note]]:
    """Numbered passages of about ``budget`` tokens, from any place of the material on, and the notes in them."""
    words = WORDS[language]
    place, taken, used = rng.randrange(len(pool.paragraphs)), [], 0
    while used < budget:
        taken.append(pool.paragraphs[place % len(pool.paragraphs)])
        used += pool.tokens[place % len(pool.paragraphs)] + 8
        place += 1
    holders = sorted(rng.sample(range(len(taken)), min(NOTES, len(taken))))
    days = rng.sample(range(1, 366), len(holders))
    notes = [
        Note(
            words["passage"].format(number=holder + 1),
            day,
            rng.choice(NAMES[language]),
            rng.randrange(2, 400),
            rng.choice(PLACES[language]),
        )
        for holder, day in zip(holders, days, strict=True)
    ]
    told = dict(zip(holders, notes, strict=True))
    lines = []
    for number, text in enumerate(taken):
        note = told.get(number)
        facts = "" if note is None else "\n" + _told(words, note)
        lines.append(f"{words['passage'].format(number=number + 1)} {text}{facts}")
    return "\n\n".join(lines), notes


def _told(words: dict[str, str], note: Note) -> str:
    return words["note"].format(day=note.day, name=note.name, crates=note.crates, place=note.place)


def asked(rng: Random, task: SecondaryTask, language: str, notes: Sequence[Note]) -> tuple[str, list[str]]:
    """A question about the notes and its answer, of the form that the task's metric wants."""
    words, one = WORDS[language], rng.choice(notes)
    options = dict(zip("ABCD", PLACES[language], strict=True))
    listed = "\n".join(f"{letter}. {place}" for letter, place in options.items())
    question = words[task.metric].format(name=one.name, crates=one.crates, place=one.place, options=listed)
    if task.metric == "NDCG":
        of = [note for note in notes if note.name == one.name]
        answer = [note.passage for note in sorted(of, key=lambda note: (-note.crates, note.day))]
    elif task.metric == "Pairwise_Accuracy":
        answer = [note.passage for note in sorted(notes, key=lambda note: note.day)]
    elif task.metric == "Accuracy":
        answer = [next(letter for letter, place in options.items() if place == one.place)]
    elif task.metric == "F1_Score":
        answer = [note.passage for note in notes if note.place == one.place]
    elif task.metric == "SubEM":
        answer = [str(len(notes)), str(sum(note.crates for note in notes))]
    else:
        told = [_told(words, note) for note in notes]
        total = words["total"].format(count=len(notes), crates=sum(note.crates for note in notes))
        answer = [total + " ".join(told), " ".join(told), total + " ".join(told[: NOTES // 2])]
    return question, answer


def records(
    each: int, lengths: Sequence[int], corpora: Sequence[str], tokenizer: Tokenizer
) -> Iterator[dict[str, Any]]:
    """The records one by one; their contexts have 82% to 98% of the stated length."""
    labels = {length: label for label, length in LENGTHS.items()}
    for name, language in LANGUAGES.items():
        pool = material(language, corpora, tokenizer)
        for task in SECONDARY:
            for length in lengths:
                for number in range(each):
                    rng = Random(f"{task.code}|{language}|{length}|{number}")
                    text, notes = context(rng, language, pool, int(length * rng.uniform(0.82, 0.98)))
                    question, answer = asked(rng, task, language, notes)
                    yield {
                        "id": f"{language}-{task.code}-{labels.get(length, format_length(length))}-{number}",
                        "context": text,
                        "language": name,
                        "token_length": labels[length],
                        "primary_task": task.primary,
                        "secondary_task": task.name,
                        "contextual_requirement": task.requirement,
                        "question_nonthinking": f"{question}\n{WORDS[language]['direct']}",
                        "question_thinking": f"{question}\n{WORDS[language]['think']}",
                        "answer": answer,
                        "difficulty": rng.choice(DIFFICULTIES),
                    }


def write(out: Path, found: Iterator[dict[str, Any]]) -> int:
    """Write records as one JSON array, one at a time, and say how many there are."""
    count = 0
    with whole_file(out) as stream:
        stream.write("[")
        for count, record in enumerate(found, start=1):
            stream.write((",\n" if count > 1 else "\n") + json.dumps(record, ensure_ascii=False))
        stream.write("\n]\n")
    return count


def main() -> None:
    """Make the records that the arguments ask for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument(
        "--corpus", action="append", default=[], help="documents, as `fathom build --corpus` takes them"
    )
    parser.add_argument("--each", type=int, default=5, help="records for each task, language and length")
    parser.add_argument("--lengths", default=",".join(LENGTHS))
    parser.add_argument("--tokenizer", default="tekken")
    chosen = parser.parse_args()
    lengths = [parse_length(text) for text in chosen.lengths.split(",")]
    count = write(chosen.out, records(chosen.each, lengths, chosen.corpus, get_tokenizer(chosen.tokenizer)))
    print(f"{chosen.out}: {count:,} records, {chosen.out.stat().st_size / 1e6:,.0f} MB")


if __name__ == "__main__":
    main()
