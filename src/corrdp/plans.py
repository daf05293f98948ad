"""Plans of releases in parts: domains, what each release reads, units, proofs, conversions."""

from typing import TYPE_CHECKING

from corrdp._lazy import attach

if TYPE_CHECKING:
    from corrdp.accounting.checker.check import check_proof as check_proof
    from corrdp.accounting.interop import from_dp_accounting as from_dp_accounting
    from corrdp.accounting.maps import Cliques as Cliques
    from corrdp.accounting.maps import Columns as Columns
    from corrdp.accounting.maps import Degree as Degree
    from corrdp.accounting.maps import GroupBy as GroupBy
    from corrdp.accounting.maps import Identity as Identity
    from corrdp.accounting.maps import ReadsCount as ReadsCount
    from corrdp.accounting.maps import ReadsRecords as ReadsRecords
    from corrdp.accounting.maps import ReadsSum as ReadsSum
    from corrdp.accounting.maps import ReadsTable as ReadsTable
    from corrdp.accounting.maps import Select as Select
    from corrdp.accounting.plan import Claim as Claim
    from corrdp.accounting.plan import load_plan as load_plan
    from corrdp.accounting.plan import plan_from_dict as plan_from_dict
    from corrdp.accounting.published import ReleasesTotal as ReleasesTotal
    from corrdp.accounting.published import load_releases as load_releases
    from corrdp.accounting.published import read_release as read_release
    from corrdp.accounting.published import total_releases as total_releases
    from corrdp.accounting.step import DistanceTable as DistanceTable
    from corrdp.metric.conversion import conversion_factor as conversion_factor
    from corrdp.metric.domains import ExplicitDomain as ExplicitDomain
    from corrdp.metric.domains import GraphDomain as GraphDomain
    from corrdp.metric.domains import MultisetDomain as MultisetDomain
    from corrdp.metric.domains import StreamDomain as StreamDomain
    from corrdp.metric.domains import TupleDomain as TupleDomain
    from corrdp.metric.domains import UserDomain as UserDomain
    from corrdp.metric.granularities import Bounded as Bounded
    from corrdp.metric.granularities import Edge as Edge
    from corrdp.metric.granularities import FreeLunch as FreeLunch
    from corrdp.metric.granularities import Local as Local
    from corrdp.metric.granularities import Relation as Relation
    from corrdp.metric.granularities import Unbounded as Unbounded
else:
    __getattr__, __dir__, __all__ = attach(__name__, __file__)
