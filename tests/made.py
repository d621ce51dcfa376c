"""Made-up documents and corpora for tests."""

from __future__ import annotations

import json
import random
from pathlib import Path

from fathom.documents.corpus import document_id
from fathom.types import Document, Question

EN = "river market tower ledger winter garden council bridge lantern harbour teacher orchard letter stone music"
ZH = "河流集市高塔账册冬天花园议会石桥灯笼港口教师果园书信石头音乐工匠城门学堂"


def make_document(seed: int, language: str = "en", sentences: int = 30) -> Document:
    """A document of made-up sentences in paragraphs, with two questions and a summary."""
    rng = random.Random(f"{seed}|{language}")
    lines = []
    for number in range(sentences):
        if language == "zh":
            words = "".join(rng.choice(ZH) for _ in range(rng.randint(6, 25)))
            lines.append(f"第{seed}卷第{number}页，{words}。")
        else:
            words = " ".join(rng.choice(EN.split()) for _ in range(rng.randint(4, 18)))
            lines.append(f"On page {number} of volume {seed} the {words}. ")
    text = "".join(line + ("\n\n" if rng.random() < 0.2 else "") for line in lines).strip()
    keeper = f"Keeper {seed}-{rng.randint(100, 999)}"
    text += f"\n\nIts keeper is {keeper}." if language == "en" else f"\n\n它的看守人是{keeper}。"
    start = text.rindex(keeper)
    question = Question(f"Who keeps volume {seed}?", (keeper,), ((start, start + len(keeper)),))
    summary = f"Volume {seed} tells of many things and is kept by {keeper}."
    return Document(document_id(text), text, f"made:{seed}", language, f"Volume {seed}", "", (question,), summary)


def write_corpus(folder: Path, count: int, languages: tuple[str, ...] = ("en",), sentences: int = 30) -> Path:
    """A JSONL corpus of made-up documents."""
    path = folder / "corpus.jsonl"
    with path.open("w", encoding="utf-8") as stream:
        for language in languages:
            for seed in range(count):
                made = make_document(seed, language, sentences)
                row = {
                    "text": made.text,
                    "title": made.title,
                    "summary": made.summary,
                    "questions": [question.text for question in made.questions],
                    "answers": [list(question.answers) for question in made.questions],
                }
                stream.write(json.dumps(row, ensure_ascii=False) + "\n")
    return path
