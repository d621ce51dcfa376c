"""Scoring the replies of whole LongBench files: ours beside the libraries that the released scorers are built on.

    python -m venv official
    official/bin/python -m pip install rouge==1.0.1 fuzzywuzzy==0.18.0 jieba==0.42.1 python-Levenshtein zstandard
    python performance/longbench_scoring.py FOLDER --official official/bin/python

FOLDER holds a folder for each model, with files ``TASK.jsonl.zst`` of rows with ``pred``, ``answers`` and
``all_classes``, and the ``result.json`` of their source. The other side applies LongBench's rules, in our own words, to
the same rows with the packages that LongBench names; code is compared twice, because ``fuzzywuzzy`` takes
python-Levenshtein where that is installed, and else difflib, which gives the published scores.

Each side is one process on one core that reads all rows, imports its scorers and loads jieba's dictionary before the
clock starts, and scores every row once; what it remembers of equal texts it has to learn within that time. What is
shown is CPU time, of each file the least of several processes. Scores have to be equal to 1e-9, or the benchmark stops.
"""

from __future__ import annotations

import argparse
import io
import json
import re
import string
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from difflib import SequenceMatcher
from importlib import import_module
from pathlib import Path
from typing import Any

METRICS = {
    "qa_f1": ("narrativeqa", "qasper", "multifieldqa_en", "hotpotqa", "2wikimqa", "musique", "triviaqa"),
    "qa_f1_zh": ("multifieldqa_zh",),
    "rouge": ("gov_report", "qmsum", "multi_news", "samsum"),
    "rouge_zh": ("dureader", "vcsum"),
    "classification": ("trec", "lsht"),
    "count": ("passage_count",),
    "retrieval": ("passage_retrieval_en",),
    "retrieval_zh": ("passage_retrieval_zh",),
    "code_sim": ("lcc", "repobench-p"),
}
METRIC_OF = {task: metric for metric, tasks in METRICS.items() for task in tasks}
FIRST_LINE = ("trec", "triviaqa", "samsum", "lsht")
DIFFLIB = "code_sim_difflib"
MARKS = set(string.punctuation)
MARKS_ZH = MARKS | set(
    "！？｡。＂＃＄％＆＇（）＊＋，－／：；＜＝＞＠［＼］＾＿｀｛｜｝～｟｠｢｣､、〃》「」『』【】〔〕〖〗〘〙〚〛〜〝〞〟〰〾〿–—‘’‛“”„‟…‧﹏."
)

Row = dict[str, Any]
Score = Callable[[str, str, Row], float]


def files_of(folder: Path) -> list[tuple[str, str, list[Row]]]:
    """Model, task and rows of every file."""
    zstandard = import_module("zstandard")
    found = []
    for path in sorted(folder.glob("*/*.jsonl.zst")):
        with path.open("rb") as raw, zstandard.ZstdDecompressor().stream_reader(raw) as stream:
            rows = [json.loads(line) for line in io.TextIOWrapper(stream, encoding="utf-8")]
        found.append((path.parent.name, path.name.removesuffix(".jsonl.zst"), rows))
    return found


# ------------------------------------------------------------------------------------- the released rules


def shared_words(said: list[str], gold: list[str]) -> float:
    """F1 of two bags of words."""
    same = sum((Counter(said) & Counter(gold)).values())
    if same == 0:
        return 0.0
    precision, recall = same / len(said), same / len(gold)
    return 2 * precision * recall / (precision + recall)


def english(text: str) -> list[str]:
    """Words in lower case without ASCII punctuation and articles."""
    kept = "".join(letter for letter in text.lower() if letter not in MARKS)
    return re.sub(r"\b(a|an|the)\b", " ", kept).split()


