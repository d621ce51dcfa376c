"""Run suites against models, keep every reply, and resume after interruptions."""

from fathom.run.cases.pending import JudgePlan, JudgeProgress
from fathom.run.judge import JudgeCallbacks, JudgeSummary, Second, check_judge, judge, judge_second
from fathom.run.likelihood import likelihood
from fathom.run.preflight import Forecast, Preflight
from fathom.run.runner import Callbacks, run, run_folder
from fathom.runfile.manifest import read_manifest
from fathom.runfile.progress import Progress, RunStatus, RunSummary, status
from fathom.runfile.settings import JudgeSettings, LikelihoodSettings, RunSettings
from fathom.runfile.store import StoredReply, replies

__all__ = [
    "Callbacks",
    "Forecast",
    "JudgeCallbacks",
    "JudgePlan",
    "JudgeProgress",
    "JudgeSettings",
    "JudgeSummary",
    "LikelihoodSettings",
    "Preflight",
    "Progress",
    "RunSettings",
    "RunStatus",
    "RunSummary",
    "Second",
    "StoredReply",
    "check_judge",
    "judge",
    "judge_second",
    "likelihood",
    "read_manifest",
    "replies",
    "run",
    "run_folder",
    "status",
]
