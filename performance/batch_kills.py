"""Runs and judges in batches, killed with SIGKILL at random points: what is lost, and what is paid.

The provider answers as the client libraries' types say, and fails, expires, loses, doubles and reorders results, breaks
off responses, and makes batches whose response is an error (``tests/run/batch_server.py``). Every run is resumed until
it is done (``tests/run/killed_batches.py``). Needs the extra ``batch``.

    python performance/batch_kills.py                     # 100 runs with each provider, and 100 with a judge
    python performance/batch_kills.py --provider google --runs 10 --first 90
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "run"))

from batch_server import AnthropicServer, BatchServer, GoogleServer, JudgeServer, OpenAIServer
from killed_batches import Nursery, Outcome, killed_judge, killed_run

KINDS: dict[str, type[BatchServer]] = {
    "openai": OpenAIServer,
    "anthropic": AnthropicServer,
    "google": GoogleServer,
    "judge": JudgeServer,
}
PRICES = "".join(f'["{name}/m"]\ninput = 2.0\noutput = 10.0\nbatch = 0.5\n' for name in KINDS)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=100, help="runs with each provider")
    parser.add_argument("--samples", type=int, default=12, help="samples of each run")
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--provider", choices=list(KINDS), action="append", help="only this one; can be repeated")
    asked = parser.parse_args()
    for kind in (KINDS[name] for name in asked.provider or KINDS):
        started, found = time.monotonic(), list[Outcome]()
        with tempfile.TemporaryDirectory() as folder:
            place = Path(folder)
            (place / "prices.toml").write_text(PRICES, "utf-8")
            with Nursery(place / "prices.toml", settle=3.0) as nursery:
                nursery.warm_up(place, kind)
                for seed in range(asked.first, asked.first + asked.runs):
                    (place / str(seed)).mkdir()
                    if kind is JudgeServer:
                        found.append(killed_judge(place / str(seed), nursery, seed, asked.samples))
                    else:
                        found.append(killed_run(place / str(seed), nursery, kind, seed, asked.samples))
                    if len(found) % 10 == 0 or len(found) == asked.runs:
                        show(kind, found, asked.samples, time.monotonic() - started)


def show(kind: type[BatchServer], found: Sequence[Outcome], samples: int, seconds: float) -> None:
    wrong = sum(abs(one.owed - one.counted) > 1e-9 for one in found)
    print(
        f"{kind.__name__}: {len(found)} runs of {samples} samples, {sum(one.kills for one in found)} kills, "
        f"{sum(one.batches for one in found)} batches: {sum(one.lost for one in found)} samples lost, "
        f"{sum(one.twice for one in found)} paid twice, {wrong} totals wrong ({seconds:.0f} s)",
        flush=True,
    )


if __name__ == "__main__":
    main()
