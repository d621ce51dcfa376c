"""Tables of records on the terminal."""

from __future__ import annotations

import json

import pytest

from fathom.options.terminal import print_json, print_records

MODEL = "openai/a\x1b[31mb"
LONG = "fathom/lexical?window=16k&truncate=middle"


@pytest.fixture(params=[80, 120])
def width(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setenv("COLUMNS", str(request.param))
    return int(request.param)


def test_names_bring_no_escapes_to_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    print_records([{"model": MODEL, f"x{MODEL}": [MODEL, "a\u202eb"], "none": None}], denominator="none")
    out = capsys.readouterr().out
    assert "\x1b" not in out
    assert "\u202e" not in out
    assert "openai/a\N{REPLACEMENT CHARACTER}[31mb" in out


def test_json_escapes_what_a_terminal_would_obey(capsys: pytest.CaptureFixture[str]) -> None:
    record = {"model": MODEL, "other": "\x9b31m模型"}
    print_json([record])
    out = capsys.readouterr().out
    assert json.loads(out) == [record]
    assert "\x9b" not in out
    assert "模型" in out


def test_long_cells_give_way_and_short_ones_stay_whole(width: int, capsys: pytest.CaptureFixture[str]) -> None:
    names = [f"counting_stars_number_{number}" for number in range(3)]
    print_records(
        [{"task": name, "model": LONG, "about": "a word of explanation " * 5} for name in names], denominator="none"
    )
    lines = capsys.readouterr().out.splitlines()
    assert max(len(line.rstrip()) for line in lines) <= width
    assert sum(line.startswith(tuple(names)) for line in lines) == 3
    # The name of the model is whole, or breaks at a seam and not within a word.
    assert sum(f" {LONG if width == 120 else '&truncate=middle'} " in line for line in lines) == 3


def test_many_long_columns_all_show(width: int, capsys: pytest.CaptureFixture[str]) -> None:
    print_records([{f"column {letter}": LONG for letter in "abcdefgh"}], denominator="none")
    out = capsys.readouterr().out
    assert max(len(line.rstrip()) for line in out.splitlines()) <= width
    assert out.count("mid") == 8


def test_no_records_print_nothing_much(capsys: pytest.CaptureFixture[str]) -> None:
    print_records([], denominator="none")
    assert capsys.readouterr().out.strip() == ""
