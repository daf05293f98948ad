"""Bounds for trees and networks; the engine is :mod:`corrdp.bounds.contraction`."""
