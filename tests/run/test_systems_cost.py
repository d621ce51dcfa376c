"""What a run with a system costs: each request by its own length, and nothing for what was not sent."""

from __future__ import annotations

from pathlib import Path

import pytest
from agent_server import AgentServer, Asked
from scripted_server import Act, completion

from engine_calls import run
from fathom import api
from fathom.run import session
from fathom.run.preflight import Preflight
from fathom.run.systems import SplitPrompt
from fathom.run.systems.notes import Compaction, MapReduce
from fathom.runfile.store import peek, replies
from fathom.types import FathomError

# Inspect calls tenacity in a way that tenacity's newest release deprecates.
pytestmark = pytest.mark.filterwarnings("ignore:The 'initial' parameter is deprecated:DeprecationWarning")

PRICES = '["openai/tiered"]\ninput = 1\noutput = 2\nabove = 150\ninput_above = 1000\noutput_above = 1000\n'


@pytest.fixture(scope="module")
def suite(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("costs") / "suite"
    api.build("passkey", folder, lengths="1k", items=2, seed=3)
    return folder


@pytest.fixture(autouse=True)
def prices(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = tmp_path / "prices.toml"
    table.write_text(PRICES, "utf-8")
    monkeypatch.setenv("FATHOM_PRICES", str(table))


def short(asked: Asked) -> Act:
    return completion("some notes", tokens_in=100, tokens_out=5)


@pytest.mark.slow
def test_the_price_of_long_prompts_is_not_that_of_many_short_ones(suite: Path, tmp_path: Path) -> None:
    with AgentServer(short) as server:
        run(
            suite,
            "openai/tiered",
            out=tmp_path / "run",
            model_base_url=server.base_url,
            system="map-reduce?chunk=256&notes=64",
        )
        asked = len(server.asked)
    made = list(replies(tmp_path / "run"))
    assert asked > 4 * len(made)
    assert sum(one.reply.tokens_in or 0 for one in made) == 100 * asked
    with peek(tmp_path / "run") as store:
        assert store.totals().cost == pytest.approx(asked * (100 * 1 + 5 * 2) / 1_000_000)


@pytest.mark.slow
def test_a_failure_after_other_requests_leaves_their_price(suite: Path, tmp_path: Path) -> None:
    def second_fails(asked: Asked) -> Act:
        return Act(status=400, body={"error": {"message": "odd"}}) if len(server.asked) == 2 else short(asked)

    with AgentServer(second_fails) as server, pytest.raises(FathomError, match="the only sample failed"):
        run(
            suite, "openai/tiered", out=tmp_path / "run", model_base_url=server.base_url, limit=1, retries=0,
            system="map-reduce?chunk=256&notes=64", max_cost=10, tasks=["passkey"],
        )  # fmt: skip
    (one,) = replies(tmp_path / "run")
    assert one.reply.status == "error"
    assert one.reply.tokens_in == 100
    assert one.cost == pytest.approx(110 / 1_000_000)


@pytest.mark.parametrize("system", ["retrieval", "map-reduce", "compaction", "agent"])
def test_what_is_not_sent_costs_nothing(suite: Path, tmp_path: Path, system: str) -> None:
    with AgentServer(short) as server:
        run(
            suite, "openai/tiered", out=tmp_path / "run", model_base_url=server.base_url, system=system, window=100,
            max_output_tokens=50,
        )  # fmt: skip
        assert not server.asked
    assert {one.reply.status for one in replies(tmp_path / "run")} == {"overflow"}
    with peek(tmp_path / "run") as store:
        totals = store.totals()
    assert (totals.tokens_in, totals.tokens_out, totals.cost, totals.unpriced) == (0, 0, 0.0, 0)


@pytest.mark.parametrize("system", [MapReduce(8192, 256), Compaction(8192, 256)])
def test_a_text_that_may_be_cut_although_it_fits_is_forecast_in_parts(system: MapReduce | Compaction) -> None:
    # Parts are counted by sentences: 8,144 tokens of a whole prompt were 2 parts of 8,192.
    assert system.most(8144, 16, None).requests >= 3
    assert system.most(4096, 16, None).requests == 1


@pytest.mark.slow
def test_the_forecast_takes_the_price_of_long_prompts_only_where_one_is_long(suite: Path, tmp_path: Path) -> None:
    seen: list[Preflight] = []

    def refuse(plan: Preflight) -> bool:
        seen.append(plan)
        return False

    def forecast(system: str, above: int) -> Preflight:
        (tmp_path / "prices.toml").write_text(PRICES.replace("above = 150", f"above = {above}"), "utf-8")
        run(
            suite, "openai/tiered", out=tmp_path / "run", model_base_url="http://127.0.0.1:1/v1", system=system,
            confirm=refuse,
        )  # fmt: skip
        return seen.pop()

    for system in ("map-reduce?chunk=256&notes=64", "compaction?chunk=256&notes=64", "agent?steps=2&read=128"):
        plan = forecast(system, 8_000)
        assert plan.cost_most == pytest.approx((plan.tokens_in + 2 * plan.tokens_out) / 1_000_000)
        assert plan.tokens_in > 2 * 1_000
        assert (forecast(system, 700).cost_most or 0) > 0.5 * plan.tokens_in / 1_000


@pytest.mark.parametrize(("policy", "status"), [("refuse", "overflow"), ("middle", "ok")])
def test_a_prompt_without_a_text_is_handled_as_any_other_where_it_is_too_long(
    suite: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, policy: str, status: str
) -> None:
    monkeypatch.setattr(session, "split_prompt", lambda sample, texts: SplitPrompt("", (), "all of it"))
    with AgentServer(short) as server:
        run(
            suite, "openai/tiered", out=tmp_path / "run", model_base_url=server.base_url, system="retrieval",
            window=500, on_overflow=policy, max_output_tokens=50,
        )  # fmt: skip
    for one in replies(tmp_path / "run"):
        assert one.reply.status == status
        assert (one.reply.truncated == one.tokens - 450) == (policy == "middle")
