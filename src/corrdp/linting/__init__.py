"""The claim linter: known mistakes in the description, the laws or the outputs of a mechanism."""

from typing import TYPE_CHECKING

from corrdp._lazy import attach

if TYPE_CHECKING:
    from corrdp.linting.description import Description as Description
    from corrdp.linting.laws import Laws as Laws
    from corrdp.linting.laws import laws_of as laws_of
    from corrdp.linting.reading import load_description as load_description
    from corrdp.linting.reading import read_description as read_description
    from corrdp.linting.registry import Surveyed as Surveyed
    from corrdp.linting.registry import survey as survey
    from corrdp.linting.rules.exact import lint_laws as lint_laws
    from corrdp.linting.rules.sampled import lint_sampler as lint_sampler
    from corrdp.linting.rules.sampled import zero_bound as zero_bound
    from corrdp.linting.rules.support import laplace_tail as laplace_tail
    from corrdp.linting.rules.support import release_threshold as release_threshold
    from corrdp.results import Findings as Findings
else:
    __getattr__, __dir__, __all__ = attach(__name__, __file__)
