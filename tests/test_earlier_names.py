"""Earlier names, and other names of papers, are still understood."""

import json
from dataclasses import asdict, replace
from operator import attrgetter
from pathlib import Path
from random import Random

import pytest

from engine_calls import configure
from fathom import types
from fathom.rows.schema import read_rows, to_frame
from fathom.score.registry import get_metric, metrics
from fathom.suites.registry import get_board, get_suite, get_task
from fathom.tokens.counts import TokenCounter
from fathom.tokens.tokenizers import get_tokenizer
from fathom.types import Candidate, CandidatePool, Document, Draw, Resources, Row, Score, Task


def test_earlier_names_of_types_fields_and_arguments() -> None:
    assert (types.Card, types.Stock, types.Scene, types.Verdict) == (Candidate, CandidatePool, Resources, Score)
    document = Document("a", "One. Two.", "a.txt", "en")
    resources = Resources("en", [document], [], (1024,), TokenCounter(get_tokenizer("words")))
    candidate = Candidate(document, ())
    make_pool, make_draw, make_task = vars(types)["Stock"], vars(types)["Draw"], vars(types)["Task"]
    pool = make_pool((), cards=[candidate])
    assert pool == CandidatePool((), [candidate])
    assert attrgetter("cards")(pool) == [candidate]
    assert replace(pool, cards=[]).candidates == []
    draw = make_draw(scene=resources, rng=Random(0), depth=0.5, fillers=0, card=candidate)
    assert isinstance(draw, Draw)
    assert attrgetter("scene", "card")(draw) == (draw.resources, draw.candidate) == (resources, candidate)
    known = get_task("passkey")
    given = {name: getattr(known, name) for name in ("name", "plan", "score", "metric", "max_output_tokens")}
    task = make_task(**given, description="", source="", stock=lambda scene: pool)
    assert isinstance(task, Task)
    assert attrgetter("stock")(task) is task.pool
    assert task.pool is not None
    assert task.pool(resources) is pool


@pytest.mark.parametrize(
    ("alias", "name", "metric"),
    [
        ("100longbench", "hundred", "qa_f1"),
        ("100longbench", "hundred", "sum_judge"),
        ("ada_leval", "ada", "tsort"),
        ("ada_leval", "ada", "bestanswer"),
        ("minilongbench", "mini", "rouge"),
    ],
)
def test_papers_have_one_name_and_the_other_one_is_accepted(alias: str, name: str, metric: str) -> None:
    assert get_suite(alias) is get_suite(name)
    assert get_board(alias) is get_board(name)
    assert configure(alias, corpus=("world",), data=("folder",) if name == "mini" else None).suite == name
    assert get_metric(f"{alias}/{metric}") is get_metric(f"{name}/{metric}")
    assert f"{alias}/{metric}" not in metrics()


def test_rows_of_before_get_the_current_names_of_metrics(tmp_path: Path) -> None:
    row = Row("s", "kv_retrieval", "i", "i@1", "m", 1024, 1.0, metric="100longbench/last_uuid")
    assert to_frame([row])["metric"].to_list() == ["hundred/last_uuid"]
    path = tmp_path / "rows.jsonl"
    path.write_text(json.dumps(asdict(row)))
    assert read_rows(path)["metric"].to_list() == ["hundred/last_uuid"]
    assert to_frame([]).is_empty()
