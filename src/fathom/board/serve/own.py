"""Whether a submission has the same replies as the site's own results.

python -m fathom.board.serve.own OUT RESULT...    # writes the prints of the replies of these results
"""

import json
import sys
import tempfile
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from fathom.board.likeness import Prints, expected_alike, likeness
from fathom.board.serve.process import run_process
from fathom.plugins.names import system_name
from fathom.types import FathomError

SECONDS = 3600.0
"""Time for reading the results."""


class OwnResults:
    """The replies of these results. They are read once, at the first submission.

    Args:
        results: Run folders, rows files, bundles, and folders of runs and bundles.
        stopping: Ends the reading early when it is set.
    """

    def __init__(self, results: Sequence[Path], stopping: threading.Event) -> None:
        self._results, self._stopping = list(results), stopping
        self._lock = threading.Lock()
        self._read: list[tuple[str, str, Prints]] | None = None if results else []

    def copied(self, model: str, prints: Prints) -> Iterator[str]:
        """What a submission has in common with each result with the same replies.

        Raises:
            FathomError: The results cannot be read.
        """
        with self._lock:
            if self._read is None:
                self._read = self._prints()
        for name, variant, own in self._read:
            if expected_alike((model, name)):
                continue
            if (compared := likeness(prints, own)).alike:
                yield (
                    f"the replies are those of {system_name(name, variant)}, one of the site's own results: {compared}"
                )

    def _prints(self) -> list[tuple[str, str, Prints]]:
        """Reads in a separate process, because scoring runs takes much memory."""
        with tempfile.TemporaryDirectory() as place:
            out = Path(place) / "prints.npz"
            end = run_process(
                [sys.executable, "-m", __name__, str(out), *map(str, self._results)], SECONDS, self._stopping
            )
            if end.code != 0:
                raise FathomError(f"the results on this server cannot be compared: {end.err.strip()[-2000:]}")
            with np.load(out) as stored:
                names = json.loads(str(stored["names"]))
                return [(model, variant, stored[f"arr_{at}"]) for at, (model, variant) in enumerate(names)]


def main(out: Path, results: Sequence[Path]) -> int:
    """Writes the prints of results, and returns the exit status."""
    from fathom.board.results import read_results

    try:
        results_read = [own for batch in read_results(results) for own in batch.prints().items()]
    except FathomError as error:
        print(error, file=sys.stderr)
        return 2
    names = json.dumps([name for name, _ in results_read])
    np.savez(out, *(own for _, own in results_read), names=np.array(names))
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), [Path(path) for path in sys.argv[2:]]))
