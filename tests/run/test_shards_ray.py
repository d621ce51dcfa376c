"""Shards on a Ray cluster, and in an object store: only where the extras `ray` and `cloud` and moto are installed.

pip install 'fathom-eval[test,ray,cloud]' 'moto[server]' && pytest -n 0 tests/run/test_shards_ray.py
"""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from run_suites import make_suite
from scripted_server import ScriptedServer, completion

from engine_calls import run, run_on_ray, run_shard
from fathom import api
from fathom.run.shards.cutting import Shard, shards
from fathom.run.shards.files import state_of
from fathom.run.shards.merging import merge
from fathom.run.shards.store import open_store
from fathom.runfile.judgements import judgements
from fathom.types import FathomError
from judged_runs import GOOD, make_run, sample

sys.path.insert(0, str(Path(__file__).parents[2] / "performance"))

from shards import Killed, after, cluster, command, disturbed, objects, on_ray, replied

MODEL = "fathom/lexical"

# Ray and moto leave sockets and files to the end of the process.
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]


def needs(*modules: str) -> None:
    for name in modules:
        pytest.importorskip(name, reason=f"needs {name}: the extras ray and cloud of fathom-eval, and moto[server]")


@pytest.fixture(scope="module")
def nodes() -> Iterator[Any]:
    needs("ray")
    with cluster() as made:
        yield made


@pytest.fixture(scope="module")
def address(nodes: Any) -> str:
    return str(nodes.address)


@pytest.fixture(scope="module")
def bucket() -> Iterator[str]:
    needs("obstore", "moto")
    with objects() as made:
        yield made


def test_tasks_of_ray_make_the_run_of_one_process(tmp_path: Path, address: str) -> None:
    suite, out = make_suite(tmp_path, 20), tmp_path / "parts"
    run(suite, MODEL, out=tmp_path / "plain")
    run_shard(suite, MODEL, out=out, shard=Shard(2, 4))
    done = run_on_ray(suite, MODEL, out=out, shards=4, address=address)
    assert done.progress is not None
    assert (done.progress.finished, done.progress.asked) == (20, 15)
    again = run_on_ray(suite, MODEL, out=out, shards=None, address=address)  # as many as there are
    assert again.progress is not None
    assert (again.progress.finished, again.progress.asked) == (20, 0)
    merge(out, tmp_path / "run")
    assert replied(tmp_path / "run") == replied(tmp_path / "plain")


def test_shards_that_fail_are_named_and_the_others_are_kept(tmp_path: Path, address: str) -> None:
    suite, out = make_suite(tmp_path, 4), tmp_path / "parts"
    run_shard(suite, MODEL, out=out, shard=Shard(1, 2))
    path = out / "shard-2-of-2" / "p-000001.parquet"
    path.parent.mkdir()
    path.write_bytes(b"damaged")
    with pytest.raises(FathomError, match=r"1 of 2 shards failed, the first one \(2/2\) with: .*damaged"):
        run_on_ray(suite, MODEL, out=out, shards=2, address=address)


def test_models_of_this_process_are_refused(tmp_path: Path) -> None:
    with pytest.raises(FathomError, match="tasks have no GPU"):
        run_on_ray(make_suite(tmp_path, 2), "hf/model", out=tmp_path / "parts", shards=2, address=None)


def test_builds_scores_and_validations_on_ray_are_those_of_one_process(tmp_path: Path, address: str) -> None:
    needs("scipy", "sklearn")
    there: dict[str, Any] = {"engine": "ray", "address": address}
    for place, more in (("here", dict[str, Any]()), ("there", there)):
        folder = tmp_path / place
        api.build("passkey,kv_retrieval", folder / "suite", lengths="512,1k", items=2, tokenizer="words", **more)
        rows = tmp_path / "rows.jsonl"
        rows.write_text("".join(f'{{"prediction": "it is {n}", "answers": ["{n % 7}"]}}\n' for n in range(1200)))
        api.score(rows, folder / "scores.jsonl", metric="hundred/qa_f1", **more)
        api.compress_validate(
            made_scores(tmp_path), budgets="8", methods="random", splits=2, out=folder / "v.csv", **more
        )
    found = [
        {path.relative_to(tmp_path / place).as_posix(): path.read_bytes() for path in (tmp_path / place).rglob("*.*")}
        for place in ("here", "there")
    ]
    assert len(found[0]) == 5
    assert without_seconds(found[0].pop("v.csv")) == without_seconds(found[1].pop("v.csv"))
    assert found[0] == found[1]


