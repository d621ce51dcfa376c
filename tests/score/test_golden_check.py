from __future__ import annotations

from pathlib import Path

import pytest

from fathom import api

# Files of golden vectors, and how many rows each has.
FILES = {
    "edge/longbench_v1": 828,
    "edge/longbench_v2": 48,
    "edge/longbench_pro": 767,
    "edge/leval": 464,
    "edge/ruler": 164,
    "edge/infinitebench": 515,
    "real/infinitebench": 13218,
    "real/longbench_v1": 9180,
    "real/minilongbench": 334,
    "real/leval_exam": 2067,
    "real/leval_ngram": 8508,
}
SUITES = {"longbench_v1", "longbench_v2", "longbench_pro", "minilongbench", "leval", "ruler", "infinitebench"}


@pytest.mark.slow
@pytest.mark.parametrize("name", FILES)
def test_every_row_of_these_suites_has_the_score_of_its_released_scorer(shared: Path, name: str) -> None:
    summary = api.score(shared / "golden" / f"{name}.jsonl.gz", check=True)
    assert summary.rows == FILES[name]
    assert (summary.differing, summary.unchecked, summary.differences, summary.failures) == (0, 0, [], [])
    assert sum(count.equal for count in summary.by_metric.values()) == summary.rows
    assert {metric.split("/")[0] for metric in summary.by_metric} <= SUITES
