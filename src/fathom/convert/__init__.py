"""Results in the formats of other programs: Inspect, the Hugging Face Hub, Every Eval Ever, MLflow, Weights & Biases.

:data:`FORMATS` declares the formats. Every figure is one of the report (``fathom.report.results``); nothing is measured
here. No function sends anything to a site: what can be uploaded is written, with the command that uploads it.
"""

from fathom.convert.formats import FORMATS as FORMATS
from fathom.convert.formats import Format as Format
from fathom.convert.formats import Written as Written
from fathom.convert.formats import format_named as format_named
