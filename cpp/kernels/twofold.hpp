// Twofold (double-double) arithmetic: a double and its rounding error.
#pragma once

#include "simd.hpp"

namespace partita::PARTITA_ISA {

struct Twofold {
    double head, tail;
};

PARTITA_INLINE Twofold two_sum(double a, double b) {
    const double s = a + b, back = s - a;
    return {s, (a - (s - back)) + (b - back)};
}

PARTITA_INLINE Twofold fast_two_sum(double a, double b) {  // |a| >= |b|
    const double s = a + b;
    return {s, b - (s - a)};
}

// a·b = head + tail exactly. The fused form and Dekker's split give the same two numbers.
PARTITA_INLINE Twofold two_prod(double a, double b) {
    const double p = a * b;
#if defined(__FMA__) || defined(__ARM_FEATURE_FMA)
    return {p, __builtin_fma(a, b, -p)};
#else
    constexpr double split = 134217729.0;  // 2^27 + 1
    const double ca = split * a, cb = split * b;
    const double ah = ca - (ca - a), bh = cb - (cb - b);
    const double al = a - ah, bl = b - bh;
    return {p, al * bl - (((p - ah * bh) - al * bh) - ah * bl)};
#endif
}

PARTITA_INLINE Twofold add(Twofold a, Twofold b) {
    const Twofold s = two_sum(a.head, b.head);
    return fast_two_sum(s.head, s.tail + (a.tail + b.tail));
}

PARTITA_INLINE Twofold multiply(Twofold a, Twofold b) {
    const Twofold p = two_prod(a.head, b.head);
    return fast_two_sum(p.head, p.tail + (a.head * b.tail + a.tail * b.head));
}

PARTITA_INLINE Twofold divide(Twofold a, Twofold b) {
    const double q = a.head / b.head;
    const Twofold back = multiply(b, {q, 0.0});
    const Twofold rest = add(a, {-back.head, -back.tail});
    return fast_two_sum(q, rest.head / b.head);
}

}  // namespace partita::PARTITA_ISA
