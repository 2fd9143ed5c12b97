"""Voronoi cells of a fit: half-spaces, margins, neighbours and pictures."""

from partita.voronoi.voronoi_cells import Cells, PlaneCells, cells

__all__ = ["Cells", "PlaneCells", "cells"]
