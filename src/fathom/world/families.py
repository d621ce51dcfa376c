"""The families of tasks that the world has."""

from typing import Any

from fathom.world.inventory import INVENTORY
from fathom.world.types import Family

FAMILIES: tuple[Family[Any], ...] = (INVENTORY,)
