"""Layout of charts: what they show and where, without drawing.

`plots/` draws these records with matplotlib, `report/` as SVG and on a canvas.
"""
