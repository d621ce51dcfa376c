"""The command that compares two models: names of runs, one sentence first, and every format."""

from __future__ import annotations

import json
import re
from pathlib import Path
from shutil import copytree

import polars as pl
import pytest

from fathom import api
from fathom.board.results import read_results
from fathom.commands.compare import _every_side
from fathom.convert.material import material
from fathom.report.reading import without_known
from fathom.report.two_models import Compared
from fathom.rows import load, scan
from fathom.suites.suitefile import open_suite
from fathom.types import FathomError, Reply
from made_replies import make_run


def make_checkpoints(folder: Path, seed: int = 0) -> Path:
    """A folder of two runs of one model name: the second loses every other answer at 2k, and one reply each is slow."""
    suite = folder / "suite"
    api.build("passkey,kv_retrieval", suite, lengths="1k,2k", items=12, depths="0.5", seed=seed)
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


@pytest.mark.slow
def test_the_answer_is_one_sentence(compared: Compared) -> None:
    assert re.fullmatch(
        r"ckpt-2 scores 50\.0 points less than ckpt-1 at 2k \[−\d\d\.\d, −\d\d\.\d\]; no difference is significant at "
        r"1k; 12 of 48 answers flipped to wrong, 0 to right\.",
        compared.sentence,
    )


@pytest.mark.slow
def test_two_runs_of_one_name_are_two_lines(runs: Path) -> None:
    rows = load(sorted(runs.iterdir()))
    assert rows["variant"].unique().sort().to_list() == ["ckpt-1", "ckpt-2"]
    assert rows.group_by("variant").len()["len"].to_list() == [48, 48]
    ranking = api.report([runs], "-").numbers()["ranking"]
    assert [line["variant"] for line in ranking] == ["ckpt-1", "ckpt-2"]


def test_what_their_servers_named_tells_them_apart(compared: Compared) -> None:
    assert "ckpt-1 was run as lab/m, and its server named lab/m fp_0." in compared.remarks
    assert (compared.a.served, compared.b.served) == (("lab/m fp_0",), ("lab/m fp_1",))


@pytest.mark.slow
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


@pytest.mark.slow
def test_runs_in_folders_of_one_name_are_named_by_those_above(runs: Path, tmp_path: Path) -> None:
    for number, name in enumerate(("old", "new"), 1):
        copytree(runs / f"ckpt-{number}", tmp_path / name / "lab-m")
    compared = api.compare([tmp_path])
    assert (compared.a.name, compared.b.name) == ("new/lab-m", "old/lab-m")
    assert compared.a.sources == (str(tmp_path / "new" / "lab-m"),)
    assert str(tmp_path) not in compared.sentence
    assert api.compare([tmp_path, "old/lab-m", "new/lab-m"]).a.sources == compared.b.sources


@pytest.mark.slow
def test_boards_and_converters_know_runs_that_are_named_by_their_folders(runs: Path) -> None:
    folders = sorted(runs.iterdir())
    (batch,) = read_results(folders)
    assert {variant for _, _, variant in batch.about} == {"ckpt-1", "ckpt-2"}
    assert {variant for _, variant in batch.prints()} == {"ckpt-1", "ckpt-2"}
    found = material(without_known(scan(folders), filter="none", threshold=0.5, panel=None), folders)
    assert {run.system for run in found.runs} == set(found.results.systems)


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
    address = re.search(r'class="replies" href="(replies/index.html#suite=[^"]+&amp;sample=[^"]+)"', out.read_text())
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


