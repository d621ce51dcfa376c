from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from fathom import api
from fathom.cli import main
from fathom.types import FathomError

Call = Callable[..., tuple[int, str, str]]
SCORES = """model,task,length,score
a,kv,base,80
a,kv,8k,60
a,kv,16k,40
a,qa,base,40
a,qa,8k,40
a,qa,16k,10
b,kv,base,0
b,kv,8k,10
"""


@pytest.fixture
def call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Call:
    monkeypatch.chdir(tmp_path)
    Path("scores.csv").write_text(SCORES, "utf-8")

    def run(*words: str) -> tuple[int, str, str]:
        monkeypatch.setattr("sys.argv", ["fathom", "analyze", *words])
        try:
            main()
            code = 0
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else 1
        said = capsys.readouterr()
        return code, said.out, said.err

    return run


def test_longscore_of_a_table_of_scores(call: Call) -> None:
    code, out, _ = call("longscore", "scores.csv")
    assert code == 0
    assert "−37.5" in out
    assert "undefined" in out
    assert "b, kv: the base of 0.0%" in out
    assert "base as given in the table" in out


def test_studies_as_json(call: Call) -> None:
    for study in ("longscore", "steady", "curve", "length"):
        found = json.loads(call(study, "scores.csv", "--json")[1])
        assert {record["task"] for record in found} == {"kv", "qa", "all"}
        assert call(study, "scores.csv")[0] == 0
    overall = json.loads(call("longscore", "scores.csv", "--json")[1])[2]
    assert overall["average"] == pytest.approx((0.5 + 0.25) / 2 / 0.6 - 1)


def test_steady_measures_and_options(call: Call) -> None:
    code, out, _ = call("steady", "scores.csv", "--where", "model=a", "--where", "task=kv", "--items", "50")
    assert code == 0
    assert "50 right-or-wrong items" in out
    assert "all" not in out.split("intervals")[0]
    corrected = json.loads(call("steady", "scores.csv", "--chance", "kv=0.2", "--json")[1])[0]
    assert corrected["retention"]["value"] == pytest.approx((0.4 + 0.2) / 2 / 0.6)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("longscore", "scores.csv", "--base", "code"), "needs rows"),
        (("longscore", "scores.csv", "--where", "model"), "NAME=VALUE"),
        (("steady", "scores.csv", "--chance", "kv=2"), "level from 0 to 1"),
        (("steady", "scores.csv", "--scale", "per mille"), "percent, fraction"),
        (("position", "scores.csv"), "missing columns"),
        (("steady", "nothing.csv"), "no such"),
    ],
)
def test_mistakes_are_said_without_a_traceback(call: Call, words: tuple[str, ...], message: str) -> None:
    code, _, err = call(*words)
    assert code == 2
    assert message in err
    assert "Traceback" not in err


def test_an_unknown_base(call: Call) -> None:
    assert call("curve", "scores.csv")[0] == 0
    with pytest.raises(FathomError, match="base"):
        api.analyze("longscore", ["scores.csv"], base="natural")


UNEVEN = """model,task,length,score
long,kv,base,80
long,kv,8k,72
long,kv,16k,72
long,kv,32k,0
short,kv,base,80
short,kv,8k,64
short,kv,16k,64
"""


def test_averages_are_over_the_lengths_that_all_models_have(call: Call) -> None:
    Path("uneven.csv").write_text(UNEVEN, "utf-8")
    long = json.loads(call("longscore", "uneven.csv", "--json")[1])[0]
    assert long["average"] == pytest.approx(-0.4)
    assert long["shared_average"] == pytest.approx(-0.1)
    assert long["shared_lengths"] == [8192, 16384]
    said = "not all models have the same lengths (32k only by long)"
    assert said in long["note"]
    out = call("longscore", "uneven.csv")[1]
    assert "−10.0" in out
    assert "−40.0" not in out
    assert out.count(said) == 1
    assert "averaged over 8k, 16k" in out
    assert "--lengths 8k,16k" in call("steady", "uneven.csv")[1]


def test_lengths_are_chosen(call: Call) -> None:
    Path("uneven.csv").write_text(UNEVEN, "utf-8")
    for study in ("longscore", "steady", "curve", "length"):
        code, out, _ = call(study, "uneven.csv", "--lengths", "8k,16k")
        assert code == 0
        assert "not all models" not in out
    chosen = json.loads(call("longscore", "uneven.csv", "--lengths", "8k,16k", "--json")[1])[0]
    assert chosen["average"] == chosen["shared_average"] == pytest.approx(-0.1)
    code, _, err = call("longscore", "uneven.csv", "--lengths", "12k")
    assert code == 2
    assert "no score at 12k; lengths with scores: 8k, 16k, 32k" in err


def test_tables_fit_a_narrow_terminal(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    lengths = ("8k", "16k", "32k", "64k", "128k", "256k")
    lines = [f"llama-3.1-8B,{task},{at},50" for task in ("kv", "passage_retrieval") for at in ("base", *lengths)]
    Path("wide.csv").write_text("model,task,length,score\n" + "\n".join(lines), "utf-8")
    out = call("longscore", "wide.csv")[1]
    (heading,) = [line.split() for line in out.splitlines() if line.startswith("Task")]
    assert heading == ["Task", "Base", "LongScore", *lengths]
    assert max(map(len, out.splitlines()[: out.splitlines().index("base as given in the table") - 1])) <= 80


@pytest.mark.slow
def test_the_published_order_turns_round(call: Call, shared: Path) -> None:
    table = str(shared / "data/100longbench/scores_per_length.csv")
    found = json.loads(call("longscore", table, "--where", "set=open_models", "--json")[1])
    small, large = (
        next(one for one in found if (one["model"], one["task"]) == (model, "all"))
        for model in ("llama-3.1-8B", "llama-3.1-70B")
    )
    assert small["average"] < large["average"] == large["shared_average"] < small["shared_average"]


def test_a_table_with_several_lengths_in_one_is_not_averaged(call: Call, shared: Path) -> None:
    table = str(shared / "golden/published/paper_100longbench.csv")
    code, out, err = call("longscore", table, "--where", "table=Table 6")
    assert (code, out) == (2, "")
    assert "'24k / 32k'" in err
    assert call("longscore", table, "--where", "table=Table 6", "--lengths", "8k,16k")[0] == 0
