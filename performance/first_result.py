"""The time from a clone to the first result of one's own, for two users, each following one page of the docs.

    python performance/first_result.py documents      # 40 documents and an endpoint
    python performance/first_result.py checkpoints    # two checkpoints and a CI; needs torch and transformers here

Clones the last commit into a new folder, lays beside it what the page takes for granted (documents and questions, or
two tiny checkpoints with random weights), and runs the page's shell commands one after the other. The endpoint is a
server on the loopback, port 8000, that takes a fifth of a second for each reply. The times include the installation,
but not that of PyTorch and Transformers, which whoever has checkpoints has.
"""

from __future__ import annotations

import argparse
import csv
import json
import re
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

ROOT = Path(__file__).parents[1]
BLOCK = re.compile(r"^```sh[^\n]*\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SECONDS_PER_REPLY = 0.2
DOCUMENTS = 40
END = 200
"""Characters at the end of a prompt that hold the question."""
ACTIVATE = ". .venv/bin/activate && "
UNDECIDED = 3
"""Exit code of a gate that cannot tell: all right for checkpoints that know nothing."""
INSTEAD = {"fathom browse": "fathom browse --out replies"}
"""What is run in place of a command that waits for a person."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("user", choices=list(USERS))
    parser.add_argument("--keep", help="a folder to work in, which is kept")
    given = parser.parse_args()
    page, prepare = USERS[given.user]
    with tempfile.TemporaryDirectory(prefix="fathom-first-result-") as scratch:
        clone = Path(given.keep or scratch) / "fathom"
        subprocess.run(["git", "clone", "--quiet", str(ROOT), str(clone)], check=True)
        prepare(clone)
        follow((clone / page).read_text("utf-8"), clone)


# -------------------------------------------------------------------------------------------- following a page


def commands_of(page: str) -> list[str]:
    """The commands of a page's shell blocks, in order."""
    joined = "".join(BLOCK.findall(page)).replace("\\\n", " ")
    return [line.strip() for line in joined.splitlines() if line.strip()]


def follow(page: str, clone: Path) -> None:
    """Run the commands of a page in a clone, and print what each printed and took."""
    activated = ACTIVATE if (clone / ".venv").exists() else ""
    total, first = 0.0, None
    for command in commands_of(page):
        if command.startswith(". "):
            activated = ACTIVATE
            continue
        written = command
        for old, new in INSTEAD.items():
            written = written.replace(old, new)
        begun = time.perf_counter()
        done = subprocess.run(["bash", "-c", activated + written], cwd=clone, capture_output=True, text=True)
        took = time.perf_counter() - begun
        total += took
        if first is None and re.match("fathom (report|gate)", command):
            first = total
        print(f"$ {command}   [{took:.1f} s, exit code {done.returncode}]")
        print(*(f"    {line}" for line in (done.stdout + done.stderr).strip().splitlines()[-30:]), sep="\n", flush=True)
        if done.returncode not in ((0, UNDECIDED) if " gate " in command else (0,)):
            sys.exit(f"this command failed: {written}")
    print(f"first result after {first or total:.0f} s, the whole page after {total:.0f} s")


# ------------------------------------------------------------------------------------- what pages take for granted


class Endpoint(BaseHTTPRequestHandler):
    """A chat server that answers with the line of the prompt that shares most words with its end."""

    def do_GET(self) -> None:
        self._send({"object": "list", "data": [{"id": "my-model", "object": "model", "max_model_len": 32768}]})

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        text = "\n".join(str(one["content"]) for one in body.get("messages", [])) or str(body.get("prompt", ""))
        time.sleep(SECONDS_PER_REPLY)
        lines = [line for line in text[:-END].splitlines() if line.strip()]
        wanted = set(text[-END:].lower().split())
        found = max(lines, key=lambda line: len(wanted & set(line.lower().split())), default="")
        reply = {"role": "assistant", "content": found[:200] or "yes"}
        tokens = {"prompt_tokens": len(text) // 4, "completion_tokens": 20, "total_tokens": len(text) // 4 + 20}
        choice = {"index": 0, "message": reply, "finish_reason": "stop"}
        fixed = {"id": "one", "object": "chat.completion", "created": 0, "model": "my-model"}
        self._send(fixed | {"choices": [choice], "usage": tokens})

    def _send(self, told: object) -> None:
        payload = json.dumps(told).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(payload)))
        self.end_headers()
        self.wfile.write(payload)

    def log_message(self, format: str, *args: object) -> None:
        """Nothing is logged."""


def documents_and_endpoint(clone: Path) -> None:
    sys.path.insert(0, str(ROOT / "tests"))
    from made import make_document
    from made_documents import mixed_folder

    made = [make_document(seed, sentences=150) for seed in range(DOCUMENTS)]
    texts = [(one.title, one.text.split("\n\n")) for one in made]
    names = mixed_folder(clone / "my-documents", texts, [["page", "keeper"], ["1", "the first"], ["2", "the second"]])
    with (clone / "questions.csv").open("w", encoding="utf-8", newline="") as stream:
        table = csv.writer(stream)
        table.writerow(["document", "question", "answer"])
        for name, document in zip(names, made, strict=True):
            table.writerows([name, question.text, question.answers[0]] for question in document.questions)
    server = ThreadingHTTPServer(("127.0.0.1", 8000), Endpoint)
    threading.Thread(target=server.serve_forever, daemon=True).start()


def two_checkpoints(clone: Path) -> None:
    sys.path.insert(0, str(ROOT / "tests" / "run"))
    from tiny_models import make_hugging_face

    for seed, name in enumerate(("old", "new")):
        folder = make_hugging_face(clone / "checkpoints" / name, seed=seed)
        (folder / "chat_template.jinja").write_text("{% for one in messages %}{{ one.content }}\n{% endfor %}", "utf-8")
    subprocess.run([sys.executable, "-m", "venv", ".venv"], cwd=clone, check=True)
    needed = ("torch", "transformers", "accelerate")
    subprocess.run([".venv/bin/python", "-m", "pip", "install", "--quiet", *needed], cwd=clone, check=True)


USERS: dict[str, tuple[str, Callable[[Path], None]]] = {
    "documents": ("docs/tutorials/your-documents.md", documents_and_endpoint),
    "checkpoints": ("docs/tutorials/two-checkpoints.md", two_checkpoints),
}


if __name__ == "__main__":
    main()
