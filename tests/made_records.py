"""Made-up records of LongBench, in the form in which its authors publish them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from engine_calls import configure
from fathom.benchmarks.longbench.records import EVEN, LANGUAGES
from fathom.suites.build import build
from fathom.suites.suitefile import BuiltSuite, open_suite
from fathom.tokens.length import render
from fathom.types import Sample
from made import make_document

CLASSES = {
    "trec": ["Food", "Food and drink", "Date", "Title of a person"],
    "lsht": ["体育", "财政、金融", "教育"],
}
ANSWERS = {
    "passage_count": "7",
    "passage_retrieval_en": "Paragraph 2",
    "passage_retrieval_zh": "段落2",
    "lcc": "        return self.keeper",
    "repobench-p": "    keeper = Keeper(3)",
}
INPUTS = {
    "trec": "Question: Who keeps volume {row} ?\nType:",
    "samsum": "Dialogue: Ann: volume {row}?\r\nBob: gone :)\nSummary: ",
    "triviaqa": "Passage:\nIt is kept by Ann.\nQuestion:\nWho keeps volume {row}?\nAnswer:\n",
    "lsht": "新闻内容：\n第{row}卷。\n类别：",
    "repobench-p": "def keeper_of_{row}():\n",
}
NO_INPUT = ("gov_report", "multi_news", "vcsum", "passage_count", "lcc")


def make_record(dataset: str, row: int, sentences: int = 12) -> dict[str, Any]:
    """A record of one data set; blanks stand at both ends of its context, as in the published ones."""
    language = LANGUAGES[dataset]
    made = make_document(row, language, sentences)
    context = f"  {made.text}\r\n\r\n\r\nThe end. \n"
    if dataset.startswith("passage_"):
        name = "段落" if language == "zh" else "Paragraph "
        context = "\n\n".join(f"{name}{n}: {make_document(10 * row + n, language, 3).text}" for n in (1, 2, 3))
    answer = CLASSES[dataset][row % 3] if dataset in CLASSES else ANSWERS.get(dataset, made.questions[0].answers[0])
    asked = "" if dataset in NO_INPUT else INPUTS.get(dataset, made.questions[0].text + " {{context}}")
    return {
        "input": asked.replace("{row}", str(row)),
        "context": context,
        "answers": [answer],
        "length": 1500 * (row + 1),
        "dataset": dataset,
        "language": "python" if dataset == "lcc" else language,
        "all_classes": CLASSES.get(dataset),
        "_id": f"{dataset}-{row}",
    }


def write_records(
    folder: Path, count: int = 4, datasets: Sequence[str] = tuple(LANGUAGES), *, even: bool = False, sentences: int = 12
) -> Path:
    """Files of data sets, ``hotpotqa.jsonl`` or, of LongBench-E, ``hotpotqa_e.jsonl``, in a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for dataset in datasets:
        if not even or dataset in EVEN:
            rows = [make_record(dataset, row, sentences) for row in range(count)]
            write_rows(folder / f"{dataset}{'_e' * even}.jsonl", rows)
    return folder


def write_rows(path: Path, rows: Sequence[Mapping[str, Any]]) -> Path:
    """Rows as JSONL."""
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
    return path


def make_template(dataset: str) -> str:
    """A template with braces of its own; few data sets have their input in the middle."""
    return f"{{{dataset}}} Read: {{context}}\n--\n{{input}} {{other}}:"


def write_templates(folder: Path, datasets: Sequence[str] = tuple(LANGUAGES), cap: int = 64) -> Path:
    """The files in which LongBench keeps prompts and output caps, in a folder below this one."""
    (folder / "config").mkdir(parents=True, exist_ok=True)
    prompts = {dataset: make_template(dataset) for dataset in datasets}
    (folder / "config/dataset2prompt.json").write_text(json.dumps(prompts, indent=4), encoding="utf-8")
    (folder / "config/dataset2maxlen.json").write_text(json.dumps(dict.fromkeys(datasets, cap)), encoding="utf-8")
    return folder


def build_records(target: str, folder: Path, data: Sequence[Path], **choices: Any) -> BuiltSuite:
    """A suite of data sets in some folders."""
    wanted = configure(target, data=[str(path) for path in data], **{"tokenizer": "words", **choices})
    return open_suite(build(wanted, folder / f"{target}-suite", force=True).folder)


def prompts_of(suite: BuiltSuite) -> list[tuple[Sample, str]]:
    """Samples with their whole prompts."""
    texts = suite.texts()
    return [(sample, render(sample, texts)) for sample in suite.samples()]


def row_in(sample: Sample) -> int:
    """The row of a sample's record in its file."""
    return int(sample.item.rsplit("/", 1)[1].removeprefix("e"))
