// Dissimilarities of all rows to a few of them, by differences of features, in order. Nothing
// cancels and nothing is fused, so the bits are the same for every instruction set.
#pragma once

#include <cmath>

#include "simd.hpp"
#include "views.hpp"

namespace partita::PARTITA_ISA {

// Two vectors of points against C centers. Euclidean distances are still squared.
template <class T, Metric metric, std::size_t C>
PARTITA_INLINE void pair_sums(const T* panel, std::size_t d, const T* center,
                              typename Simd<T>::Reg (&sum)[C][2]) {
    using S = Simd<T>;
    for (std::size_t c = 0; c < C; ++c) sum[c][0] = sum[c][1] = S::set1(0);
    for (std::size_t t = 0; t < d; ++t) {
        typename S::Reg x[2];
        __builtin_memcpy(&x[0], panel + t * kPanelRows, sizeof x[0]);
        __builtin_memcpy(&x[1], panel + t * kPanelRows + S::width, sizeof x[1]);
#pragma GCC unroll 8
        for (std::size_t c = 0; c < C; ++c) {
            const typename S::Reg at = S::set1(center[c * d + t]);
#pragma GCC unroll 2
            for (std::size_t v = 0; v < 2; ++v) {
                const typename S::Reg gap = S::sub(x[v], at);
                if constexpr (metric == Metric::manhattan)
                    sum[c][v] = S::add(sum[c][v], S::max(gap, S::sub(S::set1(0), gap)));
                else
                    sum[c][v] = S::add(sum[c][v], S::mul(gap, gap));
            }
        }
    }
}

template <class T, Metric metric, std::size_t C>
PARTITA_INLINE void pair_tile(const T* panel, std::size_t d, const T* center, T* out,
                              std::size_t stride) {
    typename Simd<T>::Reg sum[C][2];
    pair_sums<T, metric, C>(panel, d, center, sum);
    for (std::size_t c = 0; c < C; ++c) __builtin_memcpy(out + c * stride, sum[c], sizeof sum[c]);
}

template <class T, Metric metric>
void pair_panel(const T* panel, std::size_t d, std::size_t points, const T* centers, std::size_t k,
                T* out, std::size_t stride) {
    constexpr std::size_t C = kTileRows >= 8 ? 8 : 4, step = 2 * Simd<T>::width;
    T tile[C * kPanelRows];
    const auto write = [&](std::size_t j, std::size_t count) {
        for (std::size_t c = 0; c < count; ++c) {
            T* row = out + (j + c) * stride;
            for (std::size_t i = 0; i < points; ++i)
                row[i] = metric == Metric::euclidean ? std::sqrt(tile[c * kPanelRows + i])
                                                     : tile[c * kPanelRows + i];
        }
    };
    std::size_t j = 0;
    for (; j + C <= k; j += C) {
        for (std::size_t i = 0; i < kPanelRows; i += step)
            pair_tile<T, metric, C>(panel + i, d, centers + j * d, tile + i, kPanelRows);
        write(j, C);
    }
    for (; j < k; ++j) {
        for (std::size_t i = 0; i < kPanelRows; i += step)
            pair_tile<T, metric, 1>(panel + i, d, centers + j * d, tile + i, kPanelRows);
        write(j, 1);
    }
}

// `points` rows in panels of d features against k centers (k, d); writes out[j·stride + i].
template <class T>
void pair_columns(const T* panels, std::size_t d, std::size_t points, const T* centers,
                  std::size_t k, Metric metric, T* out, std::size_t stride) {
    const auto run = metric == Metric::squared     ? &pair_panel<T, Metric::squared>
                     : metric == Metric::euclidean ? &pair_panel<T, Metric::euclidean>
                                                   : &pair_panel<T, Metric::manhattan>;
    for (std::size_t i = 0; i < points; i += kPanelRows)
        run(panels + i * d, d, points - i < kPanelRows ? points - i : kPanelRows, centers, k,
            out + i, stride);
}

}  // namespace partita::PARTITA_ISA