def released_scorers() -> dict[str, Score]:
    """LongBench's rules around ``rouge``, ``fuzzywuzzy`` and ``jieba``."""
    rouge, jieba = import_module("rouge"), import_module("jieba")
    fuzz: Any = import_module("fuzzywuzzy.fuzz")
    jieba.setLogLevel("ERROR")
    jieba.initialize()
    levenshtein = fuzz.SequenceMatcher
    if levenshtein is SequenceMatcher:
        raise SystemExit("fuzzywuzzy compares with difflib only: install python-Levenshtein beside it")

    def qa_f1(said: str, gold: str, row: Row) -> float:
        return shared_words(english(said), english(gold))

    def qa_f1_zh(said: str, gold: str, row: Row) -> float:
        def words(text: str) -> list[str]:
            cut = jieba.cut(text, cut_all=False)
            plain = ("".join(c for c in "".join(word.lower().split()) if c not in MARKS_ZH) for word in cut)
            return [word for word in plain if word]

        return shared_words(words(said), words(gold))

    def rouge_l(said: str, gold: str, row: Row) -> float:
        try:
            return float(rouge.Rouge().get_scores([said], [gold], avg=True)["rouge-l"]["f"])
        except Exception:  # RecursionError too, as the released code has it
            return 0.0

    def rouge_l_zh(said: str, gold: str, row: Row) -> float:
        said, gold = (" ".join(jieba.cut(text, cut_all=False)) for text in (said, gold))
        return rouge_l(said, gold, row)

    def classification(said: str, gold: str, row: Row) -> float:
        found = [name for name in row["all_classes"] if name in said]
        for name in found:
            if name in gold and name != gold:
                found.remove(name)
        return 1.0 / len(found) if gold in found else 0.0

    def count(said: str, gold: str, row: Row) -> float:
        numbers = re.findall(r"\d+", said)
        return sum(number == str(gold) for number in numbers) / len(numbers) if numbers else 0.0

    def retrieval(pattern: str) -> Score:
        return lambda said, gold, row: count(said, re.findall(pattern, gold)[0], row)

    def code(matcher: object) -> Score:
        def score(said: str, gold: str, row: Row) -> float:
            fuzz.SequenceMatcher = matcher
            line = ""
            for one in said.lstrip("\n").split("\n"):
                if "`" not in one and "#" not in one and "//" not in one:
                    line = one
                    break
            return float(fuzz.ratio(line, gold)) / 100

        return score

    return {
        "qa_f1": qa_f1,
        "qa_f1_zh": qa_f1_zh,
        "rouge": rouge_l,
        "rouge_zh": rouge_l_zh,
        "classification": classification,
        "count": count,
        "retrieval": retrieval(r"Paragraph (\d+)"),
        "retrieval_zh": retrieval(r"段落(\d+)"),
        "code_sim": code(levenshtein),
        DIFFLIB: code(SequenceMatcher),
    }


def score_released() -> Callable[[str, str, list[Row]], list[float]]:
    """The plain loop over rows and gold answers."""
    scorers = released_scorers()

    def scores(metric: str, task: str, rows: list[Row]) -> list[float]:
        found = []
        for row in rows:
            said = row["pred"].lstrip("\n").split("\n")[0] if task in FIRST_LINE else row["pred"]
            found.append(max([0.0, *(scorers[metric](said, gold, row) for gold in row["answers"])]))
        return found

    return scores


def score_ours() -> Callable[[str, str, list[Row]], list[float]]:
    """The scorers of ``fathom score``."""
    from fathom.score.chinese import cut_words
    from fathom.score.registry import ScoringRow, get_scorer

    get_scorer("longbench_v1/qa_f1")  # imports all scorers
    cut_words("词")  # loads the dictionary, as on the other side

    def scores(metric: str, task: str, rows: list[Row]) -> list[float]:
        scorer = get_scorer(f"longbench_v1/{metric}")
        found = (
            scorer(ScoringRow(row["pred"], row["answers"], row["all_classes"], dataset=task)).value for row in rows
        )
        return [0.0 if value is None else value for value in found]

    return scores


