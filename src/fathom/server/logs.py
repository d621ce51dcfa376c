"""Logs of servers on standard error: lines of text for people, or one JSON object a line for programs."""

import json
import logging
import time
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any, Literal, TypeAlias, get_args

from fathom.server.tokens import without_tokens

LogFormat: TypeAlias = Literal["text", "json"]
FORMATS: tuple[LogFormat, ...] = get_args(LogFormat)
REQUEST: ContextVar[str] = ContextVar("fathom_request", default="")
"""Id of the request that is being handled; "" outside of requests."""


class TextLines(logging.Formatter):
    """A line of text for each record, and the traceback of an exception."""

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(message)s", "%Y-%m-%dT%H:%M:%S")

    def format(self, record: logging.LogRecord) -> str:
        """The record as text, in which tokens are hidden."""
        return without_tokens(super().format(record))


class JsonLines(logging.Formatter):
    """One JSON object a line: ``time`` in UTC, ``level``, ``logger``, ``message``, and further fields of the record.

    A record's further fields are given by ``extra={"fields": {...}}``. Within a request ``request_id`` is one of them,
    and ``traceback`` is that of an exception.
    """

    def format(self, record: logging.LogRecord) -> str:
        """The record as JSON in ASCII, in which tokens are hidden."""
        moment = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
        fields: dict[str, Any] = {
            "time": f"{moment}.{int(record.msecs):03d}Z",
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        if request := REQUEST.get():
            fields["request_id"] = request
        fields |= getattr(record, "fields", {})
        if record.exc_info:
            fields["traceback"] = self.formatException(record.exc_info)
        return without_tokens(json.dumps(fields))


def set_up(logger: str, log_format: LogFormat = "text") -> None:
    """Sends the logs of a server to standard error.

    Args:
        log_format: ``text`` or ``json``.
    """
    handler = logging.StreamHandler()
    handler.setFormatter(JsonLines() if log_format == "json" else TextLines())
    for name, level in ((logger, logging.INFO), ("fathom.server", logging.INFO), ("uvicorn.error", logging.WARNING)):
        log = logging.getLogger(name)
        log.handlers, log.propagate = [handler], False
        log.setLevel(level)


def announced(logger: str, log_format: LogFormat, tell: Callable[[str], None]) -> Callable[[str], None]:
    """How a server announces its address: as a log line if logs are JSON, so that programs can read every line.

    Args:
        tell: Says it to people.
    """
    return logging.getLogger(logger).info if log_format == "json" else tell
