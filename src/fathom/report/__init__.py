"""Rows as one self-contained HTML page, as tables in a terminal, and as figures."""

from fathom.report.made import Report, report
from fathom.report.plot import plot
from fathom.report.table import Cell, Column, Table
from fathom.report.tables import tables
from fathom.report.terminal import show

__all__ = ["Cell", "Column", "Report", "Table", "plot", "report", "show", "tables"]
