"""``fathom doctor``: checks a model and its server, or the installation."""

from fathom.run.checks import Check, Diagnosis, Plan, State
from fathom.run.doctor.examine import examine
from fathom.run.doctor.installation import check_installation

__all__ = ["Check", "Diagnosis", "Plan", "State", "check_installation", "examine"]