@pytest.mark.slow
def test_samples_of_two_suites_with_one_id_keep_their_texts(runs: Path, tmp_path: Path) -> None:
    other = make_checkpoints(tmp_path, seed=1)
    for number, folder in enumerate((runs, other)):
        for name in ("ckpt-1", "ckpt-2"):
            run = copytree(folder / name, tmp_path / "all" / f"{name}-{number}")
            manifest = json.loads((run / "run.json").read_text()) | {"label": name, "variant": name}
            (run / "run.json").write_text(json.dumps(manifest))
    flips = api.compare([tmp_path / "all", "ckpt-1", "ckpt-2"]).flipped
    assert len(flips) == 24
    assert len({flip.sample for flip in flips}) == 12
    assert len({flip.suite for flip in flips}) == 2
    assert all(flip.reply_a == flip.gold for flip in flips)
    assert len({flip.gold for flip in flips}) == 24


@pytest.mark.slow
def test_the_order_of_sources_is_that_of_the_difference(runs: Path, tmp_path: Path) -> None:
    rows = load([runs / "ckpt-1"]).with_columns(model=pl.lit("lab/rows"))
    for name in ("lab/one", "lab/two"):
        rows.with_columns(model=pl.lit(name)).write_parquet(tmp_path / f"{Path(name).name}.parquet")
    files = [tmp_path / "two.parquet", tmp_path / "one.parquet"]
    for given in (files, files[::-1], [files[0], runs / "ckpt-2"], [runs / "ckpt-2", files[0]]):
        compared = api.compare(given)
        assert [side.sources for side in (compared.a, compared.b)] == [(str(path),) for path in given]


def test_results_of_other_programs_are_in_the_order_given_too(runs: Path) -> None:
    foreign = Path(__file__).parents[1] / "rows" / "foreign" / "nemo-evaluator"
    for given in ([foreign, runs / "ckpt-1"], [runs / "ckpt-1", foreign]):
        table = scan(given)
        sides = _every_side(given, table.read(), table.origins)
        assert [side.sources for side in sides] == [(str(path),) for path in given]


@pytest.mark.slow
def test_a_comparison_written_as_text_is_text(runs: Path, compared: Compared, tmp_path: Path) -> None:
    api.compare([runs], tmp_path / "a.out", format="text")
    api.compare([runs], tmp_path / "a.txt")
    assert (tmp_path / "a.out").read_text() == (tmp_path / "a.txt").read_text() == f"{compared!r}\n"


@pytest.mark.slow
def test_the_command_of_a_page_has_the_options_that_were_given(runs: Path) -> None:
    made = dict(api.compare([runs], unanswered="drop", seed=3, filter="none").made)
    assert made["Command"] == f"fathom compare {runs} --seed 3 --unanswered drop --filter none"


def relabelled(runs: Path, folder: Path, **facts: dict[str, str]) -> Path:
    """The two checkpoints under other names, with other facts in their manifests."""
    for number, (name, given) in enumerate(facts.items(), 1):
        run = copytree(runs / f"ckpt-{number}", folder / name)
        manifest = json.loads((run / "run.json").read_text()) | given
        (run / "run.json").write_text(json.dumps(manifest))
    return folder


def test_an_ambiguous_name_is_answered_with_names_that_work(runs: Path, tmp_path: Path) -> None:
    made = relabelled(
        runs,
        tmp_path / "runs",
        first={"label": "v1", "variant": "v1"},
        second={"label": "v1", "variant": "v1", "model": "lab/other"},
    )
    with pytest.raises(FathomError, match="'v1' is the name of several runs; give one of 'first', 'second'"):
        api.compare([made, "v1", "first"])
    assert api.compare([made, "first", "second"]).sentence


def test_two_models_never_have_one_name(runs: Path, tmp_path: Path) -> None:
    made = relabelled(
        runs,
        tmp_path / "runs",
        first={"label": "lab/z", "variant": "lab/z", "model": "lab/y"},
        second={"model": "lab/z"},
    )
    compared = api.compare([made])
    assert {compared.a.name, compared.b.name} == {"lab/y · lab/z", "lab/z"}


def test_names_of_runs_go_before_files_of_the_same_name(
    runs: Path, compared: Compared, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "ckpt-1").mkdir()
    assert api.compare([runs, "ckpt-1", "ckpt-2"]).sentence == compared.sentence
