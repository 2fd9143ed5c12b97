"""Which of the known limits of K-means a fit has met."""

from partita.diagnosis.diagnose import diagnose
from partita.diagnosis.finding import Diagnosis, Finding

__all__ = ["Diagnosis", "Finding", "diagnose"]
