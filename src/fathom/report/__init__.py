"""Rows as one self-contained HTML page, as tables in a terminal, and as figures."""

from fathom.report.made import Report, report
from fathom.report.plot import plot
from fathom.report.setup_charts import setup_figures
from fathom.report.setups import ComparedSetups
from fathom.report.table import Cell, Column, Table
from fathom.report.tables import tables
from fathom.report.terminal import show

__all__ = ["Cell", "Column", "ComparedSetups", "Report", "Table", "plot", "report", "setup_figures", "show", "tables"]
