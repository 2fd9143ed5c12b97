// Sums of distances from rows to clusters, for the silhouette: all pairs, none of them stored.
//
// Rows are sorted by cluster, so that the sum of distances to one cluster is complete before the
// next begins: a panel of 64 points needs 64 running sums for any number of clusters. Points are in
// lanes. Each lane adds w·distance in the order of the rows, for every instruction set.
#pragma once

#include "pairwise.hpp"

namespace partita::PARTITA_ISA {

// Distances of two vectors of points to C rows; adds w·distance to `sum`, row after row.
template <Metric metric, std::size_t C>
PARTITA_INLINE void add_tile(const double* panel, std::size_t d, const double* rows,
                             const double* weight, double* sum, Simd<double>::Reg (&pair)[C][2]) {
    using S = Simd<double>;
    typename S::Reg all[2];
    pair_sums<metric, C>(panel, d, rows, pair);
    __builtin_memcpy(all, sum, sizeof all);
#pragma GCC unroll 8
    for (std::size_t c = 0; c < C; ++c)
        for (std::size_t v = 0; v < 2; ++v) {
            if constexpr (metric == Metric::euclidean) pair[c][v] = S::sqrt(pair[c][v]);
            all[v] = S::add(all[v], S::mul(S::set1(weight[c]), pair[c][v]));
        }
    __builtin_memcpy(sum, all, sizeof all);
}

// Adds C rows to the sums of a panel of points.
template <Metric metric, std::size_t C>
PARTITA_INLINE void add_panel(const double* panel, std::size_t d, const double* rows,
                              const double* weight, double* sum) {
    typename Simd<double>::Reg pair[C][2];
    for (std::size_t i = 0; i < kPanelRows; i += 2 * Simd<double>::width)
        add_tile<metric, C>(panel + i, d, rows, weight, sum + i, pair);
}

constexpr std::size_t kPairRows = kTileRows >= 8 ? 8 : 4;  // rows at a time

template <Metric metric>
void add_rows(const ClusterView& view, std::size_t l, std::size_t end, const double* panel,
              double* sum) {
    const std::size_t d = view.d;
    for (; l + kPairRows <= end; l += kPairRows)
        add_panel<metric, kPairRows>(panel, d, view.rows + l * d, view.weight + l, sum);
    for (; l < end; ++l) add_panel<metric, 1>(panel, d, view.rows + l * d, view.weight + l, sum);
}

// Up to 64 points in a panel (d, kPanelRows): Σ w·distance to the own cluster, and the mean
// distance to the nearest other cluster (infinity if there is none).
template <Metric metric>
void silhouette_panel(const ClusterView& view, const double* panel, std::size_t points,
                      const std::int32_t* own, double* inside, double* outside) {
    alignas(64) double sum[kPanelRows];
    for (std::size_t i = 0; i < points; ++i) inside[i] = 0, outside[i] = __builtin_inf();
    for (std::size_t j = 0; j < view.k; ++j) {
        if (!(view.mass[j] > 0)) continue;
        for (double& one : sum) one = 0;
        add_rows<metric>(view, static_cast<std::size_t>(view.start[j]),
                         static_cast<std::size_t>(view.start[j + 1]), panel, sum);
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
    for (std::size_t i = 0; i < points; i += kPanelRows)
        run(view, panels + i * view.d, points - i < kPanelRows ? points - i : kPanelRows, own + i,
            inside + i, outside + i);
}

// --- every pair once ---
//
// A distance is used for both its rows. A strip of up to 64 rows of one cluster is compared with
// the rows after it: the sums of the strip are as above, and each later row gets one sum over the
// strip. Strips can be computed in parallel; the binding adds their results in order.

constexpr std::size_t kStripLanes = 16;  // of the sums over a strip
static_assert(2 * Simd<double>::width <= kStripLanes && kPanelRows % kStripLanes == 0);

// A strip against C rows, in both directions; `point` (kPanelRows): the weights of the strip.
template <Metric metric, std::size_t C>
PARTITA_INLINE void add_panel_both_ways(const double* panel, std::size_t d, const double* rows,
                                        const double* weight, const double* point, double* sum,
                                        double* across) {
    using S = Simd<double>;
    alignas(64) double lane[C][kStripLanes];
    for (std::size_t c = 0; c < C; ++c)
        for (double& one : lane[c]) one = 0;
    for (std::size_t i = 0; i < kPanelRows; i += 2 * S::width) {
        typename S::Reg pair[C][2], w[2];
        add_tile<metric, C>(panel + i, d, rows, weight, sum + i, pair);
        __builtin_memcpy(w, point + i, sizeof w);
#pragma GCC unroll 8
        for (std::size_t c = 0; c < C; ++c) {
            double* here = lane[c] + i % kStripLanes;
            S::store(here, S::add(S::load(here), S::mul(w[0], pair[c][0])));
            here += S::width;
            S::store(here, S::add(S::load(here), S::mul(w[1], pair[c][1])));
        }
    }
    for (std::size_t c = 0; c < C; ++c) {
        for (std::size_t half = kStripLanes / 2; half; half /= 2)
            for (std::size_t v = 0; v < half; ++v) lane[c][v] += lane[c][v + half];
        across[c] = lane[c][0];
    }
}

template <Metric metric>
void add_rows_both_ways(const ClusterView& view, std::size_t l, std::size_t end,
                        const double* panel, const double* point, double* sum, double* across) {
    const std::size_t d = view.d;
    for (; l + kPairRows <= end; l += kPairRows)
        add_panel_both_ways<metric, kPairRows>(panel, d, view.rows + l * d, view.weight + l, point,
                                               sum, across + l);
    for (; l < end; ++l)
        add_panel_both_ways<metric, 1>(panel, d, view.rows + l * d, view.weight + l, point, sum,
                                       across + l);
}

// Rows first…last−1 of cluster j: `inside` is Σ w·distance to the rows of j from `first` on,
// `outside` is lowered by the clusters after j, and across[l] is the sum over the strip for every
// later row l.
template <Metric metric>
void strip_panel(const ClusterView& view, const StripView& strip, double* across, double* inside,
                 double* outside, double* panel) {
    alignas(64) double sum[kPanelRows], point[kPanelRows];
    const std::size_t count = strip.last - strip.first;
    for (std::size_t i = 0; i < kPanelRows; ++i) {
        const std::size_t row = strip.first + i;
        point[i] = i < count ? view.weight[row] : 0;
        sum[i] = 0;
        for (std::size_t t = 0; t < view.d; ++t)
            panel[t * kPanelRows + i] = i < count ? view.rows[row * view.d + t] : 0;
    }
    add_rows<metric>(view, strip.first, strip.last, panel, sum);
    for (std::size_t j = strip.cluster; j < view.k; ++j) {
        const bool own = j == strip.cluster;
        const std::size_t from = own ? strip.last : static_cast<std::size_t>(view.start[j]);
        add_rows_both_ways<metric>(view, from, static_cast<std::size_t>(view.start[j + 1]), panel,
                                   point, sum, across);
        for (std::size_t i = 0; i < count; ++i) {
            const double mean = sum[i] / view.mass[j];
            double& low = outside[strip.first + i];
            if (own)
                inside[strip.first + i] = sum[i];
            else if (view.mass[j] > 0 && mean < low)
                low = mean;
        }
        for (double& one : sum) one = 0;
    }
}

inline void silhouette_strip(const ClusterView& view, Metric metric, const StripView& strip,
                             double* across, double* inside, double* outside, double* panel) {
    const auto run = metric == Metric::squared     ? &strip_panel<Metric::squared>
                     : metric == Metric::euclidean ? &strip_panel<Metric::euclidean>
                                                   : &strip_panel<Metric::manhattan>;
    run(view, strip, across, inside, outside, panel);
}

}  // namespace partita::PARTITA_ISA
