"""The public face: one function for every command, with the same name and arguments.

Heavy libraries are imported by the functions that need them, so that importing this package costs nothing.
"""

from fathom.commands.analyze import NAMES as _NAMES
from fathom.commands.analyze import analyze as analyze
from fathom.commands.analyze import analyze_adjacent as analyze_adjacent
from fathom.commands.analyze import analyze_agreement as analyze_agreement
from fathom.commands.analyze import analyze_answers as analyze_answers
from fathom.commands.analyze import analyze_breakdown as analyze_breakdown
from fathom.commands.analyze import analyze_categories as analyze_categories
from fathom.commands.analyze import analyze_closed_book as analyze_closed_book
from fathom.commands.analyze import analyze_compare as analyze_compare
from fathom.commands.analyze import analyze_counts as analyze_counts
from fathom.commands.analyze import analyze_curve as analyze_curve
from fathom.commands.analyze import analyze_difficulty as analyze_difficulty
from fathom.commands.analyze import analyze_judge as analyze_judge
from fathom.commands.analyze import analyze_length as analyze_length
from fathom.commands.analyze import analyze_longscore as analyze_longscore
from fathom.commands.analyze import analyze_position as analyze_position
from fathom.commands.analyze import analyze_repeats as analyze_repeats
from fathom.commands.analyze import analyze_retention as analyze_retention
from fathom.commands.analyze import analyze_thinking as analyze_thinking
from fathom.commands.analyze import analyze_truncation as analyze_truncation
from fathom.commands.analyze.shared import filtered as filtered
from fathom.commands.analyze.shared import score_tables as score_tables
from fathom.commands.board.backup import board_backup as board_backup
from fathom.commands.board.build import board_build as board_build
from fathom.commands.board.bundle import board_bundle as board_bundle
from fathom.commands.board.check import board_check as board_check
from fathom.commands.board.diff import board_diff as board_diff
from fathom.commands.board.restore import board_restore as board_restore
from fathom.commands.board.serve import board_serve as board_serve
from fathom.commands.board.token import board_token as board_token
from fathom.commands.board.token import board_tokens as board_tokens
from fathom.commands.browse import browse as browse
from fathom.commands.build import build as build
from fathom.commands.check_gold import check_gold as check_gold
from fathom.commands.compress.adaptive import compress_adaptive as compress_adaptive
from fathom.commands.compress.embed import compress_embed as compress_embed
from fathom.commands.compress.estimate import compress_estimate as compress_estimate
from fathom.commands.compress.select import SELECTIONS as SELECTIONS
from fathom.commands.compress.select import compress_select as compress_select
from fathom.commands.compress.study import COMPRESSION_STUDIES as COMPRESSION_STUDIES
from fathom.commands.compress.study import compress_study as compress_study
from fathom.commands.compress.validate import compress_validate as compress_validate
from fathom.commands.convert import convert as convert
from fathom.commands.data.fetch import data_fetch as data_fetch
from fathom.commands.data.verify import data_verify as data_verify
from fathom.commands.doctor import doctor as doctor
from fathom.commands.draft import draft as draft
from fathom.commands.export import export as export
from fathom.commands.forecast import forecast as forecast
from fathom.commands.gate import gate as gate
from fathom.commands.judge import check_judge as check_judge
from fathom.commands.judge import judge as judge
from fathom.commands.lab.compare import lab_compare as lab_compare
from fathom.commands.lab.flags import lab_flags as lab_flags
from fathom.commands.lab.frequencies import lab_frequencies as lab_frequencies
from fathom.commands.lab.methods import lab_methods as lab_methods
from fathom.commands.lab.positions import lab_positions as lab_positions
from fathom.commands.lab.published import lab_published as lab_published
from fathom.commands.likelihood import likelihood as likelihood
from fathom.commands.list_ import catalogue as catalogue
from fathom.commands.measure import measure as measure
from fathom.commands.merge import merge as merge
from fathom.commands.plot import plot as plot
from fathom.commands.report import report as report
from fathom.commands.rows import ORIGINS as ORIGINS
from fathom.commands.rows import rows as rows
from fathom.commands.run import run as run
from fathom.commands.score import score as score
from fathom.commands.serve_local import serve_local as serve_local
from fathom.commands.shared import THRESHOLD as THRESHOLD
from fathom.commands.show import show as show
from fathom.commands.status import status as status
from fathom.commands.studio.add_documents import studio_add_documents as studio_add_documents
from fathom.commands.studio.audit import studio_audit as studio_audit
from fathom.commands.studio.backup import studio_backup as studio_backup
from fathom.commands.studio.critique import studio_critique as studio_critique
from fathom.commands.studio.difficulty import studio_difficulty as studio_difficulty
from fathom.commands.studio.draft import studio_draft as studio_draft
from fathom.commands.studio.export import studio_export as studio_export
from fathom.commands.studio.import_ import studio_import as studio_import
from fathom.commands.studio.init import studio_init as studio_init
from fathom.commands.studio.predict import studio_predict as studio_predict
from fathom.commands.studio.restore import studio_restore as studio_restore
from fathom.commands.studio.serve import studio_serve as studio_serve
from fathom.commands.studio.stats import studio_stats as studio_stats
from fathom.commands.studio.tasks import studio_tasks as studio_tasks
from fathom.commands.studio.users import studio_user as studio_user
from fathom.commands.studio.users import studio_users as studio_users
from fathom.plugins.loading import use as _use

STUDIES, use_plugin = _NAMES, _use
# Former names.
analyze_known, analyze_neighbours, analyze_steady = analyze_closed_book, analyze_adjacent, analyze_retention