# ------------------------------------------------------------------------------------------- both beside


def work(folder: Path, side: str) -> None:
    """Score all files and print one JSON line for each file and metric."""
    files = files_of(folder)
    score = score_ours() if side == "ours" else score_released()
    for model, task, rows in files:
        metric = METRIC_OF[task]
        for one in (metric, DIFFLIB) if metric == "code_sim" else (metric,):
            start = time.process_time()
            scores = score(one, task, rows)
            seconds = time.process_time() - start
            print(json.dumps({"file": f"{model}/{task}", "metric": one, "seconds": seconds, "scores": scores}))


def measured(python: str, folder: Path, side: str, runs: int) -> list[Row]:
    """What processes of their own measure: for each file the least time of all runs."""
    command = [python, str(Path(__file__)), str(folder), "--side", side]
    found: list[list[Row]] = []
    for _ in range(runs):
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        found.append([json.loads(line) for line in done.stdout.splitlines()])
    return [min(files, key=lambda one: float(one["seconds"])) for files in zip(*found, strict=True)]


def compared(ours: list[Row], theirs: list[Row]) -> int:
    """Rows with equal scores; stops at the first that differs."""
    rows = 0
    for mine, other in zip(ours, theirs, strict=True):
        if len(mine["scores"]) != len(other["scores"]):
            raise SystemExit(f"{mine['file']}: different numbers of rows")
        for number, pair in enumerate(zip(mine["scores"], other["scores"], strict=True)):
            if abs(pair[0] - pair[1]) > 1e-9:
                raise SystemExit(f"{mine['file']}, {mine['metric']}, row {number}: ours {pair[0]}, released {pair[1]}")
        rows += len(mine["scores"])
    return rows


def published(folder: Path, ours: list[Row]) -> tuple[int, list[str]]:
    """Files whose mean is the published one to two places, and those whose mean is not."""
    other = []
    files = [one for one in ours if one["metric"] != "code_sim"]
    for one in files:
        model, task = one["file"].split("/")
        mean = round(100 * sum(one["scores"]) / len(one["scores"]), 2)
        stated = json.loads((folder / model / "result.json").read_text())[task]
        if abs(mean - stated) > 1e-9:
            other.append(f"{one['file']} {mean} (published: {stated})")
    return len(files) - len(other), other


def main() -> None:
    """Measure both sides and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--official", default=sys.executable, help="Python with rouge, fuzzywuzzy and jieba")
    parser.add_argument("--runs", type=int, default=3, help="processes of each side")
    parser.add_argument("--side", choices=("ours", "released"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.side:
        return work(arguments.folder, arguments.side)
    ours = measured(sys.executable, arguments.folder, "ours", arguments.runs)
    theirs = measured(arguments.official, arguments.folder, "released", arguments.runs)
    rows = compared(ours, theirs)
    print(f"{'metric':18}{'files':>6}{'rows':>7}{'released s':>12}{'ours s':>9}{'ratio':>8}")
    for metric in [*METRICS, DIFFLIB, "without difflib", "without Levenshtein"]:
        kept = [metric]
        if metric.startswith("without"):
            kept = [*METRICS, DIFFLIB]
            kept.remove(DIFFLIB if "difflib" in metric else "code_sim")
        sides = [[one for one in side if one["metric"] in kept] for side in (ours, theirs)]
        mine, other = (sum(one["seconds"] for one in side) for side in sides)
        count = sum(len(one["scores"]) for one in sides[0])
        print(f"{metric:18}{len(sides[0]):>6}{count:>7}{other:>12.2f}{mine:>9.3f}{other / mine:>8.1f}")
    print(f"{rows} scores, all equal to 1e-9")
    same, others = published(arguments.folder, ours)
    print(f"{same} of {same + len(others)} files have their published score; others: {', '.join(others) or 'none'}")


if __name__ == "__main__":
    main()
