"""Is a known window measured at its window? Text solvers read prompts of the suite ``world`` whose middle is cut out.

python performance/world_windows.py SUITE [--windows 8k 16k 32k]

SUITE is a folder that `fathom build world` wrote. A reader with a window sees of each longer prompt its first and last
half of so many tokens of the suite's tokenizer, as servers that truncate do. It answers with the solver of the task,
from this text and the question alone; summaries, whose solvers give facts and no text, are left out. For each window:
mean scores by length, tasks with a mean above 80% at the length after the window, and the effective length under each
definition.
"""

import argparse
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from statistics import mean

from fathom.analysis import effective_length
from fathom.benchmarks.pro.tasks import GAP
from fathom.benchmarks.world.tasks import MARK, OF
from fathom.models.overflow import fit
from fathom.rows import to_frame
from fathom.suites.registry import get_task
from fathom.suites.suitefile import BuiltSuite, open_suite
from fathom.tokens.length import format_length, parse_length, render
from fathom.tokens.tokenizers import get_tokenizer
from fathom.types import Row
from world_dials import solved

CODES = {"world_" + code.lower().replace(".", "_"): code for code in OF if not code.startswith("T4")}
HIGH = 0.8


def rows(suite: BuiltSuite, window: int) -> Iterator[Row]:
    """The scores of a reader with a window."""
    texts, tokenizer = suite.texts(), get_tokenizer()
    for sample in suite.samples():
        if sample.task in CODES and sample.whole:
            fitted, code = fit(render(sample, texts), window, "middle", tokenizer), CODES[sample.task]
            assert fitted is not None
            seen = fitted.prompt.rpartition(GAP)[0]
            answer = solved(OF[code], [seen], sample.asked, code, sample.language)  # type: ignore[arg-type]
            reply = "\n".join([MARK[sample.language], *answer])
            value = get_task(sample.task).score(reply, sample).value
            yield Row(
                "world", sample.task, sample.item, sample.id, format_length(window), sample.length, value,
                language=sample.language, chance=sample.chance,
            )  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("suite", type=Path)
    parser.add_argument("--windows", nargs="+", default=["8k", "16k", "32k"])
    chosen = parser.parse_args()
    suite = open_suite(chosen.suite)
    for window in map(parse_length, chosen.windows):
        scored, scores = list(rows(suite, window)), defaultdict[tuple[int, str], list[float]](list)
        for row in scored:
            assert row.value is not None, row.detail
            scores[row.length, row.task].append(row.value)
        lengths = sorted({length for length, _ in scores})
        means = {length: mean(mean(values) for (at, _), values in scores.items() if at == length) for length in lengths}
        figures = ", ".join(f"{format_length(length)} {100 * value:.1f}" for length, value in means.items())
        after = next((length for length in lengths if length > window), None)
        high = [task for (length, task), values in scores.items() if length == after and mean(values) > HIGH]
        print(f"window {format_length(window)}: {figures}; above {HIGH:.0%} after it: {', '.join(high) or 'none'}")
        for each in effective_length(to_frame(scored)):
            if each.task == "all" and each.interval and each.tokens is not None:
                print(f"  {each.definition}: {each.tokens:,.0f} [{each.interval.low:,.0f}, {each.interval.high:,.0f}] "
                      f"{each.censored}", flush=True)  # fmt: skip


if __name__ == "__main__":
    main()
