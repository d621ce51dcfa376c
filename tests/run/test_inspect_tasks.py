"""The tasks inside Inspect: found by name, built as ours, scored as ours, and their logs read back as rows."""

from __future__ import annotations

import asyncio
import json
import subprocess
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from inspect_script import answer

from engine_calls import configure
from fathom.rows import rows_from_inspect
from fathom.suites.build import build
from fathom.suites.registry import get_task, tasks
from fathom.suites.suitefile import open_suite
from fathom.tokens.counts import cache_folder
from fathom.tokens.length import render
from made_books import write_books
from made_frontier import write_frontier
from made_helmet import write_helmet
from made_infinitebench import write_infinite
from made_records import write_records
from made_records_pro import write_pro
from made_records_v2 import write_v2
from made_shots import write_shots
from made_threads import write_cases, write_threads
from processes import start_program

SCRIPT = Path(__file__).with_name("inspect_script.py")


def create(name: str, **task_args: Any) -> Any:
    from inspect_ai.util import registry_create

    return registry_create("task", f"fathom/{name}", **task_args)


@pytest.mark.slow
def test_evaluations_read_back_as_rows(tmp_path: Path) -> None:
    names = ["kv_retrieval", "single_doc_qa"]
    wanted = [f"fathom/{name}" for name in names]
    done = start_program(SCRIPT.read_text("utf-8"), tmp_path / "logs", *wanted, stdout=subprocess.PIPE, cwd=tmp_path)
    printed, said = done.communicate()
    assert done.returncode == 0, said
    for name, line in zip(names, printed.splitlines(), strict=True):
        task, log, metrics = json.loads(line)
        assert task == f"fathom/{name}"
        check_log(name, rows_from_inspect(Path(log)), metrics, tmp_path)


def check_log(name: str, frame: pl.DataFrame, metrics: dict[str, float], folder: Path) -> None:
    wanted = configure(name, lengths=(512, 1024), items=4, tokenizer="words", seed=5)
    suite = open_suite(build(wanted, folder / name).folder)
    texts, task = suite.texts(), get_task(name)
    found = {row["sample"]: row for row in frame.iter_rows(named=True)}
    samples = list(suite.samples())
    assert len(samples) == len(found) >= 8
    for sample in samples:
        row, scored = found[sample.id], task.score(answer(render(sample, texts), task.answer), sample)
        assert (row["value"], row["valid"], row["answer"]) == (scored.value, scored.valid, scored.answer)
        assert json.loads(row["facets"]) == dict(sample.facets)  # and none of the inputs
        assert [row[key] for key in ("suite", "task", "item", "length", "tokens", "language", "chance")] == [
            name, name, sample.item, sample.length, sample.tokens, "en", sample.chance
        ]  # fmt: skip
        assert (row["target"], row["tokenizer"]) == (sample.targets[0], "words")
        assert (row["metric"], row["grader"], row["rule"]) == (task.metric, scored.grader, "strict")
        assert row["tokens_out"] == task.max_output_tokens
    values, valid = frame["value"].to_list(), frame["valid"].to_list()
    assert 0 < sum(values) < len(samples)
    assert metrics["mean"] == pytest.approx(sum(values) / len(samples))
    assert metrics["invalid"] == pytest.approx(1 - sum(valid) / len(samples))
    assert "stderr" in metrics


@pytest.mark.slow
def test_every_task_is_found_by_its_full_name(tmp_path: Path) -> None:
    from inspect_ai.util import registry_info

    records = [write_records(tmp_path / "v1", 1), write_v2(tmp_path / "v2", 1)]
    records += [write_infinite(tmp_path / "infinite", 1), write_shots(tmp_path / "shots")]
    records += [write_frontier(tmp_path / "frontier")]
    given: dict[str, dict[str, Any]] = {
        "book": {"books": str(write_books(tmp_path, languages=("en",)))},
        "thread": {"threads": str(write_threads(tmp_path, 60))},
        "case": {"cases": str(write_cases(tmp_path, 1))},
        "record": {"data": [str(folder) for folder in records]},
    }
    helmet = {"data": [str(write_helmet(tmp_path / "HELMET", 1))]}
    pro = {"data": [str(write_pro(tmp_path / "pro", 25))], "length": 8192}
    for name, task in tasks().items():
        if name.startswith("studio_"):  # they are exported, not built
            continue
        own = given[task.gold[0]] if len(task.gold) == 1 and task.gold[0] in given else {}
        longer = name.startswith(
            (
                "world_",
                "memory_",
                "graphwalks_",
                "mrcr_",
                "ruler_",
                "ruler2_",
                "nolima_",
                "babilong_",
                "longproc_",
                "oolong_",
                "loft_retrieval",
                "loft_rag",
                "loft_sql",
                "loft_icl",
                "aa_lcr",
                "helmet_",
            )
        )
        # These know how many tokens their pieces take at least in tokenizers of models.
        own = {
            "length": 8192 if longer else 2048,
            "tokenizer": "tekken" if longer else "words",
            **(pro if name.startswith("pro_") else helmet if name.startswith("helmet_") else own),
        }
        made = create(name, items=1, language=task.languages[0], **own)
        assert registry_info(made).name.endswith(f"fathom/{name}")
        assert made.config.max_tokens == task.max_output_tokens
        assert made.config.stop_seqs == (list(task.stop) or None)
        assert len({sample.metadata["item"] for sample in made.dataset}) == 1


