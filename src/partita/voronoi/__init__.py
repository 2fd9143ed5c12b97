"""Voronoi cells of a fit: half-spaces, margins, neighbours and polygons."""

from partita.voronoi.voronoi_cells import Cells, PlaneCells, cells

__all__ = ["Cells", "PlaneCells", "cells"]
