"""Guidelines and prompts of the studio's tasks: complete, consistent with LongBench Pro, and editable."""

from dataclasses import replace
from pathlib import Path
from typing import get_args

import pytest

from fathom.benchmarks.pro.scoring import answered
from fathom.benchmarks.pro.secondary_tasks import SECONDARY, Metric
from fathom.benchmarks.pro.tasks import chance_of
from fathom.studio.tasks import (
    find_task,
    guideline_of,
    proposed_prompts,
    read_task,
    standard_prompts,
    studio_tasks,
    write_tasks,
)
from fathom.types import FathomError
from made_studio import made_sample, made_text

OWN = """
name = "Clause finder"
metric = "F1_Score"
requirement = "partial"
guideline = "Ask for clauses."
[en]
task = "Find the clauses."
output = "One clause on each line."
example = ["Clause 3"]
"""


def test_all_25_tasks_have_files_that_agree_with_the_paper() -> None:
    found = studio_tasks()
    assert list(found) == [one.name for one in SECONDARY]
    for one in SECONDARY:
        task = found[one.name]
        assert (task.metric, task.requirement) == (one.metric, one.requirement.lower())
        assert set(task.wordings) == {"en", "zh"}
        assert task.published is one


@pytest.mark.parametrize("language", ["en", "zh"])
def test_prompts_contain_the_question_and_an_example_that_the_scorer_reads(language: str) -> None:
    for task in studio_tasks().values():
        thinking, answering = standard_prompts(task, language, "What is {x} in \\n?")
        assert thinking != answering
        for prompt in (thinking, answering):
            assert "What is {x} in \\n?" in prompt
            example = answered(prompt)
            assert example.valid
            assert example.areas[0].strip().splitlines() == list(task.wordings[language].example)


def test_chance_of_a_choice_is_known_from_the_standard_prompt() -> None:
    question = "Who was it?\nA. one\nB. two\nC. three\nD. four"
    for code in ("T3.1", "T3.2", "T11.1", "T11.2"):
        for prompt in standard_prompts(find_task(studio_tasks(), code), "en", question):
            assert chance_of(prompt, ["B"]) == 0.25


def test_own_tasks_are_added_and_those_of_the_paper_edited(tmp_path: Path) -> None:
    (tmp_path / "clauses.toml").write_text(OWN, encoding="utf-8")
    edited = OWN.replace("Clause finder", "T3.2 Single-Hop Fact QA").replace("F1_Score", "Accuracy")
    (tmp_path / "t3_2.toml").write_text(edited, encoding="utf-8")
    found = studio_tasks(tmp_path)
    assert len(found) == 26
    assert find_task(found, "t3.2").guideline == "Ask for clauses."
    assert find_task(found, "Clause finder").published is None
    assert list(found)[-1] == "Clause finder"
    with pytest.raises(FathomError, match=r"no prompts in language 'zh'; add a table \[zh\]"):
        standard_prompts(found["Clause finder"], "zh", "?")
    assert list(studio_tasks(tmp_path / "nowhere")) == [one.name for one in SECONDARY]


def test_an_unknown_task_names_similar_ones() -> None:
    with pytest.raises(FathomError, match="Single-Hop Fact QA"):
        find_task(studio_tasks(), "Single-Hop QA")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("name = ", "not valid TOML"),
        ("", "name is missing"),
        (OWN.partition("[en]")[0], "no prompts"),
        (OWN.replace("F1_Score", "F2"), f"metric: expected {', '.join(get_args(Metric))}"),
        (OWN.replace('"partial"', '"half"'), "requirement: expected full, partial"),
        (OWN.replace('guideline = "Ask for clauses."', ""), "guideline is missing"),
        (OWN.replace('["Clause 3"]', "[]"), "en.example: it is empty"),
        (OWN.replace('["Clause 3"]', "3"), "en.example: expected a list"),
        (OWN + "\nfoo = 1", "unknown field 'foo'"),
        (OWN + "\n[fr]\ntask = 1", "unknown field 'fr'"),
        (OWN.replace("Clause finder", "T3.2 Single-Hop Fact QA"), "has Accuracy"),
        (OWN.replace("Ask for clauses.", "x" * 30_000), "at most 20,000"),
        ("# " + "x" * 200_000, "at most 100,000"),
    ],
)
def test_a_file_with_a_fault_is_refused_with_its_name(content: str, message: str) -> None:
    with pytest.raises(FathomError, match=r"own\.toml") as caught:
        read_task(content.encode(), "own.toml")
    assert message in str(caught.value)


def test_two_files_of_one_task_are_refused(tmp_path: Path) -> None:
    for name in ("a.toml", "b.toml"):
        (tmp_path / name).write_text(OWN, encoding="utf-8")
    with pytest.raises(FathomError, match="rename one of them"):
        studio_tasks(tmp_path)


def test_a_file_replaces_the_task_that_it_names_whatever_it_is_called(tmp_path: Path) -> None:
    edited = OWN.replace("Clause finder", "T3.2 Single-Hop Fact QA").replace("F1_Score", "Accuracy")
    (tmp_path / "mine.toml").write_text(edited, encoding="utf-8")
    (tmp_path / "t4_1.toml").write_text(OWN, encoding="utf-8")
    found = studio_tasks(tmp_path)
    assert len(found) == 26
    assert [name for name, one in found.items() if one.changed] == ["T3.2 Single-Hop Fact QA", "Clause finder"]
    assert found["T3.2 Single-Hop Fact QA"].source == str(tmp_path / "mine.toml")


def test_files_are_written_to_be_edited_and_never_replaced(tmp_path: Path) -> None:
    folder = tmp_path / "tasks"
    assert [one.name for one in write_tasks(folder, ["T3.2", "T1.1 Global Cohesive Retrieval", "t3.2"])] == [
        "t3_2.toml",
        "t1_1.toml",
    ]
    (folder / "t3_2.toml").write_text((folder / "t3_2.toml").read_text("utf-8").replace("one fact", "a fact"))
    assert len(write_tasks(folder)) == 23
    assert write_tasks(folder) == ()
    found = studio_tasks(folder)
    assert all(one.changed for one in found.values())
    assert "a fact" in found["T3.2 Single-Hop Fact QA"].guideline
    packaged = studio_tasks()
    assert [name for name in found if replace(found[name], source="", changed=False)
            != replace(packaged[name], source="", changed=False)] == ["T3.2 Single-Hop Fact QA"]  # fmt: skip
    with pytest.raises(FathomError, match=r"unknown task.*fathom studio tasks"):
        write_tasks(folder, ["T9.9"])
    (tmp_path / "file").write_text("")
    with pytest.raises(FathomError, match="give another `tasks`"):
        write_tasks(tmp_path / "file")


def test_pages_get_prompts_and_guidelines_of_known_tasks_only() -> None:
    tasks = studio_tasks()
    sample = made_sample("a", (made_text(1),))
    thinking, answering = proposed_prompts(tasks, sample)
    assert (thinking, answering) == standard_prompts(find_task(tasks, "T3.2"), "en", sample.content.question)
    assert proposed_prompts(tasks, replace(sample, language="de")) == ("", "")
    assert proposed_prompts(tasks, replace(sample, task="unknown")) == ("", "")
    assert "one fact" in guideline_of(tasks, sample.task)
    assert guideline_of(tasks, "unknown") == ""
