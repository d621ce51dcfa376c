"""The tables of docs/explanation/longscore.md hold what the program says of the scores on that page."""

from __future__ import annotations

import math
import re
from pathlib import Path

from fathom.analysis import LongScore, Steady, longscore_of, read_scores, score_profiles, steady_of
from fathom.tokens.length import format_length

PAGE = Path(__file__).parents[2] / "docs" / "explanation" / "longscore.md"


def measured(folder: Path) -> list[tuple[LongScore, Steady]]:
    (text,) = re.findall(r"^```csv file=passage_count.csv\n(.*?)^```$", PAGE.read_text("utf-8"), re.M | re.S)
    (folder / "passage_count.csv").write_text(text, "utf-8")
    ready = [one for one in score_profiles(read_scores(folder / "passage_count.csv")) if one.task != "all"]
    return list(zip(longscore_of(ready), steady_of(ready), strict=True))


def tables(found: list[tuple[LongScore, Steady]]) -> list[list[str]]:
    """The lines of both tables: raw scores and LongScore, then the measures beside it."""
    raw, beside = [], []
    for ratio, steady in sorted(found, key=lambda pair: -(pair[0].average or 0)):
        assert ratio.base is not None
        assert ratio.average is not None
        assert ratio.average_interval is not None
        assert steady.l50 is not None
        low, high = ratio.average_interval.low, ratio.average_interval.high
        scores = [100 * ratio.base * (1 + (point.value or 0)) for point in ratio.points]
        raw.append(
            f"| {ratio.model} | {100 * ratio.base:.1f} | "
            + " | ".join(f"{score:.0f}" for score in scores)
            + f" | {100 * ratio.average:+.0f} [{100 * low:+.0f}, {100 * high:+.0f}] |"
        )
        cells = []
        for one, sign in ((steady.retention, ""), (steady.log_ratio, "+"), (steady.area, "")):
            assert one is not None
            cells.append(f"{one.value:{sign}.2f} [{one.interval.low:{sign}.2f}, {one.interval.high:{sign}.2f}]")
        bounds = steady.l50.interval
        ends = [format_length(end) if math.isfinite(end) else "∞" for end in (bounds.low, bounds.high)]
        reached = f"{(steady.l50.tokens or 0) / 1024:.0f}k [{', '.join(ends)}]"
        beside.append(f"| {ratio.model} | {' | '.join(cells)} | {reached} |")
    return [raw, beside]


def test_the_tables_are_those_of_the_program(tmp_path: Path) -> None:
    page = PAGE.read_text("utf-8")
    for lines in tables(measured(tmp_path)):
        assert "\n".join(lines) in page


def test_the_model_that_ranks_first_has_the_lowest_scores(tmp_path: Path) -> None:
    found = measured(tmp_path)
    first = max(found, key=lambda pair: pair[0].average or 0)
    assert first[0].model == "llama-3.2-1B"
    assert first[0].base == min(ratio.base or 0 for ratio, _ in found)
    for place in range(5):
        assert max(found, key=lambda pair: pair[0].points[place].value or 0)[0].model == "llama-3.2-1B"
    areas = sorted(steady.area.value for _, steady in found if steady.area is not None)
    assert first[1].area is not None
    assert areas.index(first[1].area.value) <= 1
