"""The families of tasks that the world has."""

from typing import Any

from fathom.world.annals.family import ANNALS
from fathom.world.ledger import LEDGER
from fathom.world.types import Family

FAMILIES: tuple[Family[Any], ...] = (ANNALS, LEDGER)
