"""Known limits of K-means, checked on a fit."""

from partita.diagnosis.diagnose import diagnose
from partita.diagnosis.finding import Diagnosis, Finding

__all__ = ["Diagnosis", "Finding", "diagnose"]
