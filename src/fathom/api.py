"""The public face: one function for every command, with the same name and arguments.

Heavy libraries are imported by the functions that need them, so that importing this package costs nothing.
"""

from fathom.commands.analyze import NAMES as STUDIES
from fathom.commands.analyze import analyze
from fathom.commands.analyze.adjacent import adjacent as analyze_adjacent
from fathom.commands.analyze.agreement import agreement as analyze_agreement
from fathom.commands.analyze.answers import answers as analyze_answers
from fathom.commands.analyze.breakdown import breakdown as analyze_breakdown
from fathom.commands.analyze.categories import categories as analyze_categories
from fathom.commands.analyze.closed_book import closed_book as analyze_closed_book
from fathom.commands.analyze.compare import compare as analyze_compare
from fathom.commands.analyze.counts import counts as analyze_counts
from fathom.commands.analyze.curve import curve as analyze_curve
from fathom.commands.analyze.difficulty import difficulty as analyze_difficulty
from fathom.commands.analyze.judge import judge as analyze_judge
from fathom.commands.analyze.length import length as analyze_length
from fathom.commands.analyze.longscore import longscore as analyze_longscore
from fathom.commands.analyze.position import position as analyze_position
from fathom.commands.analyze.repeats import repeats as analyze_repeats
from fathom.commands.analyze.retention import retention as analyze_retention
from fathom.commands.analyze.shared import filtered, score_tables
from fathom.commands.analyze.thinking import thinking as analyze_thinking
from fathom.commands.analyze.truncation import truncation as analyze_truncation
from fathom.commands.board.backup import backup as board_backup
from fathom.commands.board.build import build as board_build
from fathom.commands.board.bundle import bundle as board_bundle
from fathom.commands.board.check import check as board_check
from fathom.commands.board.diff import diff as board_diff
from fathom.commands.board.restore import restore as board_restore
from fathom.commands.board.serve import serve as board_serve
from fathom.commands.board.token import token as board_token
from fathom.commands.board.token import tokens as board_tokens
from fathom.commands.build import build
from fathom.commands.compress.adaptive import adaptive as compress_adaptive
from fathom.commands.compress.embed import embed as compress_embed
from fathom.commands.compress.estimate import estimate as compress_estimate
from fathom.commands.compress.select import SELECTIONS
from fathom.commands.compress.select import select as compress_select
from fathom.commands.compress.study import COMPRESSION_STUDIES
from fathom.commands.compress.study import study as compress_study
from fathom.commands.compress.validate import validate as compress_validate
from fathom.commands.data.fetch import fetch as data_fetch
from fathom.commands.data.verify import verify as data_verify
from fathom.commands.export import export
from fathom.commands.judge import check_judge, judge
from fathom.commands.likelihood import likelihood
from fathom.commands.list_ import catalogue
from fathom.commands.plot import plot
from fathom.commands.report import report
from fathom.commands.rows import ORIGINS, rows
from fathom.commands.run import run
from fathom.commands.score import score
from fathom.commands.shared import THRESHOLD
from fathom.commands.show import show
from fathom.commands.status import status
from fathom.plugins import use as use_plugin

# Former names.
analyze_known, analyze_neighbours, analyze_steady = analyze_closed_book, analyze_adjacent, analyze_retention

__all__ = [
    "COMPRESSION_STUDIES",
    "ORIGINS",
    "SELECTIONS",
    "STUDIES",
    "THRESHOLD",
    "analyze",
    "analyze_adjacent",
    "analyze_agreement",
    "analyze_answers",
    "analyze_breakdown",
    "analyze_categories",
    "analyze_closed_book",
    "analyze_compare",
    "analyze_counts",
    "analyze_curve",
    "analyze_difficulty",
    "analyze_judge",
    "analyze_known",
    "analyze_length",
    "analyze_longscore",
    "analyze_neighbours",
    "analyze_position",
    "analyze_repeats",
    "analyze_retention",
    "analyze_steady",
    "analyze_thinking",
    "analyze_truncation",
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
