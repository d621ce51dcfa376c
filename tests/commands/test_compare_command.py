"""The command that compares two models: names of runs, one sentence first, and every format."""

from __future__ import annotations

import json
import re
from pathlib import Path
from shutil import copytree

import polars as pl
import pytest

from fathom import api
from fathom.report.two_models import Compared
from fathom.rows import load
from fathom.suites.suitefile import open_suite
from fathom.types import FathomError, Reply
from made_replies import make_run


def make_checkpoints(folder: Path) -> Path:
    """A folder of two runs of one model name: the second loses every other answer at 2k, and one reply each is slow."""
    suite = folder / "suite"
    api.build("passkey,kv_retrieval", suite, lengths="1k,2k", items=12, depths="0.5")
    built = open_suite(suite)
    about = {name: built.manifest[key] for name, key in (("name", "suite"), ("fingerprint",) * 2, ("tokenizer",) * 2)}
    for number, name in enumerate(("ckpt-1", "ckpt-2")):
        replies = []
        for place, sample in enumerate(built.samples()):
            wrong = number and sample.length == 2048 and place // 2 % 2
            text = "<b>I cannot find it</b>" if wrong else sample.targets[0]
            replies.append((sample, Reply("ok", text, served=f"lab/m fp_{number}", seconds=1.0 + number)))
        run = make_run(folder / "runs" / name, replies)
        manifest = json.loads((run / "run.json").read_text()) | {"suite": {**about, "path": str(suite)}}
        (run / "run.json").write_text(json.dumps(manifest))
    return folder / "runs"


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_checkpoints(tmp_path_factory.mktemp("checkpoints"))


@pytest.fixture(scope="module")
def compared(runs: Path) -> Compared:
    return api.compare([runs])


def test_the_answer_is_one_sentence(compared: Compared) -> None:
    assert re.fullmatch(
        r"ckpt-2 scores 50\.0 points less than ckpt-1 at 2k \[−\d\d\.\d, −\d\d\.\d\]; no difference is significant at "
        r"1k; 12 of 48 answers flipped to wrong, 0 to right\.",
        compared.sentence,
    )


def test_two_runs_of_one_name_are_two_lines(runs: Path) -> None:
    rows = load(sorted(runs.iterdir()))
    assert rows["variant"].unique().sort().to_list() == ["ckpt-1", "ckpt-2"]
    assert rows.group_by("variant").len()["len"].to_list() == [48, 48]
    ranking = api.report([runs], "-").numbers()["ranking"]
    assert [line["variant"] for line in ranking] == ["ckpt-1", "ckpt-2"]


def test_what_their_servers_named_tells_them_apart(compared: Compared) -> None:
    assert "ckpt-1 was run as lab/m, and its server named lab/m fp_0." in compared.remarks
    assert (compared.a.served, compared.b.served) == (("lab/m fp_0",), ("lab/m fp_1",))


def test_runs_are_named_by_label_and_folder(runs: Path, compared: Compared, tmp_path: Path) -> None:
    turned = api.compare([runs, "ckpt-2", "ckpt-1"])
    assert (turned.a.name, turned.b.name) == ("ckpt-2", "ckpt-1")
    apart = api.compare([runs / "ckpt-1", runs / "ckpt-2"])
    assert apart.sentence == compared.sentence
    for number, label in enumerate(("old", "new"), 1):
        run = tmp_path / str(number)
        run.mkdir()
        for file in (runs / f"ckpt-{number}").iterdir():
            (run / file.name).write_bytes(file.read_bytes())
        manifest = json.loads((run / "run.json").read_text()) | {"label": label, "variant": label}
        (run / "run.json").write_text(json.dumps(manifest))
    labelled = api.compare([tmp_path, "old", "new"])
    assert labelled.sentence == compared.sentence.replace("ckpt-2", "new").replace("ckpt-1", "old")
    with pytest.raises(FathomError, match="unknown run 'ol'; did you mean old"):
        api.compare([tmp_path, "ol", "new"])
    with pytest.raises(FathomError, match="two models are compared"):
        api.compare([tmp_path / "1"])


def test_runs_in_folders_of_one_name_are_named_by_those_above(runs: Path, tmp_path: Path) -> None:
    for number, name in enumerate(("old", "new"), 1):
        copytree(runs / f"ckpt-{number}", tmp_path / name / "lab-m")
    compared = api.compare([tmp_path])
    assert (compared.a.name, compared.b.name) == ("new/lab-m", "old/lab-m")
    assert compared.a.sources == (str(tmp_path / "new" / "lab-m"),)
    assert str(tmp_path) not in compared.sentence
    assert api.compare([tmp_path, "old/lab-m", "new/lab-m"]).a.sources == compared.b.sources


def test_a_copy_of_a_run_is_still_one_run(runs: Path, tmp_path: Path) -> None:
    rows = tmp_path / "rows.parquet"
    api.rows([runs / "ckpt-1"], rows)
    both = load([runs / "ckpt-1", rows])
    assert (len(both), set(both["variant"])) == (48, {""})


def test_flips_have_question_gold_answer_and_both_replies(compared: Compared) -> None:
    flip = compared.flipped[0]
    assert flip.question
    assert flip.gold
    assert (flip.reply_a, flip.reply_b) == (flip.gold, "<b>I cannot find it</b>")
    assert (flip.score_a, flip.score_b) == (1.0, 0.0)


def test_every_format_begins_with_the_sentence(compared: Compared) -> None:
    assert compared.markdown().startswith("**ckpt-2 scores 50.0 points less than ckpt-1 at 2k")
    numbers = json.loads(compared.text("json"))
    assert numbers["sentence"] == compared.sentence
    assert len(numbers["flipped"]) == numbers["flipped_to_wrong"] == 12
    assert [own["length"] for own in numbers["lengths"]] == [1024, 2048]
    assert repr(compared).startswith(compared.sentence)


def test_the_page_has_all_numbers_as_json_and_escapes_texts(compared: Compared) -> None:
    page = compared.html()
    (data,) = re.findall(r'<script type="application/json" id="numbers">(.*?)</script>', page, re.DOTALL)
    assert json.loads(data) == json.loads(compared.text("json"))
    assert "<b>I cannot" not in page
    assert "&lt;b&gt;I cannot" in page


def test_links_lead_to_the_pages_of_replies(runs: Path, tmp_path: Path) -> None:
    out = tmp_path / "compare.html"
    api.compare([runs], out, replies=tmp_path / "replies")
    address = re.search(r'class="replies" href="(replies/index.html#sample=[^"]+)"', out.read_text())
    assert address
    assert (tmp_path / "replies" / "index.html").exists()


def test_rows_files_are_compared_by_their_answers(runs: Path, tmp_path: Path) -> None:
    rows = load(sorted(runs.iterdir()))
    for name in ("ckpt-1", "ckpt-2"):
        rows.filter(pl.col("variant") == name).with_columns(model=pl.lit(name)).write_parquet(
            tmp_path / f"{name}.parquet"
        )
    compared = api.compare([tmp_path / "ckpt-1.parquet", tmp_path / "ckpt-2.parquet"])
    assert compared.sentence.startswith("ckpt-2 scores 50.0 points less than ckpt-1 at 2k")
