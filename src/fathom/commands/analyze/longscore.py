"""Change from base ability (2k, 4k, 6k) at each length, as in 100-LongBench."""

from typing import TYPE_CHECKING

from fathom.commands.analyze.shared import ScoresStudy, on_line, profiles_of, study

if TYPE_CHECKING:
    from fathom.analysis import LongScore


@study(ScoresStudy)
def analyze_longscore(options: ScoresStudy) -> "list[LongScore]":
    """Change from base ability (2k, 4k, 6k) at each length, as in 100-LongBench."""
    from fathom.analysis import longscore_of

    return longscore_of(profiles_of(options))


main = on_line(analyze_longscore)