@pytest.mark.slow
def test_a_second_prompt_is_a_conversation_of_its_own(tmp_path: Path) -> None:
    from inspect_ai.model import ModelName, ModelOutput
    from inspect_ai.scorer import Target
    from inspect_ai.solver import TaskState

    from fathom.run.inspect_tasks import asked_again

    name = "longbench_v2_cot"
    made = create(name, length=2048, items=1, tokenizer="words", data=str(write_v2(tmp_path, 1)))
    (sample,) = made.dataset
    state = TaskState(
        model=ModelName("mockllm/model"),
        sample_id=sample.id,
        epoch=1,
        input=sample.input,
        messages=[],
        target=Target(sample.target),
        output=ModelOutput.from_content("mockllm/model", "It may be A."),
        metadata=sample.metadata,
    )

    async def generate(asked: TaskState, **options: Any) -> TaskState:
        assert options == {"max_tokens": 128}
        asked.output = ModelOutput.from_content("mockllm/model", "The correct answer is (A)")
        return asked

    solved = asyncio.run(asked_again(name)(state, generate))  # type: ignore[arg-type]  # stands for Inspect's own
    assert solved.output.completion == "The correct answer is (A)"
    (message,) = solved.messages
    assert "It may be A." in message.text
    assert sample.metadata["asked"] in message.text
    assert "The end." not in message.text


@pytest.mark.slow
def test_logs_say_what_scorers_need_and_those_of_earlier_versions_among_the_facets() -> None:
    from inspect_ai.model import ModelName
    from inspect_ai.scorer import Target
    from inspect_ai.solver import TaskState

    from fathom.run.inspect_tasks import _sample

    (sample, *_) = create("passkey", length="512", items=1, tokenizer="words", language="en").dataset
    earlier = {name: value for name, value in sample.metadata.items() if name != "inputs"}
    earlier["facets"] = {**sample.metadata["facets"], **sample.metadata["inputs"]}
    target = Target(sample.target)
    new, old = (
        _sample(TaskState(ModelName("mockllm/model"), sample.id, 1, sample.input, [], metadata=about), target)
        for about in (sample.metadata, earlier)
    )
    assert (new.inputs, "digits" in new.facets) == ({"digits": 5}, False)
    assert old.inputs == old.facets == earlier["facets"]
    for made in (new, old):
        assert get_task("passkey").score(f"Of 5 digits: {sample.target[0]}", made).value == 1


def test_arguments_say_what_is_built() -> None:
    made = create("passkey", length=["512", "1k"], items=2, tokenizer="words", depth="0,1", language="en,zh", seed=1)
    facts = [sample.metadata for sample in made.dataset]
    assert {(fact["length"], fact["language"], fact["facets"]["depth"]) for fact in facts} == {
        (length, language, depth) for length in (512, 1024) for language in ("en", "zh") for depth in (0.0, 1.0)
    }
    assert len(facts) == 16
    assert len({sample.id for sample in made.dataset}) == 16


def test_the_build_is_kept() -> None:
    arguments = {"length": 512, "items": 1, "tokenizer": "words", "seed": 11}
    before = set((cache_folder() / "inspect").glob("*"))
    first = create("passkey", **arguments)
    (folder,) = set((cache_folder() / "inspect").glob("*")) - before
    written = (folder / "manifest.json").stat().st_mtime_ns
    assert create("passkey", **arguments).dataset[0] == first.dataset[0]
    assert (folder / "manifest.json").stat().st_mtime_ns == written


@pytest.mark.parametrize(
    ("arguments", "message"),
    [({"length": "7"}, "length '7'"), ({"depth": "deep"}, "depth=deep"), ({"corpus": "nowhere.jsonl"}, "nowhere")],
)
def test_bad_arguments_are_named(arguments: dict[str, Any], message: str) -> None:
    from inspect_ai._util.error import PrerequisiteError

    with pytest.raises(PrerequisiteError) as caught:
        create("passkey", **{"length": "512", "items": 1, "tokenizer": "words"} | arguments)
    assert message in str(caught.value)
