"""Movements as they are read: points, trajectories, cells, streams."""
