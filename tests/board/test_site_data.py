"""The files of a site: they are what the page expects, agree with each other, and hold no text that could do harm."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fathom.board import shown
from fathom.board.board_data import board_files
from fathom.board.build import MARK, Built, SiteSettings, build_site
from fathom.board.keys import keys, slug
from fathom.board.measured import measured
from fathom.board.model import PROVENANCES, Entry, Estimate, Origin
from fathom.board.results import Batch
from fathom.board.standing import standing
from fathom.board.table import model_keys, table
from fathom.rows import to_frame, write_rows
from fathom.rows.table import RowsTable
from fathom.suites.registry import boards, get_board
from fathom.types import FathomError
from made_results_board import made_rows, row

pytestmark = pytest.mark.slow  # all look at what takes long to make

BOARDS = tuple(boards().values())
HUNDRED = get_board("hundred")

HOSTILE = (
    "<script>alert(1)</script>",
    "=1+1",
    "\u202egnp.exe",
    "../../etc/passwd",
    "__proto__",
    "模型",
    "",
    "CON\x00\n",
)
SLUG = re.compile(r"[a-z0-9][a-z0-9-]{0,79}")
MEASURED = ("hundred", "ada")
ABILITIES = {"good": 1.0, "fair": 0.3, "poor": -1.0, HOSTILE[0]: 0.0, HOSTILE[1]: -0.5}


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("results") / "rows.parquet"
    lengths = (2048, 4096, 6144, *HUNDRED.counted["kv_retrieval"])
    rows = made_rows(ABILITIES, tasks=HUNDRED.tasks, lengths=lengths, items=6, suite="hundred")
    closed = [row("single_doc_qa", "x", 0.25, 0, suite="hundred", model="good", facets={"context": "none"})]
    write_rows(rows.vstack(to_frame(closed)), path)
    return path


@pytest.fixture(scope="module")
def site(results: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of two boards, one of which has measured lines too; all boards are on ``published_site``."""
    out = tmp_path_factory.mktemp("site") / "site"
    build_site(SiteSettings((results,), boards=MEASURED, examples=False), out)
    return out


@pytest.fixture
def site_of(site: Path, published_site: Path) -> Callable[[str], Path]:
    """The site on which a board is looked at."""
    return lambda name: site if name in MEASURED else published_site


def data(site: Path, name: str) -> Any:
    """The content of a data file, which is one line of plain ASCII."""
    text = (site / "data" / f"{name}.js").read_bytes().decode("ascii")
    head = f'fathom.add("{name}", '
    assert text.startswith(head)
    assert text.endswith(");\n")
    assert text.count("\n") == 1
    return json.loads(text.removeprefix(head).removesuffix(");\n"))


def is_estimate(value: Any) -> bool:
    if value is None:
        return True
    within = value[1] is None or value[1][0] <= value[0] <= value[1][1]
    return within and len(value) in (4, 6) and isinstance(value[0], int | float) and value[3] in (0, 1)


# ------------------------------------------------------------------------------------------------ contract


def test_the_site_says_which_boards_there_are(site: Path, published_site: Path) -> None:
    shown = {place: data(place, "site") for place in (site, published_site)}
    for place, said in shown.items():
        assert said["format"] == 1
        assert re.fullmatch(r"\d{4}-\d\d-\d\d", said["built"])
        assert said["changes"] is None
        for board in said["boards"]:
            assert board["lines"] == len(data(place, f"boards/{board['id']}")["entries"])
            assert board["tasks"] == len(get_board(board["id"]).tasks)
    assert shown[published_site]["default"] == "pro"
    assert {board["id"] for board in shown[published_site]["boards"]} == {board.id for board in BOARDS}
    assert {board["measured"] for board in shown[published_site]["boards"]} == {0}
    by_id = {board["id"]: board for board in shown[site]["boards"]}
    assert shown[site]["default"] == "hundred"
    assert by_id["hundred"]["measured"] == len(ABILITIES)
    assert by_id["hundred"]["submitted"] == 0
    assert by_id["ada"]["measured"] == 0


