"""The public face: one function for every command, with the same name and arguments.

Heavy libraries are imported by the functions that need them, so that importing this package costs nothing.
"""

from fathom.api.adaptive import compress_adaptive
from fathom.api.board import board_build, board_bundle, board_check, board_diff
from fathom.api.board_server import board_backup, board_restore, board_serve, board_token, board_tokens
from fathom.api.compression import SELECTIONS, compress_estimate, compress_select, compress_validate
from fathom.api.compression_studies import COMPRESSION_STUDIES, compress_embed, compress_study
from fathom.api.data import data_fetch, data_verify
from fathom.api.pages import plot
from fathom.api.studies import STUDIES, analyze, score_tables
from fathom.commands.build import build
from fathom.commands.export import export
from fathom.commands.judge import check_judge, judge
from fathom.commands.likelihood import likelihood
from fathom.commands.list_ import catalogue
from fathom.commands.reading import filtered
from fathom.commands.report import report
from fathom.commands.rows import ORIGINS, rows
from fathom.commands.run import run
from fathom.commands.score import score
from fathom.commands.shared import THRESHOLD
from fathom.commands.show import show
from fathom.commands.status import status
from fathom.plugins import use as use_plugin

__all__ = [
    "COMPRESSION_STUDIES",
    "ORIGINS",
    "SELECTIONS",
    "STUDIES",
    "THRESHOLD",
    "analyze",
    "board_backup",
    "board_build",
    "board_bundle",
    "board_check",
    "board_diff",
    "board_restore",
    "board_serve",
    "board_token",
    "board_tokens",
    "build",
    "catalogue",
    "check_judge",
    "compress_adaptive",
    "compress_embed",
    "compress_estimate",
    "compress_select",
    "compress_study",
    "compress_validate",
    "data_fetch",
    "data_verify",
    "export",
    "filtered",
    "judge",
    "likelihood",
    "plot",
    "report",
    "rows",
    "run",
    "score",
    "score_tables",
    "show",
    "status",
    "use_plugin",
]
