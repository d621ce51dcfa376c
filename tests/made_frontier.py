"""Made-up records of the frontier benchmarks, in the forms in which they are published."""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from zipfile import ZipFile

import polars

from fathom.benchmarks.babilong.scoring import LABELS
from fathom.benchmarks.loft.records import KINDS
from fathom.benchmarks.ruler.v2_scoring import LETTER, METRIC_OF
from made import make_document

NEEDLES = (2, 4, 8)


def write_frontier(folder: Path, count: int = 4) -> Path:
    """Records of MRCR (two), Graphwalks, BABILong, AA-LCR, LongProc, Oolong, RULERv2, LOFT and CorpusQA."""
    write_mrcr(folder / "openai--mrcr", count)
    write_google(folder / "google", count)
    write_graphwalks(folder / "openai--graphwalks", count)
    write_babilong(folder / "babilong", count)
    write_aa_lcr(folder / "ArtificialAnalysis--AA-LCR", count)
    write_nolima(folder / "amodaresi--NoLiMa", count)
    write_longproc(folder / "longproc_data", count)
    write_oolong(folder / "oolongbench", count)
    write_ruler2(folder / "gym", count)
    write_loft(folder / "data", count)
    (folder / "corpusqa").mkdir()
    rows = [
        {
            "id": number,
            "prompt": f"Reports.\n\nSales of {number}?",
            "question": f"Sales of {number}?",
            "answer": "12, 7",
        }
        for number in range(count)
    ]
    (folder / "corpusqa" / "corpusqa.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return folder


def write_mrcr(folder: Path, count: int) -> None:
    for needles in NEEDLES:
        rows = []
        for number in range(count):
            text, prefix = f"Verse {number} of {needles} tapirs, slow and kind.", f"aYooSG8C{number}{needles}"
            turns = [("user", "Write a verse about tapirs."), ("assistant", text)]
            turns += [("user", f"Prepend {prefix} to the 1st (1 indexed) verse about tapirs.")]
            rows.append(
                {
                    "prompt": json.dumps([{"role": role, "content": content} for role, content in turns]),
                    "answer": prefix + text,
                    "random_string_to_prepend": prefix,
                    "n_needles": needles,
                    "desired_msg_index": 1,
                    "total_messages": 3,
                    "n_chars": 100,
                    "date_added": "2025-12-05",
                }
            )
        path = folder / f"{needles}needle" / f"{needles}needle_0.parquet"
        path.parent.mkdir(parents=True)
        polars.DataFrame(rows).write_parquet(path)


def write_google(folder: Path, count: int) -> None:
    folder.mkdir(parents=True)
    with (folder / "mrcr_v2p1_2needle_in_(4096,8192)_dynamic_fewshot_text_style_fast.csv").open(
        "w", newline=""
    ) as file:
        rows = csv.writer(file)
        rows.writerow(["queries", "answer", "context_len"])
        for number in range(count):
            rows.writerow(
                [f"A conversation.\n\nRepeat text {number}.", f"b6Yath1qpb{number:02d}Text {number}, kind.", 5000]
            )


def write_graphwalks(folder: Path, count: int) -> None:
    folder.mkdir(parents=True)
    rows = [
        {
            "prompt": f"Edges:\n\na{number} -> b{number}\n\n{kind} of a{number}.\nFinal Answer: [] if none.",
            "answer_nodes": [f"b{number}"] if number else [],
            "prompt_chars": 90,
            "problem_type": kind.upper() if number else kind,
            "date_added": "2025-04-14",
        }
        for kind in ("bfs", "parents")
        for number in range(count)
    ]
    schema = {"answer_nodes": polars.List(polars.String)}
    polars.DataFrame(rows, schema_overrides=schema).write_parquet(folder / "graphwalks_128k_and_shorter.parquet")


def write_babilong(folder: Path, count: int) -> None:
    for task, labels in LABELS.items():
        path = folder / task / "0k.json"
        path.parent.mkdir(parents=True)
        rows = [
            {
                "input": f"{make_document(number, sentences=4).text}\nA fact of {task}.",
                "question": f"What does question {number} ask? ",
                "target": labels[number % len(labels)],
            }
            for number in range(count)
        ]
        path.write_text(json.dumps(rows))


def write_aa_lcr(folder: Path, count: int) -> None:
    (folder / "extracted_text").mkdir(parents=True)
    with ZipFile(folder / "extracted_text" / "AA-LCR_extracted-text.zip", "w") as archive:
        for number in range(count):
            # The name of the second file is in the archive as its UTF-8 read as code page 437.
            for name in ("report.txt", "café.txt".encode().decode("cp437")):
                archive.writestr(f"lcr/Reports/set_{number}/{name}", make_document(number, sentences=6).text)
    with (folder / "AA-LCR_Dataset.csv").open("w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file)
        rows.writerow(
            ["document_category", "document_set_id", "question_id", "question", "answer", "data_source_filenames"]
        )
        for number in range(count):
            files = "report.txt;café.txt"
            rows.writerow(
                [
                    "Reports",
                    f"set_{number}",
                    number + 1,
                    f"Who kept {number}?",
                    f"Keeper {number} of all",
                    files,
                ]
            )


def write_nolima(folder: Path, count: int) -> None:
    """Needles of the three sets that are asked and of one that is not, and two books."""
    for part in ("needlesets", "haystack/rand_shuffle"):
        (folder / part).mkdir(parents=True)
    for name in ("needle_set", "needle_set_hard", "needle_set_ONLYDirect", "needle_set_w_Distractor"):
        direct = "Direct" in name
        records = [
            {
                "id": f"{number:04}",
                "reasoning_type": "world_knowledge",
                "system_prompt": "You help.",
                "task_template": "A snippet of a book:\n\n{haystack}\n\nEnd of it. Question: {question}\nOne name.",
                "needle": "That year, {CHAR} lived beside {1}.",
                "questions": {"direct": "Who lived beside {1}?"}
                if direct
                else {"onehop": "Who has been to {2}?", "twohop": "Who has been to {3} by way of {2}?"},
                "character_set": ["Ulla", "Bram", "Tove"],
                "tests": {"T01": {"input_args": [f"mill {number}", f"town {number}", f"land {number}"]}},
                "distractors": {},
            }
            for number in range(count)
        ]
        (folder / "needlesets" / f"{name}.json").write_text(json.dumps(records))
    for number in (1, 2):
        lines = [make_document(1000 * number + line, sentences=8).text for line in range(40)]
        (folder / "haystack" / "rand_shuffle" / f"rand_book_{number}.txt").write_text("\n".join(lines))
    (folder / "LICENSE.txt").write_text("Research only.")


def write_longproc(folder: Path, count: int) -> None:
    """A table for each kind of record, and the web pages of one of them."""
    made: dict[str, list[dict[str, object]]] = {"path_traversal": [], "tom_tracking": [], "countdown": []}
    made["html_to_tsv"] = []
    pages = folder / "html_to_tsv" / "webpage"
    pages.mkdir(parents=True)
    for number in range(count):
        cities = [f"Aburg {number}", f"Bville {number}", f"Cton {number}"]
        hops = [f"From {start}, take a bus to {end}." for start, end in pairwise(cities)]
        made["path_traversal"].append(
            {
                "problem_description": "Cities.",
                "context_nl": "\n".join(f"You can travel from {a} to {b} by bus." for a, b in pairwise(cities)),
                "question_repr": [cities[0], cities[-1]],
                "question_nl": "A route, please.",
                "answer_nl": "\n".join(hops),
            }
        )
        made["tom_tracking"].append(
            {
                "story_components": "Agents: [Leon].",
                "story": f"Step 0: Leon is in the pantry; the pin {number} is on the attic's rack.",
                "question": f"Where does Leon believe the pin {number} is?",
                "solution": f"Leon's belief on the pin {number}:\n- Step 0: (initial state) {{Leon location: pantry; "
                f"pin {number} location: attic's rack; Leon sees pin: False; Leon's belief on pin {number}: None}}",
                "answer": [f"pin {number}"],
            }
        )
        made["countdown"].append(
            {
                "nums": [21, 16, 17, number + 1],
                "target": 20 + number + 1,
                "solution": ["21+16=37"],
                "solution_text": f"21 + 16 = 37\n37 - 17 = 20\n20 + {number + 1} = {20 + number + 1}",
                "num_search_tokens": 470,
            }
        )
        (pages / f"{number}.html").write_text(f"<ul><li>Pear, {number} EUR</li><li>Fig, 2 EUR</li></ul>")
        made["html_to_tsv"].append(
            {
                "task_id": f"W{number}",
                "website_id": f"W{number}",
                "html_path": f"webpage/{number}.html",
                "task_topic": "fruit",
                "task_description": "(1) name; (2) price",
                "gt": f"name\tprice\nPear\t{number} EUR\nFig\t2 EUR",
                "tsv_header": "name\tprice",
                "filtering_instruction": "",
            }
        )
    for kind, rows in made.items():
        (folder / kind).mkdir(exist_ok=True)
        for size in ("0.5k", "2k", "8k"):
            (folder / kind / f"{kind}_{size}.json").write_text(json.dumps(rows))


def write_oolong(folder: Path, count: int) -> None:
    golds = [
        ("[3]", "NUMERIC"),
        ("['spam']", "LABEL"),
        ("[datetime.date(2024, 3, 5)]", "DATE"),
        ("['less common than']", "X"),
    ]
    synth = [
        {
            "id": number,
            "context_len": 1024,
            "dataset": "spam",
            "context_window_text": f"Messages.\nDate: Mar 05, 2024 || User: {number} || Instance: a prize.",
            "context_window_text_with_labels": "...",
            "question": f"What of {number}? Answer in the form 'Answer: ...'.",
            "task_group": "counting",
            "task": "TASK_TYPE.ANY",
            "answer": golds[number % 4][0],
            "answer_type": f"ANSWER_TYPE.{golds[number % 4][1]}",
            "num_labels": 2,
            "context_window_id": number,
        }
        for number in range(count)
    ]
    real = [
        {
            "id": f"r{number}",
            "context_window_id": f"w{number}",
            "context_window_text": f"Sam rolls a {number}.",
            "question": f"What is rolled in {number}? Return it in \\boxed{{}}.",
            "answer": ["84", "Shield, Light", "Vex", "7"][number % 4],
            "question_type": "rolls",
        }
        for number in range(count)
    ]
    for name, rows in (("oolong-synth", synth), ("oolong-real", real)):
        (folder / name).mkdir(parents=True)
        polars.DataFrame(rows).write_parquet(folder / name / "test-00000-of-00001.parquet")


def write_ruler2(folder: Path, count: int) -> None:
    """The file of NeMo Gym with prompts of all tasks."""
    folder.mkdir(parents=True)
    with (folder / "ruler2_benchmark.jsonl").open("w") as file:
        for task, metric in METRIC_OF.items():
            for number in range(count):
                file.write(json.dumps(ruler2_record(task, metric, number)) + "\n")


def ruler2_record(task: str, metric: str, number: int) -> dict[str, object]:
    """A record of RULERv2."""
    code = str(10**6 + number)
    question = f"How many are {number}? A. {number} B. 2 C. 3 D. 4"
    gold: str | list[str] = [code, str(2 * 10**6 + number)] if task == "qa_easy" else [code]
    if metric == LETTER:
        gold = "ABCD"[number % 4]
    elif "niah" in task and "basic" not in task:
        gold = [question, f"{question} again A. 1 B. 2 C. 3 D. 4"] if task == "mv_niah_easy" else [question]
    elif task in ("qa_medium", "qa_hard"):
        gold = [f"Keeper {number}"]
    return {
        "question": f"Question {code}: {question}\n\nWhat of {task} {number}?",
        "expected_answer": gold,
        "eval_type": "multichoice" if metric == LETTER else "ruler2",
        "match_type": "all",
        "task": task,
        "length": 90,
        "index": number,
    }


def write_loft(folder: Path, count: int, length: str = "2k") -> None:
    """Queries of all data sets of LOFT in its folders, of one length; of every kind one data set has turns."""
    corpus = [
        {
            "pid": f"p{number}",
            "title_text": f"Town {number}",
            "passage_text": f"In town {number} lives Keeper {number}.",
            "metadata": {},
        }
        for number in range(count + 2)
    ]
    tables = [{**row, "passage_text": f"Keeper,Age\nKeeper {number},{number}"} for number, row in enumerate(corpus)]
    for kind, datasets in KINDS.items():
        for dataset in datasets:
            path = folder / kind / dataset / length
            path.mkdir(parents=True)
            if kind == "icl":
                rows = [
                    {"input": f"Is {number} odd?\nOptions:\n(A) yes\n(B) no", "target": "(A)"} for number in range(3)
                ]
                (path / "corpus.json").write_text(json.dumps(rows))
                rows = [{"input": f"Is {number} even?\n(A) yes\n(B) no", "target": "(B)"} for number in range(count)]
                for split in ("test", "dev"):
                    (path / f"{split}_queries.json").write_text(json.dumps(rows))
                continue
            write_lines(path / "corpus.jsonl", tables if kind == "sql" else corpus)
            queries = [loft_query(kind, dataset, number) for number in range(count + 2)]
            for split, some in (("test", queries[:count]), ("dev", queries[:1]), ("few_shot", queries[count:])):
                if split != "few_shot" or kind != "sql":
                    write_lines(path / f"{split}_queries.jsonl", some)


def loft_query(kind: str, dataset: str, number: int) -> dict[str, object]:
    """A query of LOFT, of two turns where the data set has turns."""
    query, pair = f"Who lives in town {number}?", [f"p{number}", 1]
    answers: object = {"retrieval": [pair], "rag": [f"Keeper {number}"], "sql": [[f"Keeper {number}", number]]}[kind]
    metadata: dict[str, object] = {"candidate_pids": [f"p{number}", "p0"]} if kind == "sql" else {"qrels": [pair]}
    if dataset in ("topiocqa", "sparc"):
        answers = [pair, pair] if kind == "retrieval" else [answers, answers]
        metadata = metadata if kind == "sql" else {"qrels": [[pair], [pair]]}
        return {"qid": f"q{number}", "query_text": [query, "And who else?"], "answers": answers, "metadata": metadata}
    return {"qid": f"q{number}", "query_text": query, "answers": answers, "metadata": metadata}


def write_lines(path: Path, rows: Sequence[Mapping[str, object]]) -> None:
    """A file of JSON lines."""
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
