"""``fathom lab compare`` from end to end without a GPU, weights or a network: methods, caches and systems on one suite.

    python performance/lab_comparison.py FOLDER [--items 20]

Two models read the same items. One is a Llama whose weights are written by hand, with a window of 256 tokens, so that
its scores follow from a rule (tests/extend/handwritten_reader.py). The other is the offline baseline ``fathom/lexical``
with a window of 512. Items are chains of words at 64 to 2,048 tokens, nested over lengths. Values of SelfExtend are
chosen on other items. A second call resumes.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "extend"))
from handwritten_reader import save_reader
from made_chains import make_chain_suite

from fathom import api

LENGTHS = (64, 128, 256, 512, 1024, 2048)
BASELINE = "fathom/lexical?window=512&truncate=middle"
POSITIONS = (
    *("pi", "ntk", "dynamic", "yarn", "abf", "llama3", "rerope?window=128", "leaky?window=128&group=16"),
    *("selfextend?window=128&group=16|32", "dca?chunk=192&local=32", "streaming?sinks=4&window=252"),
)
CACHES = tuple(
    f"yarn+{cache}"
    for cache in ("snapkv?budget=128", "pyramid?budget=128", "h2o?budget=128&recent=64", "random?budget=128", "fp8")
)
SYSTEMS = (
    *("retrieval?top=1&passage=32", "retrieval?top=4&passage=32"),
    *("map-reduce?chunk=256&notes=32", "compaction?chunk=256&notes=64"),
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--items", type=int, default=20)
    given = parser.parse_args()
    folder: Path = given.folder
    folder.mkdir(parents=True, exist_ok=True)
    if not (folder / "reader").exists():
        save_reader(folder / "reader")
    for name, seed in (("suite", 0), ("tuning", 1)):
        if not (folder / name).exists():
            make_chain_suite(folder / name, folder / "chain.py", LENGTHS, given.items, seed)
    api.use_plugin(folder / "chain.py")
    methods = (*POSITIONS, *CACHES, *SYSTEMS[:2])
    for model, setups in ((f"hf/{folder / 'reader'}", methods), (BASELINE, SYSTEMS)):
        (found,) = api.lab_compare(
            folder / "suite",
            model,
            setups,
            out=folder / model.split("/")[0],
            tuning=folder / "tuning",
            chat_template="never",
            model_args={"device": "cpu"} if model.startswith("hf/") else {},
            repeats=3,
            tell=lambda words, state: None if state else print(words, file=sys.stderr),
        )
        for one in found.results:
            means = " ".join(f"{point.mean or 0:.2f}" for point in one.points)
            print(f"{one.setup.name:36} {means}  {one.verdict}")
        print(found.folder / "report.html")


if __name__ == "__main__":
    main()
