"""The bound of a certificate over time, as the corners of a line of steps."""

from __future__ import annotations

from dataclasses import dataclass

from partita.certificates.certificate import Certificate

GAPS_SHOWN = 6.0  # height of a picture, in gaps that are left at the end
MIN_SHARE_SHOWN = 0.05  # height of a picture, as a share of the objective


@dataclass(frozen=True, slots=True)
class BoundSteps:
    """The highest bound at every moment, below the objective of the partition."""

    corners: tuple[tuple[float, float], ...]  # (seconds, bound)
    objective: float
    seconds: float  # the end of the search

    @property
    def low(self) -> float:
        """The lowest value of a picture in which the last steps and their gap can be seen."""
        gap = self.objective - self.corners[-1][1]
        depth = max(GAPS_SHOWN * gap, MIN_SHARE_SHOWN * self.objective)
        return max(self.corners[0][1], self.objective - depth)

    def shown(self) -> tuple[tuple[float, float], ...]:
        """The corners of the part of the line that is not below the picture."""
        above = [corner for corner in self.corners if corner[1] >= self.low]
        return ((above[0][0], self.low), *above)


def bound_steps(certificate: Certificate) -> BoundSteps | None:
    """Return the steps of a certificate; None if no bound was found.

    >>> from partita import KMeans
    >>> X = [[0.0], [1.0], [5.0], [7.0]]
    >>> steps = bound_steps(KMeans(2, random_state=0).fit(X).certify(X))
    >>> steps.corners[-1][1] <= steps.objective
    True
    """
    records = certificate.history
    if not records:
        return None
    corners = [(records[0].seconds, records[0].lower_bound)]
    for record in records[1:]:
        corners += [(record.seconds, corners[-1][1]), (record.seconds, record.lower_bound)]
    end = max(certificate.seconds, records[-1].seconds)
    corners.append((end, corners[-1][1]))
    return BoundSteps(tuple(corners), certificate.objective, end)
