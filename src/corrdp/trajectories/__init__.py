"""Movement data: points of users in time, and what a privacy unit means on them."""

from typing import TYPE_CHECKING

from corrdp._lazy import attach

if TYPE_CHECKING:
    from corrdp.trajectories.data.cells import Grid as Grid
    from corrdp.trajectories.data.cells import discretise as discretise
    from corrdp.trajectories.data.points import Trajectories as Trajectories
    from corrdp.trajectories.data.points import read_trajectories as read_trajectories
    from corrdp.trajectories.data.reachability import Moves as Moves
    from corrdp.trajectories.mechanisms.elements import ElementCounts as ElementCounts
    from corrdp.trajectories.mechanisms.local import LocalNgrams as LocalNgrams
    from corrdp.trajectories.mechanisms.noisytree import must_walk as must_walk
    from corrdp.trajectories.mechanisms.planar import PlanarCells as PlanarCells
    from corrdp.trajectories.mechanisms.prefix import NgramTree as NgramTree
    from corrdp.trajectories.mechanisms.prefix import PrefixTree as PrefixTree
    from corrdp.trajectories.mechanisms.prefix import nodes as nodes
    from corrdp.trajectories.mechanisms.sampling import BernoulliSample as BernoulliSample
    from corrdp.trajectories.mechanisms.sampling import synthesize as synthesize
    from corrdp.trajectories.probes.probe import probe as probe
    from corrdp.trajectories.probes.results import Probes as Probes
    from corrdp.trajectories.units.inspect import inspect_movements as inspect_movements
    from corrdp.trajectories.units.visits import by_time_step as by_time_step
else:
    __getattr__, __dir__, __all__ = attach(__name__, __file__)
