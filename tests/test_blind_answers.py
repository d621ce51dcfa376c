"""``performance/blind_answers.py``: prompts without gold answers, and what the answers to them say of these."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from engine_calls import configure
from fathom.suites.build import build
from fathom.suites.suitefile import BuiltSuite, open_suite
from fathom.types import FathomError
from made_records import build_records, write_records

sys.path.insert(0, str(Path(__file__).parents[1] / "performance"))

from blind_answers import GOLD, PROMPTS, chosen, main, printed, read, score, write


@pytest.fixture(scope="module")
def suite(tmp_path_factory: pytest.TempPathFactory) -> BuiltSuite:
    """Five records of two of LongBench's data sets each."""
    folder = tmp_path_factory.mktemp("blind")
    return build_records("longbench", folder, [write_records(folder / "data", 5, ["qasper", "passage_count"])])


def answer(path: Path, answers: dict[str, str]) -> Path:
    path.write_text("".join(json.dumps({"id": id, "answer": text}) + "\n" for id, text in answers.items()), "utf-8")
    return path


def test_prompts_have_no_gold_answers_and_the_gold_answers_no_prompts(suite: BuiltSuite, tmp_path: Path) -> None:
    write(suite, tmp_path, 3)
    prompts = [json.loads(line) for line in (tmp_path / PROMPTS).read_text("utf-8").splitlines()]
    gold = [json.loads(line) for line in (tmp_path / GOLD).read_text("utf-8").splitlines()]
    assert [set(record) for record in prompts] == [{"id", "prompt"}] * 6
    assert [set(record) for record in gold] == [{"id", "task", "length", "gold"}] * 6
    assert [record["id"] for record in prompts] == [record["id"] for record in gold]
    assert prompts[0]["prompt"].startswith("Below is a scientific paper.")
    assert prompts[0]["prompt"].endswith("Answer:")
    assert {record["task"]: record["gold"] for record in gold}["longbench_passage_count"] == ["7"]


def test_each_item_is_asked_once_at_its_shortest_length(tmp_path: Path) -> None:
    wanted = configure("passkey", lengths=[2048, 1024], items=4, tokenizer="words")
    built = open_suite(build(wanted, tmp_path / "suite").folder)
    samples = chosen(built, 30)
    assert {sample.length for sample in built.samples()} == {1024, 2048}
    assert {sample.length for sample in samples} == {1024}
    assert len({sample.item for sample in samples}) == len(samples) == 4
    assert chosen(built, 3) == samples[:3]


def test_agreement_is_by_the_metric_of_the_task_and_missing_answers_are_not_wrong(
    suite: BuiltSuite, tmp_path: Path
) -> None:
    samples = write(suite, tmp_path, 3)
    first, second, third = (sample for sample in samples if sample.task == "longbench_qasper")
    one, two, _ = (sample for sample in samples if sample.task == "longbench_passage_count")
    given = {first.id: f"the {first.targets[0]}.", second.id: "nobody", one.id: "7", two.id: "8"}
    found = score(suite, tmp_path, answer(tmp_path / "answers.jsonl", given))
    values = {one.sample.id: one.score.value if one.score else None for one in found}
    # Articles and punctuation do not count in word F1; a count is right or wrong.
    assert values[first.id] == 1.0
    assert values[second.id] == values[two.id] == 0.0
    assert values[one.id] == 1.0
    assert values[third.id] is None
    text = printed(found, 0.5)
    table, _, listed = text.partition("\n\n")
    assert [line.split()[2:] for line in table.splitlines()[1:]] == [["3", "2", "2", "1", "0.500"]] * 2
    assert listed.startswith("2 answers with a score of at most 0.5")
    assert [id for id in values if f"\n{id}  score" in listed] == [second.id, two.id]
    assert f'gold    ["{second.targets[0]}"]' in listed
    assert 'answer  "nobody"' in listed


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('{"id": "a", "answer": "x"}\n{"id": "a", "answer": "y"}\n', "line 2: the id 'a' stands twice"),
        ('\n{"id": "a", "answer": 7}\n', 'line 2: expected {"id": ..., "answer": ...} with texts'),
        ("[1]\n", "line 1: expected"),
        ("{\n", "line 1: not JSON"),
    ],
)
def test_answers_that_cannot_be_read_name_their_line(tmp_path: Path, content: str, message: str) -> None:
    path = tmp_path / "answers.jsonl"
    path.write_text(content, "utf-8")
    with pytest.raises(FathomError) as failure:
        read(path, "answer")
    assert f"{path}: {message}" in str(failure.value)


def test_answers_to_something_else_and_another_suite_are_refused(suite: BuiltSuite, tmp_path: Path) -> None:
    samples = write(suite, tmp_path, 1)
    with pytest.raises(FathomError, match="has no id 'other'; copy ids from there"):
        score(suite, tmp_path, answer(tmp_path / "strange.jsonl", {"other": "x"}))
    with pytest.raises(FathomError, match="is there already; choose a new folder"):
        write(suite, tmp_path, 1)
    gold = tmp_path / GOLD
    gold.write_text(gold.read_text("utf-8").replace(json.dumps(list(samples[0].targets)), '["other"]'), "utf-8")
    with pytest.raises(FathomError, match="is missing or has another gold answer"):
        score(suite, tmp_path, answer(tmp_path / "none.jsonl", {}))


def test_both_steps_as_commands(
    suite: BuiltSuite, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = str(tmp_path / "blind")
    monkeypatch.setattr(
        sys, "argv", ["x", "write", str(suite.folder), folder, "--samples", "2", "--tasks", "longbench_qasper"]
    )
    main()
    assert capsys.readouterr().out.split() == ["longbench_qasper", "2", "prompts", "at", "2k"]
    gold = [json.loads(line) for line in (tmp_path / "blind" / GOLD).read_text("utf-8").splitlines()]
    answers = answer(tmp_path / "answers.jsonl", {record["id"]: record["gold"][0] for record in gold})
    monkeypatch.setattr(sys, "argv", ["x", "score", str(suite.folder), folder, str(answers)])
    main()
    assert "0 answers with a score of at most 0.5" in capsys.readouterr().out
    monkeypatch.setattr(sys, "argv", ["x", "score", str(tmp_path), folder, str(answers)])
    with pytest.raises(SystemExit) as end:
        main()
    assert end.value.code == 2
    assert "is not a built suite" in capsys.readouterr().err
