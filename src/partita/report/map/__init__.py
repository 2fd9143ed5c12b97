"""The map of a report: rows, centers and cells in a plane, packed for the browser or drawn."""
