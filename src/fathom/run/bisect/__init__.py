"""``fathom bisect``: two servers asked the same prompts, whether they differ, and the name of what differs."""

from fathom.run.bisect.compare import Comparing, bisect, forecast
from fathom.run.bisect.outcomes import Bisection

__all__ = ["Bisection", "Comparing", "bisect", "forecast"]
