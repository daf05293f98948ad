"""Families and their genomes: laws of the founders, linkage, and what SNP counts leak."""

from typing import TYPE_CHECKING

from corrdp._lazy import attach

if TYPE_CHECKING:
    from corrdp.models.pedigrees.linkage import read_linkage as read_linkage
    from corrdp.models.pedigrees.mendel import HardyWeinberg as HardyWeinberg
    from corrdp.report.snps import snp_report as snp_report
else:
    __getattr__, __dir__, __all__ = attach(__name__, __file__)
