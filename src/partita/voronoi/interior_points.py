"""How deep a point can be inside the faces of a polytope, for many polytopes at once.

The deepest point y is that of a linear program: the largest t with a·y − b ≥ t for every face, and
t ≤ 1. One program is small and there are very many, so an interior-point method (Mehrotra 1992)
takes all of them through the same turns. Whether a point is deeper than some depth is mostly clear
long before the deepest is known: by any y that is, or by multipliers that show that none can be.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from partita._common.array_types import Array, Floats, Ints

YES, NO, OPEN = 1, 0, -1
_TURNS = 40  # of which most programs need ten
_SHORT = 0.99  # of the way to the border, so that all stay inside
_EXACT = 1e-10  # what may be left of the sums that multipliers must bring to 0
_RIDGE = 1e-13  # of the largest entry: where faces leave directions free


def deeper_than(depth: float, normal: Floats, inside: Floats) -> tuple[Ints, Floats]:
    """Whether (p,) a point lies deeper than `depth` inside all faces normal·y ≥ inside.

    `normal` (p, m, d) has at most unit length, `inside` is (p, m). YES, NO, or OPEN where rounding
    leaves it so; and points (p, d), which for YES are deeper.
    """
    verdict = np.full(len(normal), OPEN, dtype=np.int8)
    points = np.zeros((len(normal), normal.shape[2]))
    which, now = np.arange(len(normal)), _State.start(normal, inside)
    with np.errstate(all="ignore"):  # what leaves the range of doubles stays open
        for _ in range(_TURNS):
            points[which] = now.y
            try:
                yes, no = now.least() > depth, now.none(depth)
                verdict[which[no]], verdict[which[yes]] = NO, YES
                going = ~(yes | no)
                which, now = which[going], now.part(going)
                if not len(which):
                    break
                now = now.step()
            except np.linalg.LinAlgError:  # too flat
                break
            sound = np.isfinite(now.x.sum(axis=1) + now.z.sum(axis=1))
            which, now = which[sound], now.part(sound)
    return verdict, points


@dataclass(frozen=True, slots=True)
class _State:
    """Programs max t, G(y, t) ≤ h, in the midst: slacks and multipliers of the faces are > 0.

    The last row of G is t ≤ 1.
    """

    G: Floats  # (p, m + 1, d + 1)
    h: Floats  # (p, m + 1)
    x: Floats  # (p, d + 1): y and t
    s: Floats  # (p, m + 1), slacks: h − Gx but for rounding
    z: Floats  # (p, m + 1), multipliers

    @classmethod
    def start(cls, normal: Floats, inside: Floats) -> _State:
        """From y = 0, with t so low that no face is near."""
        p, m, d = normal.shape
        G, h = np.zeros((p, m + 1, d + 1)), np.ones((p, m + 1))
        G[:, :m, :d], G[:, :, d], h[:, :m] = -normal, 1.0, -inside
        x = np.zeros((p, d + 1))
        x[:, d] = h.min(axis=1) - 1.0
        return cls(G, h, x, h - x[:, d:], np.full((p, m + 1), 1 / (m + 1)))

    def part(self, some: Array) -> _State:
        """Some of the programs."""
        if some.all():
            return self
        return _State(self.G[some], self.h[some], self.x[some], self.s[some], self.z[some])

    @property
    def y(self) -> Floats:
        return self.x[:, :-1]

    def least(self) -> Floats:
        """How deep y is: so much is possible."""
        room = self.h - _times(self.G[:, :, :-1], self.y)
        return np.asarray(room.min(axis=1))

    def none(self, depth: float) -> Array:
        """Whether the multipliers show that no point is deeper than this."""
        shown = np.einsum("pm,pm->p", self.h, self.z) <= depth
        some = self.part(shown)
        if shown.any():
            z = some._balanced()
            left = np.abs(replace(some, z=z)._unbalanced()).max(axis=1)
            most = np.einsum("pm,pm->p", some.h, z)
            shown[shown] = (z >= 0).all(axis=1) & (left <= _EXACT) & (most <= depth)
        return np.asarray(shown)

    def _balanced(self) -> Floats:
        """Multipliers that are balanced, each changed by a small part of itself where possible."""
        G, square = self.G, self.z * self.z
        right = _times(_inverse(G, square), self._unbalanced())
        return np.asarray(self.z - square * _times(G, right))

    def _unbalanced(self) -> Floats:
        """What multipliers must bring to 0: zᵀG − (0, …, 0, 1)."""
        sums = _times(self.G.transpose(0, 2, 1), self.z)
        sums[:, -1] -= 1.0
        return sums

    def step(self) -> _State:
        """Towards the optimum, then towards the middle between the faces."""
        G, s, z = self.G, self.s, self.z
        inverse = _inverse(G, z / s)
        mean = (s * z).mean(axis=1, keepdims=True)
        _, ds, dz = self._newton(inverse, s * z)
        ahead = (s + _reach(s, ds) * ds) * (z + _reach(z, dz) * dz)
        middle = ahead.mean(axis=1, keepdims=True) ** 3 / mean**2
        dx, ds, dz = self._newton(inverse, s * z + ds * dz - middle)
        a, b = _SHORT * _reach(s, ds), _SHORT * _reach(z, dz)
        return _State(G, self.h, self.x + a * dx, s + a * ds, z + b * dz)

    def _newton(self, inverse: Floats, product: Floats) -> tuple[Floats, Floats, Floats]:
        """The step that makes s·z smaller by `product` and balances the multipliers."""
        right = _times(self.G.transpose(0, 2, 1), product / self.s) - self._unbalanced()
        dx = _times(inverse, right)
        ds = -_times(self.G, dx)
        return dx, ds, (-product - self.z * ds) / self.s


def _inverse(G: Floats, weight: Floats) -> Floats:
    """(Gᵀ·diag(weight)·G)⁻¹ of every program."""
    H = G.transpose(0, 2, 1) @ (G * weight[:, :, None])
    at = np.arange(H.shape[1])
    H[:, at, at] += _RIDGE * H[:, at, at].max(axis=1, keepdims=True)
    return np.asarray(np.linalg.inv(H))


def _times(matrix: Floats, vector: Floats) -> Floats:
    return np.asarray((matrix @ vector[:, :, None])[:, :, 0])


def _reach(at: Floats, step: Floats) -> Floats:
    """How far (p, 1) one may go until a coordinate is 0; at most 1."""
    away = np.divide(-at, step, out=np.ones_like(at), where=step < 0)
    return np.asarray(np.minimum(away.min(axis=1, keepdims=True), 1.0))
