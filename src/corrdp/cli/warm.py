"""``corrdp warm``: compile every kernel now, so that no later command waits for it."""

from __future__ import annotations

from collections.abc import Callable

from corrdp._compiled import place_for_compiled_code
from corrdp.errors import InputError

EXAMPLE = "Example: corrdp warm"


def warm() -> None:
    """Compile everything now, so that no later command waits for it.

    Takes about a minute, once for an installation: compiled code is kept beside the package or in
    your home directory, or where NUMBA_CACHE_DIR says.
    """
    from rich.progress import track

    if not place_for_compiled_code():
        raise InputError(
            "neither the package nor the home directory can be written, so that compiled code "
            "lasts for one command; name a directory of your own in NUMBA_CACHE_DIR"
        )
    for exercise in track(EXERCISES, description="compiling"):
        exercise()
    print("everything is compiled")


def _chains() -> None:
    import numpy as np

    from corrdp.bounds.leakage import leakage
    from corrdp.guarantees import GDP, Pure
    from corrdp.models.chains.markov import MarkovChain
    from corrdp.queries import Count

    pair = MarkovChain([[0.9, 0.1], [0.2, 0.8]], length=60)
    leakage(pair, 1.0)
    leakage(pair, GDP(0.1), delta=1e-6)
    leakage(pair, Pure(2000.0), method="contraction")
    leakage(pair, 1.0, query=Count(1), method="exact")
    # a row with a zero: jumps over records gain something
    leakage(MarkovChain([[0.5, 0.5], [1.0, 0.0]], length=60), np.full(60, 0.1))


def _many_states() -> None:
    from corrdp.bounds.leakage import leakage
    from corrdp.models.chains.markov import MarkovChain
    from corrdp.models.chains.window import WindowChain

    three = [[0.6, 0.3, 0.1], [0.2, 0.5, 0.3], [0.1, 0.2, 0.7]]
    leakage(MarkovChain(three, length=3), 1.0)
    leakage(WindowChain([[0.9, 0.1], [0.3, 0.7], [0.6, 0.4], [0.2, 0.8]], order=2), 0.1)
    leakage(WindowChain([row for row in three for _ in range(3)], order=2), 0.1)


def _many_series() -> None:
    import numpy as np

    from corrdp.bounds.leakage import leakage
    from corrdp.models.chains.joint import JointChain

    pair = JointChain(np.full((4, 4), 0.05) + 0.8 * np.eye(4), "ab", length=3)
    leakage(pair, 0.1, adversary="none")
    leakage(pair.with_length(None), 0.1)


def _clocks() -> None:
    from corrdp.bounds.leakage import leakage
    from corrdp.models.chains.seasonal import SeasonalChain

    day, night = [[0.8, 0.2], [0.3, 0.7]], [[0.98, 0.02], [0.5, 0.5]]
    leakage(SeasonalChain([day, night], [0, 0, 1]), 0.25)


def _networks() -> None:
    import numpy as np

    from corrdp.bounds.leakage import leakage
    from corrdp.bounds.trees import tree_transfer
    from corrdp.guarantees import GDP, Pure
    from corrdp.models.networks.field import MarkovField, gibbs
    from corrdp.models.networks.tree import MarkovTree

    tree = MarkovTree([-1, 0, 0], [[0.8, 0.2], [0.3, 0.7]], root_law=[0.4, 0.6])
    tree_transfer(tree, Pure(1.0), record=0, known={})
    ring = MarkovField.ising([(0, 1), (1, 2), (2, 3), (3, 0)], 0.5)
    leakage(ring, 1.0)
    leakage(ring, GDP(0.1), delta=1e-6)
    gibbs(ring, np.random.default_rng(1), 2)


def _relatives() -> None:
    from corrdp.bounds.leakage import leakage
    from corrdp.models.pedigrees.mendel import HardyWeinberg
    from corrdp.models.pedigrees.pedigree import Pedigree

    trio = Pedigree([(1, 0, 0), (2, 0, 0), (3, 1, 2)], HardyWeinberg(0.5))
    leakage(trio, 1.0, method="transfer")


def _real_records() -> None:
    import numpy as np
    from scipy.sparse import csr_array

    from corrdp._numerals import numerals
    from corrdp.bounds.gaussian.comparison import coefficient_costs
    from corrdp.models.gaussian.factor import factorise
    from corrdp.models.gaussian.records import GaussianRecords

    covariance = np.array([[4.0, 1.0, 1.2], [1.0, 4.0, 0.8], [1.2, 0.8, 4.0]])
    (shape,) = GaussianRecords(covariance).shapes
    coefficient_costs(shape, np.ones((1, 3)))
    _ = factorise(csr_array(covariance)).inverse_diagonal
    b"".join(numerals(covariance))


def _series() -> None:
    import numpy as np

    from corrdp.attacks.filtering import follow
    from corrdp.attacks.forward_backward import ForwardBackward, Viterbi
    from corrdp.bounds.chains.correlated import correlated_leakage
    from corrdp.bounds.chains.outputs import output_leakage
    from corrdp.bounds.chains.withholding import withholding_leakage
    from corrdp.mechanisms.estimating import estimate_count
    from corrdp.mechanisms.response import BinaryResponse
    from corrdp.mechanisms.withholding import WithholdingResponse
    from corrdp.models.chains.markov import MarkovChain

    chain, response = MarkovChain([[0.9, 0.1], [0.2, 0.8]]), BinaryResponse(0.25)
    reports = [0, 1, 1, 0]
    output_leakage(chain, response, reports)
    estimate_count(response, reports).interval(0.95)
    for attack in (ForwardBackward, Viterbi):
        attack(response).run(reports, chain)
    for length in (None, 30):
        correlated_leakage(chain, 0.2, 0.6, length)
    withholding_leakage(chain, WithholdingResponse(0.3, 0.5, 20))
    follow(np.array([[0.0], [1.0], [0.5]]), np.arange(3.0), noise=2.0)


def _books() -> None:
    from corrdp.metric.losses import total_law

    total_law((0.5,), ((2.0, 1),))


EXERCISES: tuple[Callable[[], None], ...] = (
    _chains,
    _many_states,
    _many_series,
    _clocks,
    _networks,
    _relatives,
    _real_records,
    _series,
    _books,
)
