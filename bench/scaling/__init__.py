"""A cost model of distributed fits: constants, prediction, simulation."""
