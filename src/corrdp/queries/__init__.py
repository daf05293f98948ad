"""The questions corrdp answers: counts, sums, means, histograms, quantiles, tables, whole series.

A query knows what one changed record can do to its answer. Answers live on a public grid (whole
numbers for counts, a power of two for sums), so that noise is drawn exactly on integers.
"""

from corrdp.queries.base import MISSING_TEXT as MISSING_TEXT
from corrdp.queries.base import Missing as Missing
from corrdp.queries.base import Query as Query
from corrdp.queries.base import is_missing as is_missing
from corrdp.queries.keys import Key as Key
from corrdp.queries.kinds import Count as Count
from corrdp.queries.kinds import Histogram as Histogram
from corrdp.queries.kinds import Mean as Mean
from corrdp.queries.kinds import Series as Series
from corrdp.queries.kinds import Sum as Sum
from corrdp.queries.several import Quantile as Quantile
from corrdp.queries.several import Several as Several
from corrdp.queries.several import query_from_dict as query_from_dict
from corrdp.queries.several import resolve as resolve
