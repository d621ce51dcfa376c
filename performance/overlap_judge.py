"""A judge that only counts words, as a server on the loopback: it runs the whole path of judging without a model.

It reads the quoted texts of a request and answers in the asked form: a sentence or key point counts where most of its
longer words stand in the text that it is held against. One reply in a hundred is no judgement at all, as real judges
have it too.

    python performance/overlap_judge.py --port 8899
    fathom judge runs/lexical --judge openai/overlap --judge-base-url http://127.0.0.1:8899/v1
"""

from __future__ import annotations

import argparse
import json
import re
import zlib
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

QUOTED = re.compile(
    r"<<(?P<name>[^<>]+) (?P<label>[0-9a-f]{10})>>\n(?P<text>.*?)\n<<end of (?P=name) (?P=label)>>", re.S
)
WORD = re.compile(r"\w{4,}|\d+")


def words(text: str) -> set[str]:
    """The longer words and the numbers of a text."""
    return {word.lower() for word in WORD.findall(text)}


def held(claim: str, text: str) -> float:
    """Share of the words of a claim that stand in a text."""
    wanted = words(claim)
    return len(wanted & words(text)) / len(wanted) if wanted else 0.0


def judge(prompt: str) -> str:
    """The reply to one request of ``fathom.score.judge``."""
    if zlib.crc32(prompt.encode()) % 100 == 0:
        return "I would rather not say."
    quoted = {match["name"]: match["text"] for match in QUOTED.finditer(prompt)}
    known = " ".join(text for name, text in quoted.items() if name.startswith("reference"))
    if "reply" in quoted:
        answers = [text for name, text in quoted.items() if name.startswith("accepted answer")]
        share = max(held(answer, quoted["reply"]) if words(answer) else answer in quoted["reply"] for answer in answers)
        marks: dict[str, object] = {"fluency": 2, "correctness": round(3 * share)}
    elif "sentences" in quoted:
        marks = {"supported": _kept(quoted["sentences"], known)}
    elif "key points" in quoted:
        marks = {"covered": _kept(quoted["key points"], quoted["summary"])}
    elif "reference" in quoted:
        marks = {
            "key_points": [line.strip() for line in re.split(r"(?<=[.!?])\s+", known) if words(line)][:20] or ["-"]
        }
    else:
        marks = {"fluency": 1}
    return f"Counted words.\n{json.dumps(marks)}"


def _kept(numbered: str, text: str) -> list[int]:
    lines = re.findall(r"^(\d+)\. (.*)$", numbered, re.M)
    return [int(number) for number, line in lines if held(line, text) > 0.5]


class Handler(BaseHTTPRequestHandler):
    """Chat completions, one reply each."""

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        """Answer one request."""
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        text = judge(request["messages"][-1]["content"])
        choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
        usage = {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}
        reply = {"id": "0", "object": "chat.completion", "created": 0, "model": request["model"], "choices": [choice]}
        body = json.dumps({**reply, "usage": usage}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args: object) -> None:
        """Say nothing."""


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--port", type=int, default=8899)
    with ThreadingHTTPServer(("127.0.0.1", parser.parse_args().port), Handler) as server:
        server.serve_forever()
