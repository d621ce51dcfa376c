"""Rows to one self-contained HTML page, to tables in the terminal, and to figures."""

from fathom.report.page import report
from fathom.report.plot import plot
from fathom.report.table import Cell, Column, Table
from fathom.report.tables import tables
from fathom.report.terminal import show

__all__ = ["Cell", "Column", "Table", "plot", "report", "show", "tables"]
