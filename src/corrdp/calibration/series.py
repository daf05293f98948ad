"""Calibrating a whole series: the response of the chosen chain, made noisier where need be."""

from __future__ import annotations
