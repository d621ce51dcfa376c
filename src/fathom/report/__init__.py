"""Rows as one self-contained HTML page, as tables in a terminal, and as figures.

Names of the package are imported when they are asked for: most commands draw nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fathom.report.made import Report, report
    from fathom.report.setup_charts import setup_figures
    from fathom.report.setups import ComparedSetups
    from fathom.report.table import Cell, Column, Table
    from fathom.report.terminal import show

__all__ = ["Cell", "Column", "ComparedSetups", "Report", "Table", "report", "setup_figures", "show"]
_MODULES = {"Report": "made", "report": "made", "setup_figures": "setup_charts", "ComparedSetups": "setups"}
_MODULES |= {"Cell": "table", "Column": "table", "Table": "table", "show": "terminal"}


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
