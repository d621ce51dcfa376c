"""What sixteen charts of a page cost: processor time with and without imports, and bytes.

    python performance/charts.py

Each chart has four models at eight lengths, with intervals and the chance level, as a report of four models on sixteen
tasks draws them. To compare with another commit, run the script with PYTHONPATH set to its ``src``.
"""

import gzip
import time
from statistics import median

CHARTS, MODELS, LENGTHS, TIMES = 16, 4, 8, 5


def main() -> None:
    from fathom.analysis import CurvePoint
    from fathom.report.curves import curve_chart
    from fathom.report.drawing import Size
    from fathom.report.figure import inline
    from fathom.report.results import System
    from fathom.stats.intervals import Interval

    imported = time.process_time()
    systems = [System(f"lab/model-{number}", "") for number in range(MODELS)]
    tasks = []
    for task in range(CHARTS):
        points = []
        for number, system in enumerate(systems):
            for place in range(LENGTHS):
                mean = max(0.0, 0.97 - 0.013 * task - 0.02 * place * (number + 1))
                interval = Interval(max(0.0, mean - 0.06), min(1.0, mean + 0.05))
                points.append(
                    CurvePoint(
                        model=system.model,
                        variant=system.variant,
                        task=f"task-{task}",
                        length=1024 * 2**place,
                        mean=mean,
                        interval=interval,
                        items=50,
                        scored=50,
                        chance=0.1,
                    )
                )
        tasks.append(points)

    def drawn() -> list[str]:
        return [inline(curve_chart(points, systems, Size(250, 150)), "Score against length") for points in tasks]

    start = time.process_time()
    charts = drawn()
    first = time.process_time() - start
    again = []
    for _ in range(TIMES):
        start = time.process_time()
        drawn()
        again.append(time.process_time() - start)
    each = sum(len(chart.encode()) for chart in charts) / len(charts)
    packed = sum(len(gzip.compress(chart.encode())) for chart in charts) / len(charts)
    print(f"imports                {imported:8.3f} s")
    print(f"{CHARTS} charts, first time {1000 * first:8.1f} ms")
    print(f"{CHARTS} charts, again      {1000 * median(again):8.1f} ms")
    print(f"one chart              {each / 1000:8.1f} kB ({packed / 1000:.1f} kB compressed)")


if __name__ == "__main__":
    main()
