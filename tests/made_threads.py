"""Made-up threads of questions and answers, and cases like the published ones of BestAnswer, for tests."""

from __future__ import annotations

import json
import random
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from fathom.suites.suitefile import BuiltSuite
from fathom.types import Sample, Span

EN = "pump valve hose gauge filter motor spring bolt bearing sleeve seal handle switch cable socket bracket lever"
ZH = "水泵阀门软管压力表过滤器电机弹簧垫圈螺栓轴承套筒密封手柄开关电缆插座支架杠杆"
LAST_NUMBER = 1_000_000


def sentences(key: str, count: int, language: str = "en") -> str:
    """So many made-up sentences, the same ones for the same key."""
    rng = random.Random(f"{key}|{language}")
    said = []
    for _ in range(count):
        if language == "zh":
            said.append("请检查" + "".join(rng.choice(ZH) for _ in range(rng.randint(5, 20))) + "。")
        else:
            said.append("Check the " + " ".join(rng.choice(EN.split()) for _ in range(rng.randint(4, 14))) + ". ")
    return "".join(said).strip()


def answer(number: int, text: str, day: int = 1, accepted: bool = False, **facts: object) -> dict[str, Any]:
    """An answer as a JSONL thread holds it, given on a day of March 2014."""
    known = {"answer_id": number, "creation_date": f"2014-03-{day:02}T10:00:00.000", "score": 1, "accepted": accepted}
    return {**known, "text": text, **facts}


def thread(
    number: int, answers: Iterable[Mapping[str, Any]], tags: Iterable[str] = ("pumps",), **facts: object
) -> dict[str, Any]:
    """A thread as a line of JSONL holds it."""
    listed = list(answers)
    gold = next((entry["answer_id"] for entry in listed if entry["accepted"]), None)
    known = {
        "id": f"made:{number}",
        "title": f"What is wrong with machine {number}?",
        "tags": list(tags),
        "creation_date": "2014-03-01T09:00:00.000",
        "score": number % 7,
        "accepted_answer_id": gold,
        "question": f"My machine {number} stopped. What should I look at?",
        "answers": listed,
    }
    return {**known, **facts}


def made_thread(number: int, language: str = "en", answers: int = 4, longest: int = 12) -> dict[str, Any]:
    """A thread of some answers of 1 to ``longest`` sentences; any two of them have half of their tags in common."""
    rng = random.Random(f"thread {number}|{language}")
    gold = rng.randrange(answers)
    given = [
        answer(
            number * 100 + place,
            sentences(f"{number}/{place}", rng.randint(1, longest), language),
            day=place + 2,
            accepted=place == gold,
        )
        for place in range(answers)
    ]
    words: dict[str, object] = {"question": sentences(f"{number}", 2, language)}
    if language == "zh":
        words |= {"id": f"made:{LAST_NUMBER + number}", "title": f"机器{number}怎么了？"}
    return thread(number, given, ("pumps", f"part-{number % 5}"), **words)


def write_lines(path: Path, records: Iterable[Mapping[str, Any]]) -> Path:
    """Records as JSONL."""
    path.write_text("".join(json.dumps(one, ensure_ascii=False) + "\n" for one in records), encoding="utf-8")
    return path


def write_threads(
    folder: Path, count: int, languages: tuple[str, ...] = ("en",), answers: int = 4, longest: int = 12
) -> Path:
    """JSONL of made-up threads, ``count`` in each language; 100 of them have answers enough for prompts of 16k."""
    made = (made_thread(n, language, answers, longest) for language in languages for n in range(1, count + 1))
    return write_lines(folder / "threads.jsonl", made)


def made_case(number: int, language: str = "en") -> dict[str, Any]:
    """A case like the published ones: 2 to 6 answers, one of them gold."""
    rng = random.Random(f"case {number}|{language}")
    count = rng.randint(2, 6)
    return {
        "index": number,
        "question_id": str(4000 + number),
        "question": "\n" + sentences(f"case {number}", 2, language),
        "all_answers": [sentences(f"case {number}/{n}", rng.randint(1, 4), language) for n in range(count)],
        "answer": f"A{rng.randint(1, count)}",
        "tags": ["pumps"],
    }


def write_cases(folder: Path, count: int, languages: tuple[str, ...] = ("en",)) -> Path:
    """JSONL of cases like the published ones, ``count`` in each language."""
    made = (made_case(n, language) for language in languages for n in range(count))
    return write_lines(folder / "cases.jsonl", made)


def answers_of(suite: BuiltSuite, sample: Sample) -> list[str]:
    """The candidates of a prompt, in order."""
    known = suite.texts()
    spans = [part for part in sample.parts if isinstance(part, Span)]
    return [known[span.doc][span.start : span.end] for span in spans[1:]]
