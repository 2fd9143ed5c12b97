// D64 up to rounding, in vectors: for rows that bounds or a filter leave open. D64 decides near
// ties.
#pragma once

#include "exact_distance.hpp"

namespace partita::PARTITA_ISA {

constexpr std::size_t kEarlyExitFeatures = 64;  // features between two early-exit tests

PARTITA_INLINE double lane_sum(Simd<double>::Reg v) {
    constexpr std::size_t W = Simd<double>::width;
    alignas(64) double lane[W];
    Simd<double>::store(lane, v);
    for (std::size_t half = W / 2; half; half /= 2)
        for (std::size_t l = 0; l < half; ++l) lane[l] += lane[l + half];
    return lane[0];
}

// D64 with a relative error below tie_share(d). Returns early once the sum exceeds `enough`.
template <class R>
PARTITA_INLINE double quick_distance(const ExactView& exact, const R* x, std::size_t j,
                                     double enough) {
    using S = Simd<double>;
    const std::size_t d = exact.d;
    const double* c = exact.centers + j * d;
    const S::Reg scale = S::set1(exact.scale);
    auto squares = [&](std::size_t t) {
        const S::Reg gap = S::sub(
            S::mul(S::sub(S::widen(x + t), S::widen(exact.origin + t)), scale), S::widen(c + t));
        return S::mul(gap, gap);
    };
    double sum = 0.0;
    std::size_t t = 0;
    while (t + S::width <= d) {
        const std::size_t stop = d - t < kEarlyExitFeatures ? d : t + kEarlyExitFeatures;
        S::Reg a = squares(t), b = S::set1(0.0);
        t += S::width;
        for (; t + 2 * S::width <= stop; t += 2 * S::width) {
            a = S::add(a, squares(t));
            b = S::add(b, squares(t + S::width));
        }
        if (t + S::width <= stop) {
            b = S::add(b, squares(t));
            t += S::width;
        }
        sum += lane_sum(S::add(a, b));
        if (sum > enough) return sum;
    }
    for (; t < d; ++t) {
        const double gap = (static_cast<double>(x[t]) - exact.origin[t]) * exact.scale - c[t];
        sum += gap * gap;
    }
    return sum;
}

struct TwoSquares {
    double first, second;
};

// The same to two centers; the values of the row are read once.
template <class R>
PARTITA_INLINE TwoSquares quick_distances(const ExactView& exact, const R* x, std::size_t i,
                                          std::size_t j) {
    using S = Simd<double>;
    const std::size_t d = exact.d;
    const double *first = exact.centers + i * d, *second = exact.centers + j * d;
    const S::Reg scale = S::set1(exact.scale);
    S::Reg a = S::set1(0.0), b = a;
    std::size_t t = 0;
    for (; t + S::width <= d; t += S::width) {
        const S::Reg y = S::mul(S::sub(S::widen(x + t), S::widen(exact.origin + t)), scale);
        const S::Reg one = S::sub(y, S::widen(first + t)), two = S::sub(y, S::widen(second + t));
        a = S::fmadd(one, one, a);
        b = S::fmadd(two, two, b);
    }
    TwoSquares sum{lane_sum(a), lane_sum(b)};
    for (; t < d; ++t) {
        const double y = (static_cast<double>(x[t]) - exact.origin[t]) * exact.scale;
        sum.first += (y - first[t]) * (y - first[t]);
        sum.second += (y - second[t]) * (y - second[t]);
    }
    return sum;
}

// (x − origin)·scale of a row, for `scaled_distance` to several centers.
template <class R>
PARTITA_INLINE void scale_row(const ExactView& exact, const R* x, double* out) {
    using S = Simd<double>;
    const S::Reg scale = S::set1(exact.scale);
    std::size_t t = 0;
    for (; t + S::width <= exact.d; t += S::width)
        S::store(out + t, S::mul(S::sub(S::widen(x + t), S::widen(exact.origin + t)), scale));
    for (; t < exact.d; ++t) out[t] = (static_cast<double>(x[t]) - exact.origin[t]) * exact.scale;
}

// The same as `quick_distance` from a scaled row.
PARTITA_INLINE double scaled_distance(const ExactView& exact, const double* y, std::size_t j) {
    using S = Simd<double>;
    const std::size_t d = exact.d;
    const double* c = exact.centers + j * d;
    S::Reg a = S::set1(0.0), b = a;
    std::size_t t = 0;
    for (; t + 2 * S::width <= d; t += 2 * S::width) {
        const S::Reg one = S::sub(S::load(y + t), S::widen(c + t));
        const S::Reg two = S::sub(S::load(y + t + S::width), S::widen(c + t + S::width));
        a = S::fmadd(one, one, a);
        b = S::fmadd(two, two, b);
    }
    double sum = 0.0;
    for (; t < d; ++t) sum += (y[t] - c[t]) * (y[t] - c[t]);
    return sum + lane_sum(S::add(a, b));
}

inline double tie_share(std::size_t d) { return 4.0 * static_cast<double>(d + 8) * 0x1p-53; }

}  // namespace partita::PARTITA_ISA
