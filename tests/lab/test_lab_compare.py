"""``fathom lab compare`` with baselines: values are chosen, setups asked and compared, and no stop loses anything."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from fathom import api
from fathom.lab import Comparison
from fathom.lab.page import numbers_of
from fathom.lab.times import Times, times_of
from fathom.report.sections.setups import main_table
from fathom.report.setups import ComparedSetups
from fathom.run import read_manifest, run
from fathom.types import FathomError

pytestmark = pytest.mark.slow

MODEL = "fathom/lexical?window=2k&truncate=middle"


@pytest.fixture(scope="module")
def suites(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("suites")
    for name, seed in (("suite", 1), ("tuning", 2)):
        api.build("passkey,kv_retrieval", folder / name, lengths="1k,4k,8k", items=6, seed=seed)
    return folder / "suite", folder / "tuning"


@pytest.fixture(scope="module")
def compared(suites: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Comparison]:
    out = tmp_path_factory.mktemp("lab")
    (found,) = api.lab_compare(
        suites[0], MODEL, ["retrieval?top=1", "retrieval?top=2|6&passage=64|128"], out=out, tuning=suites[1]
    )
    return out, found


@pytest.fixture
def no_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    """The report, which takes longer than all requests, is not what these tests are about."""
    monkeypatch.setattr("fathom.lab.report_of", lambda *_, **__: None)
    monkeypatch.setattr("fathom.lab.write_page", lambda *_: None)


def test_the_base_fails_beyond_its_window_and_retrieval_does_not(compared: tuple[Path, Comparison]) -> None:
    _, found = compared
    base, few, tuned = found.results
    assert (found.base, found.window) == ("whole", 2048)
    assert [result.setup.name for result in found.results] == ["whole", "retrieval top=1", "retrieval, tuned"]
    beyond = [point.mean for point in base.points if point.length > 2048]
    assert all(mean is not None and mean < 0.8 for mean in beyond)
    assert tuned.gain is not None
    gaps = [point.difference.difference for point in tuned.points if point.length > 2048 and point.difference]
    assert tuned.gain.difference == pytest.approx(sum(gaps) / 2)
    assert tuned.verdict == "better"
    longest = base.at(8192)
    assert longest is not None
    assert longest.tokens_in is not None
    assert longest.tokens_in.mean <= 2048  # what the window left of the prompt
    assert tuned.first_better == 8192  # at 4k too few of the items differ for the sign-flip test
    assert tuned.tokens_ratio is not None
    assert tuned.tokens_ratio < 1
    assert few.setup.kind == "system"


def test_values_are_chosen_on_other_items(compared: tuple[Path, Comparison], suites: tuple[Path, Path]) -> None:
    out, found = compared
    (tuned,) = found.tuned
    assert [trial.value for trial in tuned.trials] == [
        "top=2 passage=64", "top=2 passage=128", "top=6 passage=64", "top=6 passage=128",
    ]  # fmt: skip
    (chosen,) = [trial for trial in tuned.trials if trial.chosen]
    assert chosen.long == max(trial.long or 0 for trial in tuned.trials)
    record = json.loads((out / "lab.json").read_text("utf-8"))
    system = record["setups"][2]["system"]
    assert all(part in system for part in chosen.value.split())
    asked = {read_manifest(folder)["suite"]["path"] for folder in (out / "tuning").iterdir()}
    assert asked == {str(suites[1])}
    assert {read_manifest(folder)["suite"]["path"] for folder in (out / "runs").iterdir()} == {str(suites[0])}
    assert chosen.value in found.results[2].setup.chosen


def test_the_page_shows_the_setups_and_the_papers(compared: tuple[Path, Comparison]) -> None:
    page = (compared[0] / "report.html").read_text("utf-8")
    assert "Setups compared" in page
    assert "Three setups were measured" in page
    assert "retrieval, tuned" in page
    assert "Only at 8k, the longest tested length," in page
    assert "LongLeader" in page
    assert page.count("on passkey by depth and length") == 3  # one map for each setup, side by side
    drawn = {path.name: path.read_text("utf-8") for path in (compared[0] / "figures").iterdir()}
    assert set(drawn) == {"scores.svg", "differences.svg", "tokens.svg"}
    assert all(text.startswith("<svg") and "retrieval, tuned" in text for text in drawn.values())
    assert not re.search(r"<(script|link|img)[^>]+(src|href)=.https?:", page)


@pytest.mark.usefixtures("no_pages")
def test_the_same_call_asks_nothing_again(
    compared: tuple[Path, Comparison], suites: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    def asked(*_: Any) -> Any:
        raise AssertionError("asked again")

    out, found = compared
    monkeypatch.setattr("fathom.models.baselines.BaselineClient.complete", asked)
    (again,) = api.lab_compare(
        suites[0], MODEL, ["retrieval?top=1", "retrieval?top=2|6&passage=64|128"], out=out, tuning=suites[1]
    )
    assert again.results == found.results


@pytest.mark.usefixtures("no_pages")
def test_a_run_that_was_stopped_goes_on(suites: tuple[Path, Path], tmp_path: Path) -> None:
    with pytest.raises(FathomError, match="`max_tokens_total`"):
        api.lab_compare(suites[0], MODEL, ["retrieval?top=1"], out=tmp_path, max_tokens_total=130_000)
    (found,) = api.lab_compare(suites[0], MODEL, ["retrieval?top=1"], out=tmp_path)
    assert [len(result.points) for result in found.results] == [3, 3]


def test_each_of_several_models_is_compared_with_itself(suites: tuple[Path, Path], tmp_path: Path) -> None:
    models = [MODEL, "fathom/lexical?window=1k&truncate=middle"]
    found = api.lab_compare(suites[0], models, ["retrieval?top=1"], out=tmp_path, limit=3)
    assert [one.window for one in found] == [2048, 1024]
    assert all((one.folder / "report.html").exists() for one in found)
    assert found[0].folder != found[1].folder


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"setup": ["retrieval?top=1|2"]}, "`tuning`"),
        ({"setup": ["yarn"]}, "`server` NAME=URL"),
        ({"setup": ["retrival"]}, "did you mean retrieval"),
        ({"setup": [], "model": "fathom/lexical"}, "give it with `window`"),
        ({"setup": [], "model": "fathom/lexcal?window=2k"}, "did you mean"),
        ({"setup": [], "model": "hf/nowhere/at/all"}, "no folder|needs torch"),
        ({"setup": [], "lengths": "2k"}, "`lengths` 2k|no sample"),
        ({"setup": [], "trained": ["fathom/guess"]}, "WHAT IT WAS TRAINED WITH"),
    ],
)
def test_wrong_recipes_end_before_anything_is_asked(
    suites: tuple[Path, Path], tmp_path: Path, changes: dict[str, Any], words: str
) -> None:
    options = {"model": MODEL, "setup": [], "out": tmp_path / "lab", **changes}
    with pytest.raises(FathomError, match=words):
        api.lab_compare(suites[0], **options)
    assert not (tmp_path / "lab").exists()


def test_values_cannot_be_chosen_on_the_items_of_the_report(suites: tuple[Path, Path], tmp_path: Path) -> None:
    with pytest.raises(FathomError, match="values must be chosen on other items"):
        api.lab_compare(suites[0], MODEL, ["retrieval?top=1|2"], out=tmp_path / "lab", tuning=suites[0])


@pytest.mark.parametrize("lengths", ["1k,4k,8k", "1k,4k"])
def test_values_cannot_be_chosen_on_items_that_were_built_again(
    suites: tuple[Path, Path], tmp_path: Path, lengths: str
) -> None:
    api.build("passkey,kv_retrieval", tmp_path / "again", lengths=lengths, items=3, seed=1)
    with pytest.raises(FathomError, match="has no item that is not in"):
        api.lab_compare(suites[0], MODEL, ["retrieval?top=1|2"], out=tmp_path / "lab", tuning=tmp_path / "again")
    assert not (tmp_path / "lab").exists()


def test_values_are_chosen_beyond_the_window(suites: tuple[Path, Path], tmp_path: Path) -> None:
    with pytest.raises(FathomError, match="no sample is beyond the window of 2,048 tokens"):
        api.lab_compare(suites[0], MODEL, ["retrieval?top=1|2"], out=tmp_path / "lab", tuning=suites[1], lengths=[1024])


@pytest.mark.parametrize(
    ("servers", "words"),
    [
        ({"a b": "http://127.0.0.1:1/v1", "a-b": "http://127.0.0.1:2/v1"}, "'a b' and 'a-b' would share a folder"),
        ({"one": "http://127.0.0.1:1/v1", "two": "http://127.0.0.1:1/v1/"}, "two has the address of `server` one"),
        ({"one": "http://127.0.0.1:9/v1"}, "one has the address of `model_base_url`"),
    ],
)
def test_servers_never_share_replies(
    suites: tuple[Path, Path], tmp_path: Path, servers: dict[str, str], words: str
) -> None:
    with pytest.raises(FathomError, match=words):
        api.lab_compare(
            suites[0],
            "openai/x",
            out=tmp_path / "lab",
            window=2048,
            server=servers,
            model_base_url="http://127.0.0.1:9/v1",
        )
    assert not (tmp_path / "lab").exists()


def test_models_never_share_a_folder(suites: tuple[Path, Path], tmp_path: Path) -> None:
    for models, words in (
        ([MODEL, MODEL], "each once"),
        (["openai/a/b", "openai/a-b"], "would share a folder"),
    ):
        with pytest.raises(FathomError, match=words):
            api.lab_compare(suites[0], models, out=tmp_path / "lab", window=2048)
    with pytest.raises(FathomError, match="in this process, and asks no server"):
        api.lab_compare(suites[0], MODEL, out=tmp_path / "lab", server={"yarn": "http://127.0.0.1:1/v1"})


@pytest.mark.parametrize("kept", ["[1, 2]", "5", "{", '{"whole": 3, "none": {"key": 1, "timings": [1]}}'])
def test_damaged_times_are_measured_again(tmp_path: Path, kept: str) -> None:
    (tmp_path / "times.json").write_text(kept, "utf-8")
    assert times_of([], {}, tmp_path, repeats=1, seed=0, tell=lambda name: None) == Times()


@pytest.mark.usefixtures("no_pages")
def test_a_later_call_may_ask_for_fewer_samples(suites: tuple[Path, Path], tmp_path: Path) -> None:
    api.lab_compare(suites[0], MODEL, ["retrieval?top=1"], out=tmp_path)
    (found,) = api.lab_compare(
        suites[0], MODEL, ["retrieval?top=1", "retrieval?top=2"], out=tmp_path, lengths=[1024, 4096]
    )
    assert [[point.length for point in result.points] for result in found.results] == [[1024, 4096]] * 3
    assert all(not point.gap for result in found.results for point in result.points)


@pytest.mark.usefixtures("no_pages")
def test_one_setup_in_two_spellings_is_said_to_be_one(suites: tuple[Path, Path], tmp_path: Path) -> None:
    (found,) = api.lab_compare(
        suites[0], MODEL, ["retrieval?top=%31", "retrieval?top=1&passage=256"], out=tmp_path, limit=1
    )
    said = "retrieval top=1 and retrieval top=1 passage=256 are one setup in several spellings."
    assert said in found.notes


def test_other_weights_have_a_table_of_their_own(suites: tuple[Path, Path], tmp_path: Path) -> None:
    (found,) = api.lab_compare(
        suites[0],
        MODEL,
        ["retrieval?top=1"],
        trained=["fathom/lexical?window=4k&truncate=middle: nothing, but a larger window"],
        out=tmp_path,
        limit=6,
    )
    page = (tmp_path / "report.html").read_text("utf-8")
    assert found.results[-1].setup.trained == "nothing, but a larger window"
    assert "Trained" in page


@pytest.mark.usefixtures("no_pages")
def test_a_setup_that_fails_is_named_and_the_others_are_compared(
    suites: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One cannot be opened, another fails while it is asked; both are asked again by the same call."""
    module = sys.modules["fathom.lab.compare"]  # whose name in the package is its function

    def fails(suite: Path, model: str, settings: Any, **more: Any) -> Any:
        if "top=2" in str(settings.system):
            raise FathomError("the server is gone")
        return run(suite, model, settings, **more)

    monkeypatch.setattr(module, "run", fails)
    setups = ["retrieval?top=1", "retrieval?top=2", "retrieval?top=3"]
    trained = ["hf/nowhere/at/all: nothing"]
    options: dict[str, Any] = {"out": tmp_path, "limit": 2}
    (found,) = api.lab_compare(suites[0], MODEL, setups, trained=trained, **options)
    assert [result.setup.name for result in found.results] == ["whole", "retrieval top=1", "retrieval top=3"]
    assert found.failed["retrieval top=2"] == "the server is gone"
    assert re.search("no folder|needs torch", found.failed["hf/nowhere/at/all"])
    assert json.loads((tmp_path / "lab.json").read_text("utf-8"))["failed"] == found.failed
    assert numbers_of(found)["failed"] == found.failed
    rows = {str(row[0]): [str(cell) for cell in row] for row in main_table_of(found)}
    assert "failed" in rows["retrieval top=2"][3]
    monkeypatch.setattr(module, "run", run)
    (again,) = api.lab_compare(suites[0], MODEL, setups, **options)
    assert [result.setup.name for result in again.results] == ["whole", *(f"retrieval top={n}" for n in (1, 2, 3))]
    assert not again.failed


def main_table_of(comparison: Comparison) -> Any:
    compared = ComparedSetups(comparison.results, comparison.window, comparison.base, failed=comparison.failed)
    ((title, family),) = compared.families
    return main_table(compared, title, family, 1).rows


@pytest.mark.usefixtures("no_pages")
def test_all_setups_are_opened_before_the_question_and_the_question_before_the_first_request(
    suites: tuple[Path, Path], tmp_path: Path
) -> None:
    plans: list[Any] = []

    def no(plan: Any) -> bool:
        plans.append(plan)
        return False

    out = tmp_path / "lab"
    found = api.lab_compare(suites[0], MODEL, ["retrieval?top=1"], out=out, limit=2, confirm=no)
    assert found == []
    assert not out.exists()
    (plan,) = plans
    assert [ahead.name for ahead in plan.setups] == ["whole", "retrieval top=1"]
    assert plan.requests == sum(ahead.plan.requests for ahead in plan.setups) > 0
    assert str(plan).startswith("2 setups: ")