@pytest.mark.parametrize("name", ["leader-32k", "leader-128k", "pro", "hundred", "ada", "mini"])
def test_a_board_is_as_the_page_expects_it(site_of: Callable[[str], Path], name: str) -> None:
    site = site_of(name)
    said, cells, board = data(site, f"boards/{name}"), data(site, f"cells/{name}"), get_board(name)
    entries = said["entries"]
    assert [task["id"] for task in said["tasks"]] == cells["tasks"] == list(board.tasks)
    assert [one["id"] for one in said["categories"]] == [category.id for category in board.categories]
    assert [part["tasks"] for one in said["categories"] for part in one["parts"]] == [
        list(part.tasks) for category in board.categories for part in category.parts
    ]
    assert len({entry["key"] for entry in entries}) == len(entries) == len(cells["overTasks"])
    for entry in entries:
        assert SLUG.fullmatch(entry["key"])
        assert (site / "data" / "models" / f"{entry['modelKey']}.js").is_file()
        assert is_estimate(entry["overall"])
        assert all(map(is_estimate, (*entry["categories"], *entry["lengths"], *entry["extras"])))
        counts = (len(entry["categories"]), len(entry["lengths"]), len(entry["extras"]))
        assert counts == (len(board.categories), len(board.lengths), len(board.extras))
        assert set(entry["missing"]) <= set(board.tasks)
        assert (entry["rank"] is None) == (entry["group"] is None)
        assert entry["complete"] == (not entry["missing"])
        own = cells["overTasks"][entry["key"]]
        assert len(own) == len(board.tasks)
        assert all(map(is_estimate, own))
        if said["origins"][entry["origin"]]["provenance"] == "measured":
            assert entry["missing"] == [task for task, est in zip(board.tasks, own, strict=True) if est is None]
        for at in cells["byLength"][entry["key"]]:
            assert [length for length, _ in at] == sorted(length for length, _ in at)
            assert all(is_estimate(est) for _, est in at)
        assert said["origins"][entry["origin"]]["provenance"] in PROVENANCES
    order = [(not entry["complete"], -entry["overall"][0] if entry["overall"] else np.inf) for entry in entries]
    assert order == sorted(order)


def agree(p: float, low: float, high: float) -> bool:
    """The test of signs and the interval of replicates are two computations: they agree, but for what is close."""
    return 0.01 < p < 0.2 or (p < 0.05) == (not low <= 0 <= high)


@pytest.mark.parametrize("name", ["leader-32k", "pro", "hundred"])
def test_pairs_explain_the_ranks(site_of: Callable[[str], Path], name: str) -> None:
    site = site_of(name)
    board = data(site, f"boards/{name}")
    ranked = [entry for entry in board["entries"] if entry["rank"]]
    known = [entry for entry in board["entries"] if entry["overall"] and entry["overall"][1]]
    pairs = [data(site, f"pairs/{name}/{entry['key']}") for entry in known if entry["pairs"]]
    assert [entry["pairs"] for entry in known] == [True] * len(known)
    assert [bool(pair["sure"]) for pair in pairs] == [entry in ranked for entry in known]
    count = len(ranked)
    for place, (entry, one) in enumerate(zip(ranked, pairs, strict=False)):
        assert known[place] is entry
        assert len(one["sure"]) == count
        assert entry["rank"] == [1 + one["sure"].count("-"), count - one["sure"].count("+")]
        assert one["sure"][place] == "0"
    for place, (first, own) in enumerate(zip(known, pairs, strict=True)):
        assert [len(column) for column in own["overall"]] == [len(known)] * 5
        for other, (second, *numbers) in enumerate(zip(known, *own["overall"], strict=True)):
            gap, low, high, p = (number / 100_000 for number in numbers[:4])
            turned = [column[place] for column in pairs[other]["overall"]]
            assert turned == [-numbers[0], -numbers[2], -numbers[1], *numbers[3:]]
            if first is second:
                assert numbers == [0, 0, 0, 0, 0]
                continue
            assert gap == pytest.approx(first["overall"][0] - second["overall"][0], abs=2e-5)
            assert -1 <= low <= gap <= high <= 1
            assert agree(p, low, high)
            asked = [board["origins"][one["origin"]]["provenance"] == "measured" for one in (first, second)]
            assert (numbers[4] > 0) == all(asked)


