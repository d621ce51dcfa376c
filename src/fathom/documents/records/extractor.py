"""Extracts text in a second process, so that a hostile or damaged file cannot stop or exhaust this one.

The process is started with the first such file and serves all others. It gets names of files and answers with texts,
both as lines of JSON.
"""

import atexit
import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from threading import Lock, Timer
from typing import IO, Any

from fathom.documents.records.extracting import Extracted, NoTextError, extract
from fathom.documents.records.finding import WORKBOOKS
from fathom.documents.records.streams import DamagedError, read_whole
from fathom.documents.records.workbooks import sheets_of

SECONDS = 120.0  # for one file
MEMORY = 4 << 30  # bytes of the process
TOO_LARGE = "it needs too much memory; convert it to text yourself, or split it"
MISSING = 'it needs other libraries: pip install "fathom-eval[documents]"'


def extract_file(path: Path, suffix: str) -> Extracted:
    """The text of a file.

    Args:
        path: The file, plain or compressed.
        suffix: Its format, one of ``fathom.documents.records.extracting.EXTRACTORS``.

    Raises:
        NoTextError: It has none, cannot be read, takes too long or too much memory.
    """
    return _extracted(_answer(str(path), suffix)) if _is_limited else _extractor().extract(path, suffix)


def read_sheets(path: Path, suffix: str) -> Sequence[tuple[str, Sequence[Sequence[str]]]]:
    """The visible sheets of a workbook, see ``fathom.documents.records.workbooks.sheets_of``.

    Args:
        path: The file, plain or compressed.
        suffix: Its format, one of ``fathom.documents.records.finding.WORKBOOKS``.

    Raises:
        NoTextError: It cannot be read, takes too long or too much memory.
    """
    question = {"path": str(path.absolute()), "suffix": suffix}
    answer = _answer(**question) if _is_limited else _extractor().ask(question)
    if "fault" in answer:
        raise NoTextError(answer["fault"])
    sheets: Sequence[tuple[str, Sequence[Sequence[str]]]] = answer["sheets"]
    return sheets


def _extracted(answer: Mapping[str, Any]) -> Extracted:
    if "fault" in answer:
        raise NoTextError(answer["fault"])
    return Extracted(tuple(answer["pages"]), answer["paged"], answer["remark"])


@cache
def _extractor() -> "Extractor":
    extractor = Extractor()
    atexit.register(extractor.close)
    return extractor


_is_limited = False
"""Whether this is a process with limits itself."""


class Extractor:
    """A process that extracts text, started when it is needed and ended when a file takes too long.

    Args:
        seconds: Time limit for one file.
        memory: Limit of its memory in bytes, where the system has such limits.
        module: What it runs; see ``serve``.
    """

    def __init__(
        self, seconds: float = SECONDS, memory: int = MEMORY, module: str = "fathom.documents.records.extractor"
    ) -> None:
        self._seconds, self._memory, self._module = seconds, memory, module
        self._process: subprocess.Popen[bytes] | None = None
        self._lock = Lock()

    def extract(self, path: Path, suffix: str) -> Extracted:
        """See ``extract_file``."""
        return _extracted(self.ask({"path": str(path.absolute()), "suffix": suffix}))

    def ask(self, question: Mapping[str, str]) -> dict[str, Any]:
        """What the process answers; a ``fault`` if it was ended, or is missing."""
        with self._lock:
            return self._ask(question)

    def close(self) -> None:
        """End the process."""
        if self._process is not None:
            process, self._process = self._process, None
            for stream in (process.stdin, process.stdout):
                with suppress(OSError):
                    stream.close()  # type: ignore[union-attr]
            process.kill()
            process.wait()

    def _ask(self, question: Mapping[str, str]) -> dict[str, Any]:
        process = self._process = self._process or self._start()
        assert process.stdin is not None
        assert process.stdout is not None
        timer = Timer(self._seconds, process.kill)
        timer.start()
        try:
            process.stdin.write(json.dumps(question).encode() + b"\n")
            process.stdin.flush()
            answer: dict[str, Any] = json.loads(process.stdout.readline())
            if answer.get("fault") == TOO_LARGE:  # what it still holds would be missing for the next file
                self.close()
            return answer
        except (OSError, ValueError):  # it was killed, or crashed
            late = not timer.is_alive()
            self.close()
            why = f"takes more than {self._seconds:g} seconds" if late else "makes the reading program crash"
            return {"fault": f"it {why}; convert it to text yourself, or split it"}
        except BaseException:
            self.close()
            raise
        finally:
            timer.cancel()
            timer.join()

    def _start(self) -> "subprocess.Popen[bytes]":
        paths = os.pathsep.join(filter(None, sys.path))
        return subprocess.Popen(
            [sys.executable, "-P", "-m", self._module, str(self._memory)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "PYTHONPATH": paths},
        )


def serve(questions: IO[bytes], answers: IO[bytes], answer: Callable[..., Mapping[str, Any]]) -> None:
    """Answer until there are no more questions."""
    for line in questions:
        answers.write(json.dumps(answer(**json.loads(line))).encode() + b"\n")
        answers.flush()


def _answer(path: str, suffix: str) -> Mapping[str, Any]:
    try:
        data = read_whole(Path(path))
        if suffix in WORKBOOKS:
            return {"sheets": sheets_of(data)}
        extracted = extract(data, suffix)
        return {"pages": extracted.pages, "paged": extracted.paged, "remark": extracted.remark}
    except NoTextError as error:
        return {"fault": str(error)}
    except DamagedError as error:
        return {"fault": f"the file {error}"}
    except ModuleNotFoundError:
        return {"fault": MISSING}
    except MemoryError:
        return {"fault": TOO_LARGE}
    except Exception as error:  # whatever a library raises for a damaged file
        return {"fault": f"damaged: {type(error).__name__}: {error}"[:300]}


def serve_limited(answer: Callable[..., Mapping[str, Any]]) -> None:
    """Answer the questions of an ``Extractor``, in a process whose memory is limited.

    Args:
        answer: Gets a question's values by name; files are extracted in this process.
    """
    global _is_limited
    _is_limited = True
    with suppress(ImportError, ValueError, OSError):  # systems without such limits
        import resource

        most = int(sys.argv[1])
        resource.setrlimit(resource.RLIMIT_AS, (most, most))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    # Only answers go to the pipe, whatever a library prints.
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    serve(sys.stdin.buffer, answers, answer)


if __name__ == "__main__":
    serve_limited(_answer)
