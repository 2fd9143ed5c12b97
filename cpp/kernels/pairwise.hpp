// Measures between all rows and a few of them: sums over the features, in order. Differences do not
// cancel, and nothing is rounded in another place, so the bits are the same for every instruction
// set, and for a pair in either order.
//
// Rows are of type T, sums of type A. Where products are exact (of floats, in double), fused
// operations round as separate ones do.
#pragma once

#include <cmath>
#include <type_traits>

#include "simd.hpp"
#include "views.hpp"

namespace partita::PARTITA_ISA {

template <class A, class T>
PARTITA_INLINE typename Simd<A>::Reg load_as(const T* p) {
    if constexpr (std::is_same_v<T, A>) {
        typename Simd<A>::Reg values;
        __builtin_memcpy(&values, p, sizeof values);
        return values;
    } else {
        return Simd<A>::widen(p);
    }
}

// `sum` and the term of one feature.
template <Metric metric, bool products_are_exact, class S>
PARTITA_INLINE typename S::Reg add_term(typename S::Reg sum, typename S::Reg a, typename S::Reg b) {
    if constexpr (metric == Metric::dot && products_are_exact) {
        return S::fmadd(a, b, sum);
    } else if constexpr (metric == Metric::dot) {
        return S::add(sum, S::mul(a, b));
    } else {
        const typename S::Reg gap = S::sub(a, b);
        if constexpr (metric == Metric::manhattan)
            return S::add(sum, S::max(gap, S::sub(S::set1(0), gap)));
        else if constexpr (metric == Metric::chi2)
            return S::add(sum, S::ratio(S::mul(gap, gap), S::add(a, b)));
        else
            return S::add(sum, S::mul(gap, gap));
    }
}

// Two vectors of points against C centers. Euclidean distances are still squared.
template <Metric metric, std::size_t C, class T, class A>
PARTITA_INLINE void pair_sums(const T* panel, std::size_t d, const A* center,
                              typename Simd<A>::Reg (&sum)[C][2]) {
    using S = Simd<A>;
    constexpr bool exact = !std::is_same_v<T, A>;
    for (std::size_t c = 0; c < C; ++c) sum[c][0] = sum[c][1] = S::set1(0);
    for (std::size_t t = 0; t < d; ++t) {
        const T* here = panel + t * kPanelRows;
        const typename S::Reg x[2] = {load_as<A>(here), load_as<A>(here + S::width)};
#pragma GCC unroll 8
        for (std::size_t c = 0; c < C; ++c) {
            const typename S::Reg at = S::set1(center[c * d + t]);
#pragma GCC unroll 2
            for (std::size_t v = 0; v < 2; ++v)
                sum[c][v] = add_term<metric, exact, S>(sum[c][v], x[v], at);
        }
    }
}

template <Metric metric, std::size_t C, class T, class A>
PARTITA_INLINE void pair_tile(const T* panel, std::size_t d, const A* center, A* out,
                              std::size_t stride) {
    typename Simd<A>::Reg sum[C][2];
    pair_sums<metric, C>(panel, d, center, sum);
    for (std::size_t c = 0; c < C; ++c) __builtin_memcpy(out + c * stride, sum[c], sizeof sum[c]);
}

template <Metric metric, class T, class A>
void pair_panel(const T* panel, std::size_t d, std::size_t points, const A* centers, std::size_t k,
                A* out, std::size_t stride) {
    constexpr std::size_t C = kTileRows >= 8 ? 8 : 4, step = 2 * Simd<A>::width;
    A tile[C * kPanelRows];
    const auto write = [&](std::size_t j, std::size_t count) {
        for (std::size_t c = 0; c < count; ++c) {
            A* row = out + (j + c) * stride;
            for (std::size_t i = 0; i < points; ++i)
                row[i] = metric == Metric::euclidean ? std::sqrt(tile[c * kPanelRows + i])
                                                     : tile[c * kPanelRows + i];
        }
    };
    std::size_t j = 0;
    for (; j + C <= k; j += C) {
        for (std::size_t i = 0; i < kPanelRows; i += step)
            pair_tile<metric, C>(panel + i, d, centers + j * d, tile + i, kPanelRows);
        write(j, C);
    }
    for (; j < k; ++j) {
        for (std::size_t i = 0; i < kPanelRows; i += step)
            pair_tile<metric, 1>(panel + i, d, centers + j * d, tile + i, kPanelRows);
        write(j, 1);
    }
}

// `points` rows in panels of d features against k centers (k, d); writes out[j·stride + i].
template <class T, class A>
void pair_columns(const T* panels, std::size_t d, std::size_t points, const A* centers,
                  std::size_t k, Metric metric, A* out, std::size_t stride) {
    const auto run = metric == Metric::squared     ? &pair_panel<Metric::squared, T, A>
                     : metric == Metric::euclidean ? &pair_panel<Metric::euclidean, T, A>
                     : metric == Metric::manhattan ? &pair_panel<Metric::manhattan, T, A>
                     : metric == Metric::dot       ? &pair_panel<Metric::dot, T, A>
                                                   : &pair_panel<Metric::chi2, T, A>;
    for (std::size_t i = 0; i < points; i += kPanelRows)
        run(panels + i * d, d, points - i < kPanelRows ? points - i : kPanelRows, centers, k,
            out + i, stride);
}

}  // namespace partita::PARTITA_ISA