def test_differences_by_task_are_those_of_the_scores(site: Path) -> None:
    board, cells = data(site, "boards/hundred"), data(site, "cells/hundred")["overTasks"]
    places = [entry["key"] for entry in board["entries"]]
    for entry in board["entries"]:
        file = site / "data" / "pairs" / "hundred" / f"{entry['key']}.js"
        assert file.is_file() == entry["pairs"]
        rows = data(site, f"pairs/hundred/{entry['key']}")["tasks"] if entry["pairs"] else {}
        for other, gaps in rows.items():
            assert places.index(other) > places.index(entry["key"])
            for first, second, gap in zip(cells[entry["key"]], cells[other], gaps, strict=True):
                assert (gap == 0) == (not (first and first[1] and second and second[1]))
                if gap:
                    assert gap[0] / 100_000 == pytest.approx(first[0] - second[0], abs=2e-5)
                    assert agree(gap[3] / 100_000, gap[1], gap[2])


def test_models_and_tasks_say_how_it_came_about(site: Path, published_site: Path) -> None:
    model = data(site, "models/good")
    (entry,) = model["entries"]
    assert entry["board"] == "hundred"
    assert entry["outcomes"] == {"answered": 6 * 8 * 8}
    assert entry["settings"]["tasks"]["kv_retrieval"]["rule"] == "strict"
    tasks = data(site, "tasks")
    assert tasks["single_doc_qa"]["closedBook"] == 0.25
    assert tasks["kv_retrieval"]["closedBook"] is None
    tasks |= data(published_site, "tasks")
    assert tasks["leader_passkey_5_short"]["boards"] == ["leader-32k", "leader-128k"]
    for task in tasks.values():
        assert task["title"]
        assert task["citation"]
        assert set(task["rules"]) == {"official", "strict"}


def test_examples_are_made_where_they_can_be(tmp_path: Path) -> None:
    build_site(SiteSettings(boards=("hundred",)), tmp_path / "site")
    example = data(tmp_path / "site", "tasks")["kv_retrieval"]["example"]
    assert example["start"]
    assert len(example["start"]) <= 1200
    assert example["target"]
    assert example["tokens"] <= 1024


def test_examples_come_from_suites_that_are_given(tmp_path: Path) -> None:
    from fathom import api

    made = {"items": 2, "corpus": ("world?seed=3",), "languages": ("en",)}
    api.build("kv_retrieval", tmp_path / "suite", lengths=(2048, 4096), **made)  # type: ignore[arg-type]
    build_site(SiteSettings(boards=("hundred",), suites=(tmp_path / "suite",)), tmp_path / "site")
    example = data(tmp_path / "site", "tasks")["kv_retrieval"]["example"]
    assert 1024 < example["tokens"] <= 2048
    for end in (example["start"], example["end"]):  # cut between words
        assert 1200 - 50 < len(end) <= 1200


# --------------------------------------------------------------------------------------------- hostile text


@given(st.lists(st.tuples(st.text(max_size=80), st.text(max_size=5)), max_size=20))
def test_keys_are_slugs_and_each_is_its_own(names: list[tuple[str, str]]) -> None:
    found = keys(names)
    assert len(set(found)) == len(found) == len(names)
    assert all(SLUG.fullmatch(key) for key in found)


def test_a_key_does_not_depend_on_lines_that_come_later() -> None:
    assert keys([("a b",), ("A-B",)])[:1] == keys([("a b",)])
    assert keys([("a b",), ("A-B",), ("a_b",)])[:2] == keys([("a b",), ("A-B",)])
    assert slug("Qwen/Qwen3-32B") == "qwen-qwen3-32b"


