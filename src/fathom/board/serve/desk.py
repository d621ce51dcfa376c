"""Shared state of the server's request handlers."""

from dataclasses import dataclass
from pathlib import Path

from fathom.board.serve.checking import Check
from fathom.board.serve.limits import Limits
from fathom.board.serve.publishing import CURRENT, INCOMING, Publisher
from fathom.board.serve.store import Store
from fathom.server.limits import Rate, Shares, Turns


@dataclass(frozen=True)
class Desk:
    """Shared state of the request handlers of one server.

    Attributes:
        store: Submissions and tokens.
        publisher: Keeps the site up to date.
        check: Checks a bundle.
        limits: Limits for each person and address.
        rate: Counts submissions of each person.
        under_way: Counts unfinished submissions of each person.
        turns: Limits concurrent checks, in all and to one per person.
    """

    store: Store
    publisher: Publisher
    check: Check
    limits: Limits
    rate: Rate
    under_way: Shares
    turns: Turns

    @property
    def site(self) -> Path:
        """The folder of the served site."""
        return self.publisher.out / CURRENT

    @property
    def incoming(self) -> Path:
        """The folder of bundles while they are received and checked."""
        return self.publisher.out / INCOMING