def test_judgements_on_ray_are_those_of_one_process(tmp_path: Path, address: str) -> None:
    replies = [(sample(number, "single_doc_qa"), f"It is {number}.") for number in range(3)]
    with ScriptedServer(lambda number, before: completion(GOOD)) as server:
        found = []
        for place, more in (("here", dict[str, Any]()), ("there", {"engine": "ray", "address": address})):
            runs = [make_run(tmp_path / f"{place}-{name}", replies) for name in ("one", "two")]
            done = api.judge(runs, "openai/scripted", model_base_url=server.base_url, **more)
            assert [(one.judged, one.unreadable, one.missing) for one in done] == [(3, 0, 0)] * 2
            found.append([judgements(run, "openai/scripted") for run in runs])
        assert found[0] == found[1]
        assert server.prompts.total() == 12


def without_seconds(table: bytes) -> list[list[str]]:
    return [line.split(",")[:-1] for line in table.decode().splitlines()]


def made_scores(place: Path) -> Path:
    """Scores of six models on 24 items."""
    path = place / "matrix.csv"
    lines = [",".join(("item", "task", *(f"m{model}" for model in range(6))))]
    lines += [
        ",".join((f"i{item}", f"t{item % 2}", *(str((item * 7 + model * 5) % 11 / 10) for model in range(6))))
        for item in range(24)
    ]
    path.write_text("\n".join(lines) + "\n")
    return path


def test_killed_workers_nodes_and_drivers_lose_nothing(tmp_path: Path, nodes: Any) -> None:
    suite, out = make_suite(tmp_path, 120), tmp_path / "parts"
    killed = Killed([10.0, 40.0, 70.0, 90.0])
    with ScriptedServer(after(0.1)) as server:
        words = command(suite, str(out), server, *on_ray(nodes.address))
        assert disturbed(words, server, nodes, killed, random.Random(6))
    assert (killed.workers, killed.nodes, killed.drivers) == (1, 1, 2)
    assert killed.asked <= 120 + killed.in_flight
    merge(out, tmp_path / "run")
    assert {row[3] for row in replied(tmp_path / "run")} == {f"answer {number}" for number in range(120)}


def test_files_of_an_object_store_are_created_once(bucket: str) -> None:
    made = open_store(f"{bucket}/once")
    assert made.names() == []
    assert made.read("a") is None
    created = [made.create("a", data) for data in (b"1", b"2")]
    assert created == [True, False]
    made.write("s/b", b"3")
    made.write("s.b", b"4")
    assert made.read("a") == b"1"
    assert made.names() == ["a", "s.b", "s/b"]
    assert made.names("s") == ["s/b"]
    made.remove("s/b")
    made.remove("s/b")
    assert made.names() == ["a", "s.b"]


def test_shards_in_an_object_store_merge_into_the_run_of_one_process(tmp_path: Path, bucket: str) -> None:
    suite, out = make_suite(tmp_path, 12), f"{bucket}/parts"
    run(suite, MODEL, out=tmp_path / "plain")
    for shard in shards(3):
        done = api.run(suite, MODEL, out, shard=f"{shard.number}/{shard.of}")
        assert str(done) == f"{out}/{shard.name}: 4 of 4 replies (4 ok)"
    assert len(state_of(open_store(out), 3).finished) == 3
    api.merge(out, out=tmp_path / "run")
    assert replied(tmp_path / "run") == replied(tmp_path / "plain")


@pytest.mark.parametrize("place", ["s3://no-such-bucket/x", "az://x/y"])
def test_stores_that_cannot_be_used_say_so(tmp_path: Path, bucket: str, place: str) -> None:
    with pytest.raises(FathomError, match=r"^(s3|az)://") as said:
        run_shard(make_suite(tmp_path, 2), MODEL, out=place, shard=Shard(1, 1))
    assert "Debug source" not in str(said.value)
