"""What the answers of the server are made with."""

from dataclasses import dataclass
from pathlib import Path

from fathom.board.serve.checking import Check
from fathom.board.serve.limits import Limits, Rate, Shares, Turns
from fathom.board.serve.publishing import CURRENT, INCOMING, Publisher
from fathom.board.serve.store import Store


@dataclass(frozen=True)
class Desk:
    """What the answers are made with: one for each server.

    Attributes:
        store: Submissions and tokens.
        publisher: Keeps the site up to date.
        check: Says what is to be said of a bundle.
        limits: What one person may ask.
        rate: Counts what each did.
        under_way: Counts the bundles that each has on the way.
        turns: Lets so many checks be under way, one of each submitter.
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
        """The folder of the site that is served."""
        return self.publisher.out / CURRENT

    @property
    def incoming(self) -> Path:
        """Where bundles lie while they come and are checked."""
        return self.publisher.out / INCOMING
