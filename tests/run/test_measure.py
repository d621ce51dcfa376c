"""``fathom measure``: from a model to the answer with one command, which resumes; each step is a command of its own."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest
from doctor_server import DoctorServer, Faults

from command_line import Call

pytestmark = pytest.mark.slow
MODEL = "fathom/lexical"


def steps(out: str) -> list[list[str]]:
    """The commands that were printed, as words."""
    return [shlex.split(line) for line in out.splitlines() if line.startswith("fathom ") and "keeps" not in line]


def test_one_command_gives_the_answer_and_names_the_report_and_every_step(call: Call) -> None:
    code, out, err = call("measure", MODEL, "--quick", "--items", "2", "--lengths", "2k,4k", "-y")
    assert code == 0, err
    assert [words[1] for words in steps(out)] == ["doctor", "build", "run", "report"]
    answer, page = out.splitlines()[-2:]
    assert answer.startswith(f"{MODEL} keeps 85% of its score at 2k to 4k up to 4k, the longest length measured")
    assert Path(page.partition(":")[0]).read_text("utf-8").startswith("<!DOCTYPE html>")


def test_the_printed_commands_do_the_same(call: Call) -> None:
    _, out, _ = call("measure", MODEL, "--quick", "--items", "2", "--lengths", "2k,4k", "-y")
    _, build, run, report = steps(out)
    _, said, _ = call(*build[1:], "-q")
    assert "already built" in said
    _, said, _ = call(*run[1:], "-y", "-q")
    _, status, _ = call("status", run[run.index("--out") + 1])
    assert said.split(": ")[1].split(" replies")[0] in status.replace("/", " of ")
    code, said, _ = call(*report[1:])
    assert code == 0
    assert " ".join(said.split()).startswith(f"{report[-1]} {' '.join(out.splitlines()[-2].split())}")


def test_the_same_command_resumes_and_asks_nothing_twice(call: Call) -> None:
    words = ("measure", "openai/tiny", "--items", "1", "--lengths", "2k", "-y", "-q", "--retries", "0")
    with DoctorServer(Faults(window=8192)) as server:
        first = call(*words, "--model-base-url", server.base_url)
        asked = len(server.requests)
        second = call(*words, "--model-base-url", server.base_url)
        assert len(server.requests) == asked
    assert first[0] == second[0] == 0, first[2]
    assert second[1].splitlines()[-2:] == first[1].splitlines()[-2:]


def test_lengths_fit_the_window_that_doctor_finds(call: Call) -> None:
    with DoctorServer(Faults(window=8192, said=8192)) as server:
        code, out, err = call("measure", "openai/tiny", "--items", "1", "-y", "--model-base-url", server.base_url)
    assert code == 0, err
    _, build, run, _ = steps(out)
    assert build[build.index("--lengths") + 1] == "2k,4k,6k"
    assert run[run.index("--window") + 1] == "8192"


def test_a_window_that_holds_no_length_says_what_to_do(call: Call) -> None:
    code, _, err = call("measure", MODEL, "--window", "1k", "-y")
    assert code == 2
    assert "does not hold 1,024 and a reply of 512; give the server a larger one, or --lengths" in err


def test_a_server_that_is_not_there_stops_before_anything_is_built(call: Call, tmp_path: Path) -> None:
    code, out, err = call("measure", "openai/x", "--model-base-url", "http://127.0.0.1:9/v1", "-y")
    assert code == 2
    assert "no server listens there" in out
    assert "mend what failed above" in err
    assert not [path for path in tmp_path.iterdir() if path.is_dir()]


def test_no_sample_is_sent_without_a_yes(call: Call, tmp_path: Path) -> None:
    with DoctorServer(Faults(window=8192)) as server:
        words = ("measure", "openai/tiny", "--items", "1", "--lengths", "2k", "--model-base-url", server.base_url)
        code, out, err = call(*words)
        checked = len(server.requests)
    assert code == 2
    assert "give --yes" in err
    assert [words[1] for words in steps(out)] == ["doctor", "build", "run"]
    assert checked <= 24 + 6  # those of doctor
    assert not (tmp_path / "measured" / "openai-tiny" / "report.html").exists()


def test_another_measurement_in_the_folder_is_refused(call: Call, tmp_path: Path) -> None:
    words = ("measure", MODEL, "--quick", "--items", "1", "--lengths", "2k", "-q", "-y", "-o", "here")
    assert call(*words)[0] == 0
    code, _, err = call(*words, "--seed", "3")
    assert code == 2
    assert "here: has a measurement with other options; give this one another --out" in err
    (tmp_path / "here" / "measure.json").write_text("[1", "utf-8")
    code, _, err = call(*words)
    assert code == 2
    assert "delete it, or give another --out" in err


def test_options_that_do_not_go_together_are_refused(call: Call) -> None:
    assert "exclude each other" in call("measure", MODEL, "--quick", "--thorough")[2]
    assert "need the documents" in call("measure", MODEL, "--questions", "q.csv")[2]


def test_own_documents_and_questions_are_measured(call: Call, tmp_path: Path) -> None:
    folder = tmp_path / "docs"
    folder.mkdir()
    for number in range(4):
        days = (f"On day {day} of log {number}, boat {day * 7 + number} left before noon." for day in range(400))
        (folder / f"{number}.txt").write_text("\n\n".join(["The lamp was lit by Ida at six.", *days]), "utf-8")
    (tmp_path / "q.csv").write_text("document,question,answer\n0.txt,Who lit the lamp?,Ida\n", "utf-8")
    words = ("docs", "--questions", "q.csv", "--lengths", "2k,4k", "--items", "2", "-q", "-y")
    code, out, err = call("measure", MODEL, *words)
    assert code == 0, err
    assert json.loads(next(Path("measured").rglob("measure.json")).read_text("utf-8"))["items"] == 2
    assert out.splitlines()[-2].startswith(MODEL)


def test_no_secret_is_printed_or_kept(call: Call, tmp_path: Path) -> None:
    key = "sk-verysecret1234567890"
    with DoctorServer(Faults(key=key)) as server:
        words = ("--items", "1", "--lengths", "2k", "-y", "-q", "--model-base-url", server.base_url)
        _, out, err = call("measure", "openai/tiny", *words, "-M", f"api_key={key}")
    kept = [path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()]
    assert key not in out + err
    assert not [data for data in kept if key.encode() in data]


def test_runs_with_a_label_are_told_apart_and_keep_it(call: Call) -> None:
    words = ("--items", "2", "--lengths", "1k", "--model", MODEL, "-y", "-q")
    for label in ("step-1000", "step-2000"):
        code, out, err = call("run", "passkey", *words, "--label", label)
        assert code == 0, err
        assert label in out
    code, out, _ = call("report", "runs", "--format", "json")
    assert code == 0
    assert sorted(one["variant"] for one in json.loads(out)["ranking"]) == ["step-1000", "step-2000"]
    folder = next(path.parent for path in Path("runs").rglob("run.json") if "step-1000" in str(path))
    code, _, err = call("run", "passkey", *words, "--out", folder, "--label", "step-3000")
    assert code == 2
    assert "label" in err
    assert "expected 1 to 60 characters" in call("run", "passkey", *words, "--label", "\x1b[31m")[2]


def test_room_for_reasoning_is_kept(call: Call) -> None:
    words = ("--items", "1", "--reasoning-tokens", "3000", "--window", "8k", "-y")
    with DoctorServer(Faults(window=8192)) as server:
        code, out, err = call("measure", "openai/tiny", *words, "--model-base-url", server.base_url)
    assert code in (0, 1), err
    _, build, _, _ = steps(out)
    assert build[build.index("--lengths") + 1] == "1k,2k,4k"


def test_documents_that_changed_are_built_again(call: Call, tmp_path: Path) -> None:
    book = tmp_path / "book.txt"
    for number in range(2):
        days = (f"On day {day}, boat {day * 7 + number} left before noon." for day in range(2000))
        book.write_text("\n\n".join(days), "utf-8")
        words = ("--lengths", "2k", "--items", "1", "-q", "-y", "--out", f"measured-{number}")
        code, _, err = call("measure", MODEL, "book.txt", *words)
        assert code == 0, err
    assert len(list((tmp_path / "builds").iterdir())) == 2


def test_a_judge_is_checked_before_anything_is_sent(call: Call, tmp_path: Path) -> None:
    code, out, err = call("measure", MODEL, "--quick", "-y", "--judge", "nosuch/judge")
    assert code == 2
    assert "nosuch" in err
    assert out == ""
    assert not (tmp_path / "builds").exists()


def test_a_measurement_that_was_declined_blocks_no_other(call: Call, tmp_path: Path) -> None:
    import fathom as fm

    assert fm.api.measure(MODEL, lengths="1k", out="here", items=1, confirm=lambda plan: False) is None
    assert not (tmp_path / "here" / "measure.json").exists()
    assert fm.api.measure(MODEL, lengths="1k", out="here", items=2, confirm=lambda plan: True) is not None


def test_a_measurement_without_scores_says_why_and_fails(call: Call) -> None:
    code, out, err = call("measure", "fathom/lexical?window=1k", "--lengths", "2k", "--items", "2", "-y", "-q")
    assert code == 1, err
    assert out.splitlines()[-2] == "fathom/lexical?window=1k has no scored replies and therefore no score."
