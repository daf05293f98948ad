"""What every verb returns: a number that carries its proof, its witness and its alternatives.

``float(result)`` is the number, ``repr`` one readable block, ``to_dict`` plain JSON (with inf
written as ``"inf"``), ``from_dict`` its inverse.
"""

from corrdp.results.adequacy import Adequacy as Adequacy
from corrdp.results.adequacy import Priced as Priced
from corrdp.results.calibrated import Calibration as Calibration
from corrdp.results.laws import RecordLaw as RecordLaw
from corrdp.results.leaks import Leakage as Leakage
from corrdp.results.proofs import Candidate as Candidate
from corrdp.results.proofs import Certificate as Certificate
from corrdp.results.proofs import Kind as Kind
from corrdp.results.proofs import Metric as Metric
from corrdp.results.proofs import Witness as Witness
from corrdp.results.released import Release as Release
from corrdp.results.series import Sanitized as Sanitized
from corrdp.results.series import SeriesCalibration as SeriesCalibration
