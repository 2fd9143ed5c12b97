// Rows in float32 about the first chosen row of k-means++, transposed in panels of 32 that are read
// one after the other: half the bytes of doubles, and nothing to transpose in a round. They give the
// gains of a round so precisely that the best candidate is mostly beyond doubt, and mark the rows
// that may come nearer to a candidate; distances that are kept are measured as seed_distance does.
//
// With u = 2⁻²⁴, lengths ‖y‖ and ‖c‖ of a row and a candidate about the first row, and
// b = u·(‖y‖ + ‖c‖), rounding the values changes a distance by b at most, and the sum of d squares
// its square D by a factor 1 ± γ, γ = (d + 8)·u; what seed_distance computes is off by (d + 8)·unit
// of its type. If that is below q, the square of the distance to the nearest chosen row,
//
//     D ≤ (√q + b)²·(1 + …) ≤ q·(1 + 2⁻¹²)·(1 + …) + b²·(1 + 2¹²),
//
// a bound without a root: rows above it are not marked. `gain_error` of plusplus_rounds.hpp bounds
// what the same roundings do to a gain.
#pragma once

#include "seed_lanes.hpp"

namespace partita::PARTITA_ISA {

constexpr int kGainBatch = 4;                // candidates that are compared at a time
constexpr std::size_t kFloatPanelRows = 32;  // divides kSeedLeafRows

// One panel: values (d, kFloatPanelRows), then the squared distances to the nearest chosen row.
PARTITA_INLINE float* float_panel(const FloatLeavesView& leaves, std::size_t row, std::size_t d) {
    return leaves.data + row / kFloatPanelRows * (d + 1) * kFloatPanelRows;
}
PARTITA_INLINE float& float_closest(const FloatLeavesView& leaves, std::size_t row, std::size_t d) {
    return float_panel(leaves, row, d)[d * kFloatPanelRows + row % kFloatPanelRows];
}
PARTITA_INLINE float float_square(const FloatLeavesView& leaves, double square) {
    return static_cast<float>(square * (leaves.fine * leaves.fine));
}

// One panel of m rows, from `rows` on; `first` is scaled.
template <class T>
void fill_float_panel(const T* rows, std::size_t m, std::size_t d, T scale, const T* first,
                      double fine, float* panel) {
    using S = Simd<T>;
    constexpr std::size_t W = S::width;
    const typename S::Reg by = S::set1(scale), finer = S::set1(static_cast<T>(fine));
    for (std::size_t r = 0; r < m; r += W)
        columns_of<T>([&](std::size_t l) { return rows + (r + l < m ? r + l : m - 1) * d; }, d,
                      [&](std::size_t t, typename S::Reg x) {
                          alignas(64) T lane[W];
                          S::store(lane, S::mul(S::sub(S::mul(x, by), S::set1(first[t])), finer));
                          for (std::size_t l = 0; l < W; ++l)
                              panel[t * kFloatPanelRows + r + l] = static_cast<float>(lane[l]);
                      });
}

// The leaves of rows whose distances to the first row are known.
template <class T>
void fill_leaves(const Rows<T>& rows, T scale, const T* first, const T* closest,
                 const FloatLeavesView& leaves) {
    const std::size_t d = rows.d, n = rows.n;
    for (std::size_t start = 0; start < n; start += kSeedLeafRows) {
        double most = 0.0;
        for (std::size_t i = start; i < start + kSeedLeafRows; ++i) {
            if (i % kFloatPanelRows == 0) {
                float* panel = float_panel(leaves, i, d);
                const std::size_t left = i < n ? n - i : 0;
                if (left < kFloatPanelRows)  // beyond the last row, distances are zero
                    for (std::size_t e = 0; e < (d + 1) * kFloatPanelRows; ++e) panel[e] = 0.0f;
                fill_float_panel(rows.data + i * d, left < kFloatPanelRows ? left : kFloatPanelRows,
                                 d, scale, first, leaves.fine, panel);
            }
            if (i >= n) continue;
            float& square = float_closest(leaves, i, d);
            square = float_square(leaves, static_cast<double>(closest[i]));
            most = static_cast<double>(square) > most ? static_cast<double>(square) : most;
        }
        leaves.length[start / kSeedLeafRows] =
            static_cast<float>(__builtin_sqrt(most) * (1.0 + 0x1p-12));
    }
}

// What makes a row stay unmarked: D > q·rise + margin.
struct NearerBound {
    float rise, margin[kGainBatch];
};

// The gains of R candidates over one leaf, and the marks of the rows that may come nearer.
template <int R>
void gains_of_leaf(const float* leaf, std::size_t d, const float* candidate, std::size_t stride,
                   const NearerBound& bound, std::uint64_t* mark, double* gain) {
    using S = Simd<float>;
    constexpr std::size_t W = S::width;
    constexpr int V = 2;
    static_assert(kFloatPanelRows % (V * W) == 0);
    const S::Reg zero = S::set1(0), rise = S::set1(bound.rise);
    S::Reg total[R];
    for (int r = 0; r < R; ++r) total[r] = zero;
    for (int e = 0; e < R * static_cast<int>(kMarkWords); ++e) mark[e] = 0;
    for (std::size_t i = 0; i < kSeedLeafRows; i += V * W) {
        const float* panel =
            leaf + i / kFloatPanelRows * (d + 1) * kFloatPanelRows + i % kFloatPanelRows;
        S::Reg below[R][V];  // −D
        for (int r = 0; r < R; ++r) below[r][0] = below[r][1] = zero;
        for (std::size_t t = 0; t < d; ++t) {
            const S::Reg x0 = S::load(panel + t * kFloatPanelRows);
            const S::Reg x1 = S::load(panel + t * kFloatPanelRows + W);
#pragma GCC unroll 4
            for (int r = 0; r < R; ++r) {
                const S::Reg c = S::set1(candidate[static_cast<std::size_t>(r) * stride + t]);
                const S::Reg gap0 = S::sub(x0, c), gap1 = S::sub(x1, c);
                below[r][0] = S::fnmadd(gap0, gap0, below[r][0]);
                below[r][1] = S::fnmadd(gap1, gap1, below[r][1]);
            }
        }
#pragma GCC unroll 2
        for (int v = 0; v < V; ++v) {
            const std::size_t at = i + static_cast<std::size_t>(v) * W;
            const S::Reg q = S::load(panel + d * kFloatPanelRows + static_cast<std::size_t>(v) * W);
            const S::Reg raised = S::mul(q, rise);
#pragma GCC unroll 4
            for (int r = 0; r < R; ++r) {
                total[r] = S::add(total[r], S::max(S::add(q, below[r][v]), zero));
                const S::Reg room = S::add(S::add(raised, S::set1(bound.margin[r])), below[r][v]);
                const std::uint64_t far = S::bits(S::less(room, zero));
                mark[r * static_cast<int>(kMarkWords) + static_cast<int>(at / 64)] |=
                    (~far & first_bits(W)) << at % 64;
            }
        }
    }
    for (int r = 0; r < R; ++r) {
        alignas(64) float lane[W];
        S::store(lane, total[r]);
        gain[r] = 0.0;
        for (std::size_t l = 0; l < W; ++l) gain[r] += static_cast<double>(lane[l]);
    }
}

// Gains of all candidates, leaf by leaf, and marks of the rows that may come nearer to them.
inline void leaf_gains(const FloatLeavesView& leaves, std::size_t begin, std::size_t end,
                       const FloatCandidates& candidates,
                       std::uint64_t* marks,  // out: (leaves, count, kMarkWords)
                       double* gain) {        // out: (leaves, count)
    constexpr double u = 0x1p-24;
    using Gains = void (*)(const float*, std::size_t, const float*, std::size_t, const NearerBound&,
                           std::uint64_t*, double*);
    static constexpr Gains gains[kGainBatch] = {&gains_of_leaf<1>, &gains_of_leaf<2>,
                                                &gains_of_leaf<3>, &gains_of_leaf<4>};
    const std::size_t d = candidates.d, count = candidates.count;
    const double rounding = static_cast<double>(d + 16) * (u + candidates.unit);
    NearerBound bound;
    bound.rise = static_cast<float>((1.0 + 0x1p-12) * (1.0 + 4.0 * rounding));
    for (std::size_t leaf = begin; leaf < end; ++leaf)
        for (std::size_t c = 0; c < count; c += kGainBatch) {
            const std::size_t some = count - c < kGainBatch ? count - c : kGainBatch;
            for (std::size_t r = 0; r < some; ++r) {
                const double blur =
                    1.01 * u *
                    (static_cast<double>(leaves.length[leaf]) + candidates.length[c + r]);
                bound.margin[r] = static_cast<float>(blur * blur * 0x1.1p12 + 0x1p-100);
            }
            const std::size_t at = leaf * count + c;
            gains[some - 1](float_panel(leaves, leaf * kSeedLeafRows, d), d,
                            candidates.values + c * d, d, bound, marks + at * kMarkWords,
                            gain + at);
        }
}

}  // namespace partita::PARTITA_ISA
