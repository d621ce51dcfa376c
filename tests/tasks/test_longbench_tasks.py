"""LongBench, LongBench-E and MiniLongBench: records as they are, own and official prompts, lengths, cuts and scores."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from engine_calls import configure
from fathom.benchmarks.longbench.prompts import PROMPTS
from fathom.benchmarks.longbench.records import ANCHORS, DATA_SETS, EVEN, LANGUAGES
from fathom.score.registry import get_scorer, row_of
from fathom.suites.build import build
from fathom.suites.registry import get_suite, get_task
from fathom.suites.suitefile import open_suite
from fathom.tokens.tokenizers import get_tokenizer
from fathom.types import FathomError
from made_records import (
    build_records,
    make_record,
    make_template,
    prompts_of,
    row_in,
    write_records,
    write_rows,
    write_templates,
)

CAPS = {
    "multifieldqa_en": 64, "multifieldqa_zh": 64, "hotpotqa": 32, "2wikimqa": 32, "musique": 32, "gov_report": 512,
    "qmsum": 512, "multi_news": 512, "vcsum": 512, "trec": 64, "triviaqa": 32, "lsht": 64, "passage_count": 32,
    "passage_retrieval_en": 32, "passage_retrieval_zh": 32, "lcc": 64, "repobench-p": 64,
}  # fmt: skip
CONTINUED = {"trec", "triviaqa", "samsum", "lsht", "lcc", "repobench-p"}


# -------------------------------------------------------------------------------------------------- declarations


def test_all_21_tasks_have_the_caps_and_manners_of_the_released_code() -> None:
    assert set(DATA_SETS) == set(LANGUAGES) == set(PROMPTS) == set(ANCHORS)
    assert len(DATA_SETS) == 21
    for name, kind in DATA_SETS.items():
        task = get_task(f"longbench_{name}")
        assert task.max_output_tokens == CAPS.get(name, 128)
        assert task.continued == (name in CONTINUED)
        assert task.capped
        assert task.stop == (("\n",) if name == "samsum" else ())
        assert task.official == f"longbench_v1/{kind.metric}"
        assert task.languages == (LANGUAGES[name],)
    assert sum(kind.size for kind in DATA_SETS.values()) == 4750
    sizes = {"single_doc_qa": 4, "multi_doc_qa": 4, "summarization": 4, "few_shot": 4, "synthetic": 3, "code": 2}
    categories = [kind.category for kind in DATA_SETS.values()]
    assert {name: categories.count(name) for name in categories} == sizes


def test_own_prompts_name_the_input_once_where_there_is_one_and_say_nothing_else_in_braces() -> None:
    for before, after in PROMPTS.values():
        assert "{" not in before
        assert after.count("{input}") <= 1
        assert "{" not in after.replace("{input}", "")


def test_the_237_items_of_mini_are_rows_of_longbench() -> None:
    mini, whole = get_suite("mini"), get_suite("longbench")
    assert len(set(mini.only)) == len(mini.only) == 237
    assert (mini.tasks, mini.lengths) == (whole.tasks, whole.lengths)
    for dataset, rows in ANCHORS.items():
        assert list(rows) == sorted(set(rows))
        assert 0 <= rows[0] <= rows[-1] < DATA_SETS[dataset].size


# ------------------------------------------------------------------------------------------------------- records


def test_records_are_used_as_they_are_and_named_by_their_rows(tmp_path: Path) -> None:
    suite = build_records("longbench", tmp_path, [write_records(tmp_path / "data", 5)], items=4)
    found = prompts_of(suite)
    assert len(found) == 21 * 4
    for sample, prompt in found:
        dataset = str(sample.inputs["dataset"])
        record = make_record(dataset, row_in(sample))
        assert sample.item == f"longbench_{dataset}/{LANGUAGES[dataset]}/{row_in(sample):04d}"
        assert prompt == PROMPTS[dataset][0] + record["context"] + PROMPTS[dataset][1].replace(
            "{input}", record["input"]
        )
        assert sample.targets == tuple(record["answers"])
        assert sample.facets["words"] == record["length"]
        assert sample.facets["category"] == DATA_SETS[dataset].category
        assert sample.asked == record["input"]
        assert not {"bucket", "whole_tokens"} & set(sample.facets)
        assert sample.inputs["dataset"] == dataset
        assert row_of("", sample).all_classes == record["all_classes"]
        assert sample.tokens == get_tokenizer("words").count(prompt) <= sample.length
    chances = {sample.task: sample.chance for sample, _ in found}
    assert chances["longbench_trec"] == 1 / 4
    assert chances["longbench_lsht"] == chances["longbench_passage_retrieval_zh"] == 1 / 3
    assert chances["longbench_qasper"] == 0


def test_rows_with_the_same_text_stay_apart_and_twice_the_same_file_is_one(tmp_path: Path) -> None:
    rows = [make_record("hotpotqa", 1) for _ in range(3)]
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        write_rows(tmp_path / name / "hotpotqa.jsonl", rows)
    suite = build_records("longbench_hotpotqa", tmp_path, [tmp_path / "a", tmp_path / "b"])
    assert [row_in(sample) for sample in suite.samples()] == [0, 1, 2]
    assert len({text for _, text in prompts_of(suite)}) == 1


def test_numbers_in_the_records_name_them(tmp_path: Path) -> None:
    rows = [{**make_record("trec", n), "index": n} for n in (7, 3, 199)]
    suite = build_records("longbench_trec", tmp_path, [write_rows(tmp_path / "trec.jsonl", rows)])
    assert [row_in(sample) for sample in suite.samples()] == [3, 7, 199]
    assert "the data lack some published records: longbench_trec 3 of 200" in suite.manifest["notes"]
    assert not any("without a number" in note for note in suite.manifest["notes"])


def test_notes_say_what_is_there_and_what_is_not(tmp_path: Path) -> None:
    data = write_records(tmp_path / "data", 3, ["trec", "vcsum"])
    notes = build_records("longbench", tmp_path, [data]).manifest["notes"]
    text = "\n".join(notes)
    assert "longbench_trec 3 of 200, longbench_vcsum 3 of 200" in text
    assert "longbench_vcsum: records without a number are assumed to be the first rows of the original file" in text
    assert "skipped, because the data have none of their records: longbench_narrativeqa, " in text
    assert "each record is at the smallest length that holds its prompt: 2k 6" in text
    assert not any("language" in note for note in notes)


def test_as_many_records_as_minilongbench_has_are_its_items(tmp_path: Path) -> None:
    data = write_records(tmp_path / "data", len(ANCHORS["trec"]), ["trec"])
    suite = build_records("mini", tmp_path, [data])
    assert [row_in(sample) for sample in suite.samples()] == list(ANCHORS["trec"])
    assert [sample.facets["words"] for sample in suite.samples()] == [1500 * n for n in range(1, 9)]
    assert any("as many as MiniLongBench has, are assumed to be its items" in note for note in suite.manifest["notes"])


def test_two_different_records_of_one_row_are_refused(tmp_path: Path) -> None:
    write_records(tmp_path / "a", 3, ["trec"])
    write_records(tmp_path / "b", 3, ["trec"], sentences=5)
    with pytest.raises(FathomError, match=r"trec\.jsonl:1 and .*: different records of row 0; `data` should name"):
        build_records("longbench", tmp_path, [tmp_path])


# --------------------------------------------------------------------------------------------- LongBench-E and mini


def test_longbench_e_has_buckets_of_words_and_items_of_its_own(tmp_path: Path) -> None:
    data = write_records(tmp_path / "data", 6, even=True)
    write_records(data, 2)
    samples = list(build_records("longbench_e", tmp_path, [data]).samples())
    assert {str(sample.inputs["dataset"]) for sample in samples} == set(EVEN)
    assert all(sample.item.rsplit("/", 1)[1].startswith("e") for sample in samples)
    by_row = {row_in(sample): sample.facets["bucket"] for sample in samples}
    assert by_row == {0: "0-4k", 1: "0-4k", 2: "4-8k", 3: "4-8k", 4: "4-8k", 5: "8k+"}
    exact = [{**make_record("trec", n), "length": words} for n, words in enumerate((3999, 4000, 7999, 8000))]
    (data / "edges").mkdir()
    write_rows(data / "edges/trec_e.jsonl", exact)
    edges = build_records("longbench_e", tmp_path, [data / "edges"]).samples()
    assert [sample.facets["bucket"] for sample in edges] == ["0-4k", "4-8k", "4-8k", "8k+"]


def test_longbench_e_tells_how_many_of_its_records_are_there(tmp_path: Path) -> None:
    data = write_records(tmp_path / "data", 3, ["qasper", "multi_news"], even=True)
    text = "\n".join(build_records("longbench_e", tmp_path, [data]).manifest["notes"])
    assert "the data lack some published records: longbench_qasper 3 of 224, longbench_multi_news 3 of 294" in text
    assert "records without a number are assumed to be the first rows of the original file" in text
    # The totals of the published table: ten data sets of 300, and three that are smaller.
    assert sum(EVEN.values()) == 10 * 300 + 224 + 150 + 294


def test_longbench_e_at_its_published_size_has_no_notes_on_missing_records(tmp_path: Path) -> None:
    data = write_records(tmp_path / "data", EVEN["multifieldqa_en"], ["multifieldqa_en"], even=True)
    notes = build_records("longbench_e", tmp_path, [data]).manifest["notes"]
    assert not [note for note in notes if "lack" in note or "without a number" in note]


def mini_rows(dataset: str, count: int) -> list[dict[str, Any]]:
    """Samples as MiniLongBench has them: finished prompts."""
    return [
        {
            "id": f"{dataset}:{row}",
            "dataset": dataset,
            "dataset_index": row,
            "language": LANGUAGES[dataset],
            "prompt": f"Read: {make_record(dataset, row)['context']}{row}\nAnswer:",
            "answers": make_record(dataset, row)["answers"],
            "all_classes": make_record(dataset, row)["all_classes"],
        }
        for row in ANCHORS[dataset][:count]
    ]


def test_mini_takes_its_items_alone_from_records_or_from_its_own_samples(tmp_path: Path) -> None:
    full, own = tmp_path / "full", tmp_path / "MiniLongBench"
    write_records(full, 200, ["trec"], sentences=3)
    own.mkdir()
    rows = [*mini_rows("trec", 2), *mini_rows("lsht", 3)]
    write_rows(own / "samples.jsonl", rows)
    (own / "models.json").write_text('{\n "models": []\n}', encoding="utf-8")
    from_records = build_records("mini", tmp_path, [full])
    assert {row_in(sample) for sample in from_records.samples()} == set(ANCHORS["trec"])
    assert {sample.facets["prompt"] for sample in from_records.samples()} == {"own"}
    samples = prompts_of(build_records("mini", tmp_path, [own]))
    assert sorted(prompt for _, prompt in samples) == sorted(row["prompt"] for row in rows)
    assert {sample.facets["prompt"] for sample, _ in samples} == {"official"}
    both = build_records("mini", tmp_path, [full, own])
    assert [sample.facets["prompt"] for sample in both.samples(tasks=["longbench_trec"])] == ["own"] * len(
        ANCHORS["trec"]
    )
    assert [sample.facets["prompt"] for sample in both.samples(tasks=["longbench_lsht"])] == ["official"] * 3
    assert not both.manifest["left_out"]
    notes = "\n".join(both.manifest["notes"])
    assert f"longbench_lsht 3 of {len(ANCHORS['lsht'])}" in notes
    assert "longbench_trec 8 of" not in notes
    assert "finished prompts by its publishers" in notes


def test_an_order_can_name_items_of_any_task(tmp_path: Path) -> None:
    wanted = configure("passkey,tsort_2", lengths=(512,), items=4, tokenizer="words", corpus=["world"])
    some = replace(wanted, only=("passkey/en/0001", "passkey/en/0003"))
    whole, part = (open_suite(build(one, tmp_path / name).folder) for name, one in (("whole", wanted), ("part", some)))
    samples = {sample.item: sample for sample in whole.samples()}
    assert {sample.item: sample for sample in part.samples()} == {name: samples[name] for name in some.only}
    assert not any("passkey" in note for note in part.manifest["notes"])
    assert whole.manifest["fingerprint"] != part.manifest["fingerprint"]


# ---------------------------------------------------------------------------------------------- official prompts


def test_official_templates_are_filled_word_for_word(tmp_path: Path) -> None:
    data = write_templates(write_records(tmp_path / "data", 3))
    suite = build_records("longbench", tmp_path, [data], prompts="official")
    found = prompts_of(suite)
    assert len(found) == 21 * 3
    for sample, prompt in found:
        dataset = str(sample.inputs["dataset"])
        record = make_record(dataset, row_in(sample))
        first, rest = make_template(dataset).split("{context}")
        before, after = rest.split("{input}")
        assert prompt == first + record["context"] + before + record["input"] + after
        assert sample.facets["prompt"] == "official"
    notes = "\n".join(suite.manifest["notes"])
    assert "longbench_triviaqa" in notes
    assert "replies may have 32 tokens; dataset2maxlen.json says 64" in notes
    assert "longbench_trec: replies" not in notes
    assert suite.manifest["prompts"] == "official"


def test_other_templates_make_another_suite(tmp_path: Path) -> None:
    data = write_templates(write_records(tmp_path / "data", 1, ["trec"]))
    first = build_records("longbench_trec", tmp_path, [data], prompts="official").manifest["fingerprint"]
    (data / "config/dataset2prompt.json").write_text('{"trec": "Other: {context}{input}"}', encoding="utf-8")
    second = build_records("longbench_trec", tmp_path, [data], prompts="official")
    assert second.manifest["fingerprint"] != first
    assert prompts_of(second)[0][1].startswith("Other: ")


def test_official_prompts_without_templates_say_where_to_get_them(tmp_path: Path) -> None:
    data = write_records(tmp_path / "data", 1, ["trec"])
    with pytest.raises(
        FathomError, match=r"no template of trec: no dataset2prompt\.json .*github\.com/THUDM/LongBench"
    ):
        build_records("longbench", tmp_path, [data], prompts="official")
    with pytest.raises(FathomError, match="`prompts` official: passkey has no official prompts"):
        configure("passkey", prompts="official")
    with pytest.raises(FathomError, match="prompts='theirs': expected own, official"):
        configure("longbench", data=[str(data)], prompts="theirs")


def test_equal_orders_give_equal_bytes(tmp_path: Path) -> None:
    data = write_records(tmp_path / "data", 3)
    files = []
    for name in ("one", "two"):
        wanted = configure("longbench", data=[str(data)], lengths=(300, 600), tokenizer="words")
        folder = build(wanted, tmp_path / name).folder
        files.append([(folder / file).read_bytes() for file in ("samples.parquet", "documents.parquet")])
    assert files[0] == files[1]


# -------------------------------------------------------------------------------------------------------- scores


def test_both_rules_give_the_gold_reply_one(tmp_path: Path) -> None:
    suite = build_records("longbench", tmp_path, [write_records(tmp_path / "data", 3)])
    for sample in suite.samples():
        task = get_task(sample.task)
        for target in sample.targets:
            assert task.score(target, sample).value == pytest.approx(1)  # ROUGE never quite gives 1
            assert get_scorer(task.official, "official")(row_of(target, sample)).value == pytest.approx(1), sample.id
        for empty in ("", " \n"):
            assert (task.score(empty, sample).value, task.score(empty, sample).valid) == (0, False)


def test_rules_that_depend_on_the_data_set_are_told_its_own_name(tmp_path: Path) -> None:
    suite = build_records("longbench", tmp_path, [write_records(tmp_path / "data", 1)])
    for sample in suite.samples():
        task = get_task(sample.task)
        running_on = f"\n{sample.targets[0]}\nSomething else: Date 教育 99 Paragraph 99 段落99"
        value = get_scorer(task.official, "official")(row_of(running_on, sample)).value
        first_line_alone = sample.inputs["dataset"] in ("trec", "triviaqa", "samsum", "lsht", "lcc", "repobench-p")
        assert (value == pytest.approx(1)) == first_line_alone, sample.task
