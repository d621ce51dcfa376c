"""The families of tasks that the world has."""

from typing import Any

from fathom.world.annals.family import ANNALS
from fathom.world.charter import CHARTER
from fathom.world.code import CODE
from fathom.world.dialogue import DIALOGUE
from fathom.world.inventory import INVENTORY
from fathom.world.ledger import LEDGER
from fathom.world.rules import RULES
from fathom.world.types import Family

FAMILIES: tuple[Family[Any], ...] = (ANNALS, LEDGER, INVENTORY, CODE, CHARTER, RULES, DIALOGUE)
