"""``corrdp trajectories``: what movement data give away, and releases of them."""

from __future__ import annotations

import typer

from corrdp.cli import moves_inspect, moves_probe, moves_release

trajectories = typer.Typer(no_args_is_help=True, add_completion=False, rich_markup_mode="rich")
trajectories.command("inspect", epilog=moves_inspect.EXAMPLE)(moves_inspect.inspect)
trajectories.command("release", epilog=moves_release.EXAMPLE)(moves_release.release)
trajectories.command("probe", epilog=moves_probe.EXAMPLE)(moves_probe.probe)
