"""An OpenAI server on the loopback that looks up codes: right, wrong, wordy, silent, cut off or refused by number.

Each prompt has a question ``[item N]``. The reply follows from N alone, so each program must come to the same scores.
"""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

MODEL = "made/seven-b"


def reply_to(prompt: str) -> tuple[str, str]:
    """The text and the stop reason for a prompt."""
    asked = re.findall(r"\[item (\d+)\]", prompt)
    number = int(asked[-1]) if asked else 0
    right = next(iter(re.findall(rf"code of harbour {number} is (\d+)", prompt)), "0")
    replies = {
        0: (right, "stop"),
        1: (right, "stop"),
        2: (str(int(right) + 1), "stop"),
        3: (f"The code is {right}.", "stop"),
        4: ("", "stop"),
        5: (f"Let me look through the list of harbours for {number}", "length"),
    }
    return replies[number % 6]


class _Handler(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers.get("Content-Length") or 0)))
        chat = self.path.endswith("/chat/completions")
        prompt: Any = asked["messages"] if chat else asked["prompt"]
        if chat:
            parts = [one["content"] for one in prompt]
            prompt = "\n".join(
                part if isinstance(part, str) else "".join(piece.get("text", "") for piece in part) for part in parts
            )
        prompts = prompt if isinstance(prompt, list) else [prompt]
        choices = [self._choice(at, one, chat) for at, one in enumerate(prompts)]
        size_in = sum(len(one.split()) for one in prompts)
        size_out = sum(len(reply_to(one)[0].split()) for one in prompts)
        usage = {"prompt_tokens": size_in, "completion_tokens": size_out, "total_tokens": size_in + size_out}
        kind = "chat.completion" if chat else "text_completion"
        self._send({"id": "made", "object": kind, "created": 0, "model": MODEL, "choices": choices, "usage": usage})

    def do_GET(self) -> None:
        self._send({"object": "list", "data": [{"id": MODEL, "object": "model"}]})

    def _choice(self, at: int, prompt: str, chat: bool) -> dict[str, Any]:
        text, stop = reply_to(prompt)
        said = {"message": {"role": "assistant", "content": text}} if chat else {"text": text, "logprobs": None}
        return {"index": at, "finish_reason": stop, **said}

    def _send(self, answer: object) -> None:
        body = json.dumps(answer).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Nothing is printed."""


@contextmanager
def serving() -> Iterator[str]:
    """Serve while the block runs; gives the address ending in ``/v1``."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/v1"
    finally:
        server.shutdown()
        server.server_close()
