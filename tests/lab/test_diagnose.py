"""``fathom lab diagnose`` with baselines whose faults are known, and the controls that it asks."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from fathom import api
from fathom.report.sections.recovery import RECOVERY
from fathom.suites.suitefile import open_suite
from fathom.tokens.length import render
from fathom.types import FathomError, Sample

pytestmark = pytest.mark.slow

TASKS = "passkey,single_doc_qa"
SHORT_SIGHTED = "fathom/lexical?window=2k&truncate=middle"


@pytest.fixture(scope="module")
def suites(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The same suite with controls and without."""
    folder = tmp_path_factory.mktemp("suites")
    options: dict[str, Any] = {"lengths": "1k,4k", "items": 8, "languages": "en,zh"}
    api.build(TASKS, folder / "controls", closed_book=True, alone=True, padded=0.5, **options)
    api.build(TASKS, folder / "plain", **options)
    return folder / "controls", folder / "plain"


def of(folder: Path, context: str | None) -> list[Sample]:
    return [sample for sample in open_suite(folder).samples() if sample.facets.get("context") == context]


def test_controls_leave_the_samples_of_a_suite_as_they_are(suites: tuple[Path, Path]) -> None:
    assert of(suites[0], None) == of(suites[1], None)


def test_padded_prompts_hold_their_evidence_and_fill_their_budget(suites: tuple[Path, Path]) -> None:
    padded, texts = of(suites[0], "padded"), open_suite(suites[0]).texts()
    assert {(sample.task, sample.length, sample.language) for sample in padded} == {
        (task, length, language) for task in TASKS.split(",") for length in (1024, 4096) for language in ("en", "zh")
    }
    whole = {sample.id: sample for sample in of(suites[0], None)}
    for sample in padded:
        assert 0.99 * sample.length <= sample.tokens <= sample.length
        same = whole[sample.id.removesuffix("/padded")]
        assert (sample.targets, sample.asked) == (same.targets, same.asked)
        if sample.task == "passkey":
            assert sample.targets[0] in render(sample, texts)


def test_half_of_the_items_are_padded_the_same_at_all_lengths(suites: tuple[Path, Path]) -> None:
    items = {length: {s.item for s in of(suites[0], "padded") if s.length == length} for length in (1024, 4096)}
    assert items[1024] == items[4096]
    assert len(items[1024]) == len({sample.item for sample in of(suites[0], None)}) / 2


def test_a_window_is_named_as_a_loss_to_length(suites: tuple[Path, Path], tmp_path: Path) -> None:
    made = api.lab_diagnose(SHORT_SIGHTED, suites[0], out=tmp_path)
    assert made is not None
    found = {(one.task, one.length): one for one in made.results[RECOVERY]}
    short, long = found["passkey", 1024], found["passkey", 4096]
    assert short.recovery is not None
    assert long.recovery is not None
    assert short.recovery.value == 1
    assert long.recovery.value < 0.9
    assert long.by_length is not None
    assert long.by_length.value > 0.2 > abs(long.finding.value)
    page = (tmp_path / "report.html").read_text()
    assert "Reading, reasoning, knowing" in page


def test_the_same_command_resumes_and_asks_nothing_again(suites: tuple[Path, Path], tmp_path: Path) -> None:
    first = api.lab_diagnose("fathom/guess", suites[0], out=tmp_path)
    requests = (tmp_path / "run" / "run.json").read_bytes()
    again = api.lab_diagnose("fathom/guess", suites[0], out=tmp_path)
    assert first is not None
    assert again is not None
    assert first.results[RECOVERY] == again.results[RECOVERY]
    assert (tmp_path / "run" / "run.json").read_bytes() == requests


def test_a_suite_without_controls_is_refused_with_the_options_that_it_needs(
    suites: tuple[Path, Path], tmp_path: Path
) -> None:
    with pytest.raises(FathomError, match="--closed-book --alone --padded"):
        api.lab_diagnose("fathom/guess", suites[1], out=tmp_path)


def test_the_name_of_a_task_is_built_with_controls(tmp_path: Path) -> None:
    made = api.lab_diagnose("fathom/lexical", "passkey", out=tmp_path, lengths="1k", items=4)
    assert made is not None
    (found,) = made.results[RECOVERY]
    assert (found.questions, found.padded is not None) == (4, True)
    manifest = json.loads((tmp_path / "suite" / "manifest.json").read_text())
    assert manifest["closed_book"]


def test_checkpoints_keep_their_step_and_are_drawn_against_it(suites: tuple[Path, Path], tmp_path: Path) -> None:
    for step, window in ((100, "1k"), (200, "2k"), (300, "5k")):
        model = f"fathom/lexical?window={window}&truncate=middle"
        api.lab_diagnose(model, suites[0], out=tmp_path / str(step), step=step)
    runs = [tmp_path / str(step) / "run" for step in (100, 200, 300)]
    results = api.analyze_recovery(runs)
    steps = {result.step: result.recovery for result in results if (result.task, result.length) == ("all", 4096)}
    values = [estimate.value for estimate in steps.values() if estimate]
    assert list(steps) == [100, 200, 300]
    assert values == sorted(values)
    assert json.loads((runs[0] / "run.json").read_text())["step"] == 100
    api.plot(runs, "recovery-steps", out=tmp_path / "steps.svg")
    assert api.report(runs, tmp_path / "report.html") is not None
    assert "Recovered, in percent, against the step of the training." in (tmp_path / "report.html").read_text()
    with pytest.raises(FathomError, match="step"):
        api.run(suites[0], model, runs[-1], step=400)


def test_a_bundle_of_a_run_with_a_step_is_scored_again(suites: tuple[Path, Path], tmp_path: Path) -> None:
    api.run(suites[0], "fathom/lexical", tmp_path / "run", step=7)
    api.board_bundle([tmp_path / "run"], tmp_path / "bundle.zip")
    checked = api.board_check(tmp_path / "bundle.zip", suites=[suites[0]])
    assert not checked.of("refused")


def test_neutral_text_fills_long_contexts_of_passages(tmp_path: Path) -> None:
    api.build("single_doc_qa", tmp_path / "suite", lengths="2k,8k", items=1, padded=1)
    padded = [sample for sample in of(tmp_path / "suite", "padded") if sample.length == 8192]
    assert padded
    assert all(0.99 * sample.length <= sample.tokens <= sample.length for sample in padded)


def test_one_question_comes_before_the_first_request_and_no_stops_everything(
    suites: tuple[Path, Path], tmp_path: Path
) -> None:
    plans: list[Any] = []

    def no(plan: Any) -> bool:
        plans.append(plan)
        return False

    made = api.lab_diagnose(SHORT_SIGHTED, suites[0], out=tmp_path / "d", limit=2, confirm=no)
    assert made is None
    (plan,) = plans
    assert plan.requests > 0
    assert str(plan).startswith(f"{SHORT_SIGHTED}: ")
    assert not (tmp_path / "d" / "run").exists()
