// How far rows are from every cluster on average, for the silhouette: all pairs, none of them kept.
//
// Rows lie in the order of their clusters, so that the sum of distances to one cluster is finished
// before the next begins: a panel of 64 points needs 64 running sums, however many clusters there are.
// Points lie in lanes. Each lane adds w·distance in the order of the rows, on every instruction set.
#pragma once

#include "pairs.hpp"

namespace partita::PARTITA_ISA {

// Adds the distances of two vectors of points to C rows, one row after the other.
template <Metric metric, std::size_t C>
PARTITA_INLINE void add_tile(const double* panel, std::size_t d, const double* rows,
                             const double* weight, double* sum) {
    using S = Simd<double>;
    typename S::Reg pair[C][2], all[2];
    pair_sums<double, metric, C>(panel, d, rows, pair);
    __builtin_memcpy(all, sum, sizeof all);
#pragma GCC unroll 8
    for (std::size_t c = 0; c < C; ++c)
        for (std::size_t v = 0; v < 2; ++v) {
            if constexpr (metric == Metric::euclidean) pair[c][v] = S::sqrt(pair[c][v]);
            all[v] = S::add(all[v], S::mul(S::set1(weight[c]), pair[c][v]));
        }
    __builtin_memcpy(sum, all, sizeof all);
}

template <Metric metric>
void add_cluster(const ClusterView& view, std::size_t j, const double* panel, double* sum) {
    constexpr std::size_t C = kTileRows >= 8 ? 8 : 4, step = 2 * Simd<double>::width;
    const std::size_t d = view.d, end = static_cast<std::size_t>(view.start[j + 1]);
    std::size_t l = static_cast<std::size_t>(view.start[j]);
    for (; l + C <= end; l += C)
        for (std::size_t i = 0; i < kPanel; i += step)
            add_tile<metric, C>(panel + i, d, view.rows + l * d, view.weight + l, sum + i);
    for (; l < end; ++l)
        for (std::size_t i = 0; i < kPanel; i += step)
            add_tile<metric, 1>(panel + i, d, view.rows + l * d, view.weight + l, sum + i);
}

// Up to 64 points in a panel (d, kPanel): Σ w·distance to the own cluster, and the mean distance to
// the nearest other (infinity: there is none).
template <Metric metric>
void silhouette_panel(const ClusterView& view, const double* panel, std::size_t points,
                      const std::int32_t* own, double* inside, double* outside) {
    alignas(64) double sum[kPanel];
    for (std::size_t i = 0; i < points; ++i) inside[i] = 0, outside[i] = __builtin_inf();
    for (std::size_t j = 0; j < view.k; ++j) {
        if (!(view.mass[j] > 0)) continue;
        for (double& one : sum) one = 0;
        add_cluster<metric>(view, j, panel, sum);
        for (std::size_t i = 0; i < points; ++i) {
            if (own[i] == static_cast<std::int32_t>(j)) {
                inside[i] = sum[i];
                continue;
            }
            const double mean = sum[i] / view.mass[j];
            outside[i] = mean < outside[i] ? mean : outside[i];
        }
    }
}

inline void silhouette(const ClusterView& view, Metric metric, const double* panels,
                       std::size_t points, const std::int32_t* own, double* inside,
                       double* outside) {
    const auto run = metric == Metric::squared     ? &silhouette_panel<Metric::squared>
                     : metric == Metric::euclidean ? &silhouette_panel<Metric::euclidean>
                                                   : &silhouette_panel<Metric::manhattan>;
    for (std::size_t i = 0; i < points; i += kPanel)
        run(view, panels + i * view.d, points - i < kPanel ? points - i : kPanel, own + i,
            inside + i, outside + i);
}

}  // namespace partita::PARTITA_ISA
