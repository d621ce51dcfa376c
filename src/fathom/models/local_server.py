"""The client of ``local`` models: it starts llama.cpp's server for the first request, and ends it with the last.

The server has one slot: requests wait for each other, each has the whole window, and what it shares with the one before
is not computed again. It ends when this process does, however that ends (``llama_process``).
"""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import subprocess
import sys
import tempfile
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from fathom.models.failures import classify
from fathom.models.local_model import LocalModel, find_model
from fathom.models.overflow import Overflow
from fathom.models.protocol import Call, Chat, Client, Conversing, RequestError, Settings, Turn
from fathom.printing import several
from fathom.types import FathomError, Reply

if TYPE_CHECKING:
    from openai import AsyncOpenAI

_NOWHERE = "http://127.0.0.1:9/v1"
"""The address before the server has one."""
_GRACE = 5.0
"""Seconds until a server that was told to end is ended."""
_LAST_LINES = 3


class LocalServer:
    """A process that serves a model.

    Args:
        model: The model.
        port: Port to listen on; 0 for one that is free.

    Attributes:
        model: The model.
        address: Its address up to ``/v1``; "" before it is started.
        log: The file with what it says. Its name is removed once it answers: nothing stays, however this process ends.
    """

    def __init__(self, model: LocalModel, port: int = 0) -> None:
        self.model, self.address, self.log = model, "", Path()
        self._port = port
        self._process: subprocess.Popen[bytes] | None = None
        self._output: BinaryIO | None = None

    def start(self) -> str:
        """Start it unless it runs, and wait until it answers.

        Raises:
            FathomError: It ended instead.
        """
        if self._process is not None:
            return self.address
        model = self.model
        if self._port:
            _check_port(self._port)
        handle, name = tempfile.mkstemp(prefix="fathom-local-", suffix=".log")
        self.log = Path(name)
        print(
            f"starting llama.cpp with {model.served_as} ({model.context:,} tokens, {several(model.threads, 'thread')})",
            file=sys.stderr,
            flush=True,
        )
        words = map(str, (model.path, model.served_as, self._port, model.context, model.threads))
        # Threads of OpenMP that spin while they wait are many times slower where others use the cores too.
        environment = {"OMP_WAIT_POLICY": "passive", **os.environ}
        command = [sys.executable, "-m", "fathom.models.llama_process", *words]
        self._output = os.fdopen(handle, "w+b")
        # In a session of its own: Ctrl-C is for this process, which finishes what it has begun.
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._output,
            env=environment,
            start_new_session=True,
        )
        stdout = self._process.stdout
        line = stdout.readline().decode().strip() if stdout else ""
        if not line:
            self._process.wait()
            raise FathomError(f"model {model.name}: {self.ended()}")
        with suppress(OSError):  # some systems remove no file that is open
            self.log.unlink()
        self.address = f"{line}/v1"
        return self.address

    def ended(self, wait: float = 0.0) -> str:
        """How it ended, and what to do; "" while it runs.

        Args:
            wait: Seconds to wait for its end.
        """
        if self._process is None or self._output is None:
            return ""
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(wait)
        code = self._process.poll()
        if code is None:
            return ""
        how = f"with status {code}"
        if code < 0:
            short = "; the machine may be short of memory" if -code == signal.SIGKILL else ""
            how = f"by signal {-code}{short}"
        self._output.seek(0)
        last = " / ".join(self._output.read().decode(errors="replace").split("\n")[-_LAST_LINES - 1 :]).strip(" /")
        log = f"its log, {self.log}," if self.log.exists() else "its log"
        return f"its llama.cpp server was ended {how}; {log} ends with: {last or 'nothing'}"

    def wait(self) -> None:
        """Wait until it ends."""
        if self._process is not None:
            self._process.wait()

    def close(self) -> None:
        """End it."""
        process, self._process = self._process, None
        if process is None:
            return
        normal = process.poll() is None
        if process.stdin:
            process.stdin.close()
        try:
            process.wait(_GRACE)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        if process.stdout:
            process.stdout.close()
        if self._output is not None:
            self._output.close()
        if normal:
            self.log.unlink(missing_ok=True)


def _check_port(port: int) -> None:
    """Refuse a port that cannot be listened on; llama.cpp does not say why it cannot."""
    with socket.socket() as trial:
        trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            trial.bind(("127.0.0.1", port))
        except (OSError, OverflowError) as error:
            raise FathomError(f"`port` {port}: {error}; give another, or 0 for one that is free") from None


class LocalServerClient:
    """Asks a model that fathom serves.

    Attributes:
        context: Tokens that the model holds, prompt and reply together.
        backend: The client of its server.
    """

    window: int | None = None
    policy: Overflow = "refuse"

    def __init__(self, server: LocalServer, backend: Client, http: AsyncOpenAI) -> None:
        self._server, self.backend, self._http = server, backend, http
        self.context = server.model.context
        self._starting = asyncio.Lock()

    async def complete(self, prompt: str, call: Call) -> Reply:
        """Send one request and read the reply.

        Raises:
            RequestError: The server failed.
            FathomError: It ended.
        """
        await self._start()
        try:
            return await self.backend.complete(prompt, call)
        except Exception as error:
            await self._explain(error)
            raise

    async def converse(self, chat: Chat, call: Call) -> Turn:
        """Continue a conversation; see ``complete``."""
        await self._start()
        assert isinstance(self.backend, Conversing)
        try:
            return await self.backend.converse(chat, call)
        except Exception as error:
            await self._explain(error)
            raise

    async def close(self) -> None:
        """Close the connections, and end the server."""
        await self.backend.close()
        await asyncio.to_thread(self._server.close)

    async def _start(self) -> None:
        async with self._starting:
            self._http.base_url = await asyncio.to_thread(self._server.start)

    async def _explain(self, error: Exception) -> None:
        failure = error.failure if isinstance(error, RequestError) else classify(error)
        gone = await asyncio.to_thread(self._server.ended, 2.0) if failure.kind in ("silent", "busy") else ""
        if gone:
            raise FathomError(
                f"model {self._server.model.name}: {gone}. All replies so far are kept; the same command starts it "
                "again and resumes"
            ) from None


def served_settings(settings: Settings) -> tuple[LocalServer, Settings]:
    """The server of a model, not started, and how it is asked there.

    Raises:
        FathomError: It cannot be served on this machine, or an option does not apply; see ``find_model``.
    """
    if settings.base_url is not None:
        raise FathomError(
            f"model {settings.model}: fathom starts its server; leave out `model_base_url`, or name the model on yours "
            "as openai/NAME"
        )
    model = find_model(settings.model, settings.model_args)
    # A provider whose servers need no key: one in the environment is for others.
    name = f"llama-cpp-python/{model.served_as}"
    return LocalServer(model), replace(settings, model=name, base_url=_NOWHERE, model_args={})
