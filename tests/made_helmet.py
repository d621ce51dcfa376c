"""Made-up records of HELMET, in the files of its folder ``data`` and in those that users write."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path

from made import make_document

LABELS = {"trec_coarse": 6, "trec_fine": 50, "banking77": 77, "clinc150": 151, "nlu": 68}


def write_helmet(folder: Path, count: int = 3) -> Path:
    """A copy of HELMET with ``count`` questions of every data set, at 4k and 8k where a file has one length."""
    for size in (20, 50):
        for name, depth in (("nq-dev-multikilt", 6), ("triviaqa-dev-multikilt", 6), ("hotpotqa-dev-multikilt", 3)):
            _lines(folder / f"data/kilt/{name}_1000_k{size}_dep{depth}.jsonl", _questions(name[:2], count, depth, size))
        _lines(folder / f"data/kilt/popqa_test_1000_k{size}_dep6.jsonl", _questions("po", count, 6, size))
    for name, depth in (("nq-train-multikilt", 6), ("triviaqa-train-multikilt", 6), ("hotpotqa-train-multikilt", 3)):
        _lines(folder / f"data/kilt/{name}_1000_k3_dep{depth}.jsonl", _questions(f"{name[:2]}-shown", 4, depth, 3))
    _lines(folder / "data/kilt/popqa_test_1000_k3_dep6.jsonl", _questions("po", count + 3, 6, 3))
    for size in (50, 105):
        _lines(folder / f"data/json_kv/test_k{size}_dep6.jsonl", (_pairs(number, size) for number in range(count)))
    for task in ("niah_multikey_2", "niah_multikey_3", "niah_multivalue", "niah_single_1"):
        for length in (4096, 8192):
            needles = (_needles(number, task) for number in range(count))
            _lines(folder / f"data/ruler/{task}/validation_{length}.jsonl", needles)
    for size in (14, 50):
        ranked = (_ranked(f"q{number}", size) for number in range(count) for _ in range(3))
        _lines(folder / f"data/msmarco/test_reranking_data_k{size}_dep3.jsonl", ranked)
    shown = (_ranked(f"shown{number}", 10) for number in range(30))
    _lines(folder / "data/msmarco/test_reranking_data_k10_dep3.jsonl", shown)
    write_cited(folder, count)
    for kind, labels in LABELS.items():
        split = ("train", "test") if kind != "nlu" else ("",)
        for name in split:
            rows = 3 * labels if name != "test" else count
            texts = ({"text": f"{kind} {name} {row}, please?", "label": row % labels} for row in range(rows))
            _lines(folder / f"helmet_icl/{kind}{f'_{name}' if name else ''}.jsonl", texts)
    for name in (
        "longbook_qa_eng",
        "longbook_choice_eng",
        "longbook_sum_eng",
        "helmet_narrativeqa",
        "helmet_multi_lexsum",
    ):
        _lines(folder / f"{name}.jsonl", (_book(name, number) for number in range(count)))
    return folder


def write_cited(folder: Path, count: int) -> None:
    """Questions answered with citations, and their prompts."""
    for kind in ("asqa", "qampari"):
        rows = [
            {
                "question": f"Who kept the bells of {kind} {number}?",
                "docs": [{"title": f"Bell {place}", "text": f"Bell {place} rang."} for place in range(60)],
                **(
                    {
                        "qa_pairs": [
                            {"short_answers": [f"Ann {number}", "Ann of Ely, Cy"]},
                            {"short_answers": [f"Bo {number}"]},
                        ]
                    }
                    if kind == "asqa"
                    else {"answers": [[f"Ann {number}", "Ann of Ely, Cy"], [f"Bo {number}"]]}
                ),
            }
            for number in range(count)
        ]
        _write(folder / f"data/alce/{kind}_eval_gtr_top2000.json", json.dumps(rows))
        prompts = {
            "instruction": f"Answer {kind}, cite {{1}}.",
            "demo_sep": "\n\n\n",
            "demo_prompt": "{instruction}\n\nQuestion: {question}\n\n{context}\n\nAnswer: {answer}",
            "doc_prompt": "Document [{ID}](Title: {title}): {text}",
            "demos": [
                {
                    "question": f"Who {n}?",
                    "answer": f"Cy {n} [1].",
                    "docs": [{"title": "Cy", "text": f"Cy {n} {{ID}}."}],
                }
                for n in range(4)
            ],
        }
        _write(folder / f"prompts/{kind}_revised.json", json.dumps(prompts))


def _questions(name: str, count: int, depths: int, size: int) -> list[dict[str, object]]:
    return [
        {
            "question": f"Where is the {name} mill {number}?",
            "answers": [f"Vale {number}", f"the vale {number}"],
            "s_pop": 5000 if number == 1 else 20,
            "ctxs": [
                {"title": f"Mill {place}", "text": f"The mill is in Vale {number if place == depth else 90 + place}."}
                for place in range(size)
            ],
        }
        for number in range(count)
        for depth in range(depths)
    ]


def _pairs(number: int, size: int) -> dict[str, object]:
    pairs = {f"key-{number}-{place}": f"value-{number}-{place}" for place in range(size)}
    demos = [[f"key-{number}-{place}", f"value-{number}-{place}"] for place in (1, 2, 3)]
    own = {"question": f"key-{number}-7", "answer": f"value-{number}-7", "demos": demos, "num_kvs": size}
    return {"context": "JSON data:\n" + json.dumps(pairs), **own}


def _needles(number: int, task: str) -> dict[str, object]:
    values = [f"{1000000 + 10 * number + place}" for place in range(4 if task == "niah_multivalue" else 1)]
    text = " ".join(f"One of the special magic numbers for key-{number} is: {value}." for value in values)
    about = {"query": f"key-{number}", "type_needle_v": "numbers" if len(values) > 1 else "number", "index": number}
    return {"context": f"{make_document(number, sentences=30).text}\n{text}", **about, "outputs": values}


def _ranked(name: str, size: int) -> dict[str, object]:
    passages = [{"id": f"{1000 + place}", "text": f"On {name}, {place}.", "label": place % 4} for place in range(size)]
    return {"qid": name, "query": f"What of {name}?", "ctxs": passages}


def _book(name: str, number: int) -> dict[str, object]:
    options = [f"the {colour} boat" for colour in ("red", "blue", "green", "grey")]
    answers = {"longbook_choice_eng": [options[number % 4]], "helmet_narrativeqa": [f"a boat {number}", "boat"]}
    return {
        "id": number,
        "context": "\n".join(make_document(50 * number + part, sentences=60).text for part in range(12)),
        "input": "" if "sum" in name else f"What crossed the river in {number}?",
        "answer": answers.get(name, [f"A boat {number} crossed the river."]),
        "options": options if "choice" in name else [],
    }


def _lines(path: Path, rows: Iterable[Mapping[str, object]]) -> None:
    _write(path, "".join(json.dumps(row) + "\n" for row in rows))


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