def test_hostile_names_become_harmless_files() -> None:
    entries = [
        Entry(
            model=name,
            variant=name,
            origin=Origin("submitted", name, url="javascript:alert(1)", note=name),
            cells={("tsort", 0): Estimate(0.5)},
            settings={"__proto__": {"x": 1}, name: [name]},
        )
        for name in HOSTILE
    ]
    board = get_board("ada")
    made = table(board, entries, model_keys({"ada": entries}))
    for name, content in board_files(made):
        text = shown.script(name, content)
        assert text.isascii()
        assert all(SLUG.fullmatch(part) for part in name.split("/"))
        assert "\n" not in text[:-1]
    assert all(shown.origin(entry.origin)["url"] == "" for entry in entries)
    for entry in entries:
        settings = shown.settings(entry.settings)
        assert isinstance(settings, dict)
        assert "__proto__" not in settings
        for name, values in settings.items():
            assert name.isprintable()
            assert isinstance(values, list)
            assert all(str(one).isprintable() for one in values)


@pytest.mark.parametrize(
    ("url", "kept"),
    [
        ("https://arxiv.org/abs/1", True),
        ("http://a.org", False),
        ("javascript:alert(1)", False),
        ('https://a"b', False),
    ],
)
def test_only_https_addresses_stay(url: str, kept: bool) -> None:
    assert (shown.origin(Origin("published", "t", url=url))["url"] == url) == kept


def test_no_cell_of_a_csv_is_a_formula(site: Path) -> None:
    with (site / "downloads" / "hundred.csv").open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert any(line["model"] == "'=1+1" for line in rows)
    numbers = ("length", "value", "error", "low", "high", "n", "rank_low", "rank_high", "tie_group")
    for line in rows:
        for name, text in line.items():
            assert name in numbers or not text.startswith(("=", "+", "-", "@", "\t", "\r"))


# ------------------------------------------------------------------------------------------------ downloads


def test_downloads_hold_what_the_pages_show(site_of: Callable[[str], Path]) -> None:
    for name in ("hundred", "mini"):
        site = site_of(name)
        frame = pl.read_parquet(site / "downloads" / "all.parquet")
        board, cells = data(site, f"boards/{name}"), data(site, f"cells/{name}")
        own = frame.filter(pl.col("board") == name)
        for entry in board["entries"]:
            line = own.filter(pl.col("key") == entry["key"])
            overall = line.filter(pl.col("figure") == "overall")
            if entry["overall"]:
                value, ends = entry["overall"][:2]
                assert overall.select("value", "low", "high").row(0) == (value, *(ends or (None, None)))
            tasks = line.filter(pl.col("figure") == "task", pl.col("length").is_null())
            assert dict(tasks.select("name", "value").rows()) == {
                task: est[0]
                for task, est in zip(cells["tasks"], cells["overTasks"][entry["key"]], strict=True)
                if est is not None
            }
            extras = dict(line.filter(pl.col("figure") == "extra").select("name", "value").rows())
            shown_extras = zip((one["id"] for one in board["extras"]), entry["extras"], strict=True)
            assert extras == {one: est[0] for one, est in shown_extras if est}
        text = (site / "downloads" / "all.csv").read_text("utf-8")
        assert len(list(csv.reader(io.StringIO(text)))) == len(frame) + 1
        whole = json.loads((site / "downloads" / "all.json").read_bytes())
        assert (
            sum(len(line["figures"]) for board in whole["boards"] for line in board["lines"])
            == frame.filter(pl.col("figure") != "usage").height
        )


def test_measured_cells_say_how_they_came_about(site: Path) -> None:
    frame = pl.read_parquet(site / "downloads" / "hundred.parquet")
    tasks = frame.filter(pl.col("figure") == "task")
    own = tasks.filter(pl.col("provenance") == "measured")
    assert own["questions"].null_count() == own["task_version"].null_count() == 0
    assert tasks.filter(pl.col("provenance") == "published")["questions"].null_count() == len(tasks) - len(own)


# ------------------------------------------------------------------------------------------------ the folder


def test_equal_inputs_give_equal_bytes(results: Path, site: Path, tmp_path: Path) -> None:
    again = tmp_path / "again"
    build_site(SiteSettings((results,), boards=MEASURED, examples=False), again)
    files = sorted(path.relative_to(site) for path in site.rglob("*") if path.is_file())
    assert files == sorted(path.relative_to(again) for path in again.rglob("*") if path.is_file())
    assert [name for name in files if (site / name).read_bytes() != (again / name).read_bytes()] == []


def test_a_site_is_replaced_and_what_stands_beside_it_stays(tmp_path: Path) -> None:
    out = tmp_path / "site"
    build_site(SiteSettings(boards=("ada",), examples=False), out)
    (out / "CNAME").write_text("board.example", "utf-8")
    (out / ".git").mkdir()
    (out / ".git" / "HEAD").write_text("main", "utf-8")
    (out / "data" / "boards" / "left.js").write_text("", "utf-8")
    build_site(SiteSettings(boards=("hundred",), examples=False), out)
    assert (out / "CNAME").read_text("utf-8") == "board.example"
    assert (out / ".git" / "HEAD").exists()
    assert [path.name for path in (out / "data" / "boards").iterdir()] == ["hundred.js"]
    assert [path.name for path in tmp_path.iterdir()] == ["site"]


def test_other_folders_are_not_touched(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("years of work", "utf-8")
    with pytest.raises(FathomError, match="has other files and no site"):
        build_site(SiteSettings(boards=("ada",), examples=False), tmp_path)
    with pytest.raises(FathomError, match="is a file"):
        build_site(SiteSettings(boards=("ada",), examples=False), tmp_path / "thesis.txt")
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.txt"]
    assert not (tmp_path / MARK).exists()


def test_nothing_to_show_is_said(results: Path, tmp_path: Path) -> None:
    with pytest.raises(FathomError, match="no entries for ada"):
        build_site(SiteSettings((results,), published=False, boards=("ada",)), tmp_path / "site")
    with pytest.raises(FathomError, match="unknown board 'adda'; did you mean ada"):
        build_site(SiteSettings(boards=("adda",)), tmp_path / "site")
    with pytest.raises(FathomError, match="YYYY-MM-DD"):
        build_site(SiteSettings(date="yesterday"), tmp_path / "site")
    assert not (tmp_path / "site").exists()


def test_the_same_results_make_the_lines_that_standing_gives(results: Path, site: Path) -> None:
    (batch,) = [Batch(RowsTable(pl.read_parquet(results)))]
    entries = {entry.model: entry for entry in measured([HUNDRED], batch).entries["hundred"]}
    shown_lines = {entry["model"]: entry for entry in data(site, "boards/hundred")["entries"]}
    for model, entry in entries.items():
        assert shown_lines[model]["overall"] == shown.estimate(standing(HUNDRED, entry).overall)
        assert [line is None for line in shown_lines[model]["extras"]] == [
            name not in entry.extras for name in HUNDRED.extras
        ]
        assert set(entry.extras) >= {"base"}


def test_progress_goes_from_the_first_step_to_the_last(tmp_path: Path) -> None:
    told: list[tuple[int, int]] = []
    build_site(SiteSettings(boards=("ada",), examples=False), tmp_path / "site", lambda *now: told.append(now))
    assert [done for done, _ in told] == list(range(1, told[-1][1] + 1))


def test_no_interval_of_a_download_leaves_what_scores_can_be(published_site: Path) -> None:
    """Also of figures beside the averages, such as shares of replies whose form was right; in tables and in JSON."""
    frame = pl.read_parquet(published_site / "downloads" / "all.parquet")
    unbounded = {name for board in BOARDS for name in board.unbounded}
    scores = frame.filter(pl.col("figure") != "usage", ~pl.col("name").is_in(unbounded), pl.col("low").is_not_null())
    assert {"extra", "task"} <= set(scores["figure"])  # else this would show nothing
    assert scores.filter((pl.col("low") < 0) | (pl.col("high") > 1)).is_empty()
    assert scores.filter((pl.col("low") > pl.col("value")) | (pl.col("high") < pl.col("value"))).is_empty()
    nested = json.loads((published_site / "downloads" / "all.json").read_text("utf-8"))
    for board in nested["boards"]:
        low, high, name = (board["columns"].index(column) for column in ("low", "high", "name"))
        for figure in (figure for line in board["lines"] for figure in line["figures"]):
            assert len(figure) in (len(board["columns"]), board["columns"].index("other"))
            if figure[name] not in unbounded and figure[low] is not None:
                assert 0 <= figure[low] <= figure[high] <= 1


# ------------------------------------------------------------------------------------------ how replies count


@pytest.fixture(scope="module")
def unanswered(results: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same results, in which one model refused a sixth of all prompts, and a request of another failed."""
    path = tmp_path_factory.mktemp("unanswered") / "rows.parquet"
    sixth = (pl.col("model") == "good") & pl.col("item").str.ends_with("/003")
    task, length = HUNDRED.tasks[0], HUNDRED.counted["kv_retrieval"][0]
    first = (pl.col("model") == "fair") & (pl.col("task") == task) & (pl.col("item") == f"{task}/000")
    lost = first & (pl.col("length") == length)
    rows = pl.read_parquet(results).with_columns(
        status=pl.when(sixth).then(pl.lit("refused")).when(lost).then(pl.lit("error")).otherwise("status"),
        value=pl.when(lost).then(None).when(sixth).then(0.0).otherwise("value"),
        answered=~(sixth | lost),
    )
    write_rows(rows, path)
    return path


@pytest.fixture(scope="module")
def as_zero(unanswered: Path, tmp_path_factory: pytest.TempPathFactory) -> Built:
    """The site of these results alone."""
    return build_site(
        SiteSettings((unanswered,), examples=False, published=False), tmp_path_factory.mktemp("zero") / "site"
    )


def test_the_site_says_what_became_of_replies(as_zero: Built) -> None:
    lines = {line["model"]: line for line in data(as_zero.out, "boards/hundred")["entries"]}
    *_, other, ended = lines["good"]["overall"]
    assert re.fullmatch(r"\d+\.\d% without the (\d+) unanswered", other)
    assert ended[1] == ended[0] / 6 == int(other.split()[3])
    assert len(lines["poor"]["overall"]) == 4
    assert lines["good"]["rank"] is not None
    # The request that failed leaves its task without a score, and the line without an average and a rank.
    assert (lines["fair"]["overall"], lines["fair"]["rank"], lines["fair"]["complete"]) == (None, None, False)
    assert lines["fair"]["missing"] == [HUNDRED.tasks[0]]
    assert any("fair: 1 reply to" in note for note in as_zero.notes)
    model = data(as_zero.out, f"models/{lines['good']['modelKey']}")["entries"][0]
    assert model["outcomes"]["unanswered"] == model["outcomes"]["answered"] / 5
    assert "unanswered (count 0)" in model["origin"]["note"]
    table = pl.read_parquet(as_zero.out / "downloads" / "hundred.parquet")
    overall = table.filter(pl.col("figure") == "overall", pl.col("model") == "good").row(0, named=True)
    assert (overall["unanswered"], overall["replies"], overall["missing"]) == (ended[1], ended[0], 0)
    assert overall["other"] > overall["value"]


def test_a_board_of_answered_replies_says_so(unanswered: Path, as_zero: Built, tmp_path: Path) -> None:
    build_site(SiteSettings((unanswered,), examples=False, published=False, unanswered="drop"), tmp_path / "drop")
    zero, drop = (data(site, "boards/hundred") for site in (as_zero.out, tmp_path / "drop"))
    assert "Unanswered replies are left out of the means" in drop["about"]
    assert "left out" not in zero["about"]
    first, second = ({line["model"]: line["overall"] for line in one["entries"]} for one in (zero, drop))
    assert second["good"][0] > first["good"][0]
    assert second["good"][4].endswith(" unanswered")
    assert " with the " in second["good"][4]
    assert second["poor"] == first["poor"]


def test_published_scores_are_as_they_are_printed(published_site: Path, tmp_path: Path) -> None:
    names = ("hundred", "leader-128k", "pro")
    build_site(SiteSettings(boards=names, examples=False, unanswered="drop"), tmp_path / "drop")
    for name in names:
        zero, drop = (site / "data" / "boards" / f"{name}.js" for site in (published_site, tmp_path / "drop"))
        assert zero.read_bytes() == drop.read_bytes()
