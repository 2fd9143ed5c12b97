// Swaps of k-medoids: the gain of a candidate in the place of each medoid, in one pass over its
// dissimilarities (FasterPAM). Sums are doubles in fixed lanes of rows: the same bits for every
// instruction set.
#pragma once

#include <algorithm>
#include <limits>

#include "simd.hpp"
#include "views.hpp"

namespace partita::PARTITA_ISA {

constexpr std::size_t kWordPoints = 64;  // points whose comparison fills a word
constexpr std::size_t kRowLanes = 8;     // lanes of sums over all rows

// Bit i: a[i] < b[i], for kWordPoints values.
template <class T>
PARTITA_INLINE std::uint64_t less_mask(const T* a, const T* b) {
    using S = Simd<T>;
    std::uint64_t word = 0;
#pragma GCC unroll 16
    for (std::size_t i = 0; i < kWordPoints; i += S::width) {
        typename S::Reg x, y;
        __builtin_memcpy(&x, a + i, sizeof x);
        __builtin_memcpy(&y, b + i, sizeof y);
        word |= static_cast<std::uint64_t>(S::bits(S::less(x, y))) << i;
    }
    return word;
}

// The best medoid to replace by the candidate with this column. Only points nearer to the candidate
// than to their second medoid contribute, with δ their dissimilarity to the candidate:
//   nearer than to the first: the loss decreases by w(closest − δ), whichever medoid is replaced, and
//                             removing the own medoid costs nothing: subtract w(next − closest);
//   otherwise:                if the own medoid is replaced, the candidate takes over: w(δ − next).
// `sums`: scratch for kFewLanes·k doubles.
template <class T>
BestSwap swap_change(const SwapView<T>& view, const T* column, double* sums) {
    const std::size_t k = view.k;
    std::fill_n(sums, kFewLanes * k, 0.0);
    double gain[kFewLanes] = {};
    const auto visit = [&](std::size_t i) {
        const double d = column[i], first = view.closest[i], second = view.next[i];
        const double w = view.weight ? view.weight[i] : 1.0;
        const double nearer = d - first, kept = (d > first ? d : first) - second;
        gain[i % kFewLanes] += w * (nearer < 0 ? nearer : 0.0);
        sums[i % kFewLanes * k + static_cast<std::size_t>(view.near[i])] += w * kept;
    };
    std::size_t i = 0;
    for (; i + kWordPoints <= view.n; i += kWordPoints)
        for (std::uint64_t word = less_mask(column + i, view.next + i); word; word &= word - 1)
            visit(i + static_cast<std::size_t>(__builtin_ctzll(word)));
    for (; i < view.n; ++i)
        if (column[i] < view.next[i]) visit(i);
    BestSwap best{std::numeric_limits<double>::infinity(), 0};
    for (std::size_t j = 0; j < k; ++j) {
        const double lost =
            view.removal[j] + ((sums[j] + sums[k + j]) + (sums[2 * k + j] + sums[3 * k + j]));
        if (lost < best.change) best = {lost, static_cast<std::int32_t>(j)};
    }
    best.change += (gain[0] + gain[1]) + (gain[2] + gain[3]);
    return best;
}

// Finds the two nearest medoids of point i; lower place on ties.
template <class T>
PARTITA_INLINE void find_two_nearest(const SwapView<T>& view, std::size_t i) {
    T first = std::numeric_limits<T>::infinity(), second = first;
    std::int32_t near = 0, after = 0;
    for (std::size_t j = 0; j < view.k; ++j) {
        const T d = view.columns[j * view.n + i];
        if (d < first) {
            second = first, after = near;
            first = d, near = static_cast<std::int32_t>(j);
        } else if (d < second) {
            second = d, after = static_cast<std::int32_t>(j);
        }
    }
    view.closest[i] = first, view.near[i] = near;
    view.next[i] = second, view.second[i] = after;
}

template <class T>
void medoid_two_nearest(const SwapView<T>& view) {
    for (std::size_t i = 0; i < view.n; ++i) find_two_nearest(view, i);
}

// Σ term(i) over all rows, in kRowLanes lanes.
template <class Term>
PARTITA_INLINE double lane_sum(std::size_t n, Term term) {
    double lane[kRowLanes] = {};
    std::size_t i = 0;
    for (; i + kRowLanes <= n; i += kRowLanes)
        for (std::size_t l = 0; l < kRowLanes; ++l) lane[l] += term(i + l);
    for (; i < n; ++i) lane[i % kRowLanes] += term(i);
    double sum = lane[0];
    for (std::size_t l = 1; l < kRowLanes; ++l) sum += lane[l];
    return sum;
}

// Puts the candidate with this column in a place and returns the loss. With `place` = k it only
// computes the loss.
template <class T>
double swap_apply(const SwapView<T>& view, std::size_t place, const T* column) {
    const std::size_t n = view.n;
    const auto here = static_cast<std::int32_t>(place);
    if (place < view.k) {
        std::copy_n(column, n, view.columns + place * n);
        for (std::size_t i = 0; i < n; ++i) {
            const T d = column[i];
            if (view.near[i] == here) {
                if (d < view.next[i])
                    view.closest[i] = d;
                else
                    find_two_nearest(view, i);
            } else if (d < view.closest[i]) {
                view.next[i] = view.closest[i], view.second[i] = view.near[i];
                view.closest[i] = d, view.near[i] = here;
            } else if (d < view.next[i]) {
                view.next[i] = d, view.second[i] = here;
            } else if (view.second[i] == here) {
                find_two_nearest(view, i);
            }
        }
    }
    std::fill_n(view.removal, view.k, 0.0);
    const double* w = view.weight;
    for (std::size_t i = 0; i < n; ++i) {
        const double rise =
            static_cast<double>(view.next[i]) - static_cast<double>(view.closest[i]);
        view.removal[view.near[i]] += w ? w[i] * rise : rise;
    }
    const T* closest = view.closest;
    if (!w) return lane_sum(n, [&](std::size_t i) { return static_cast<double>(closest[i]); });
    return lane_sum(n, [&](std::size_t i) { return w[i] * static_cast<double>(closest[i]); });
}

// Σ w·(decrease of closest) by a new medoid; without `closest`, Σ w·dissimilarity to it.
template <class T>
double swap_gain(const T* column, const T* closest, const double* weight, std::size_t n) {
    const auto term = [&](std::size_t i) {
        const double d = column[i];
        if (!closest) return d;
        const double less = static_cast<double>(closest[i]) - d;
        return less > 0 ? less : 0.0;
    };
    if (!weight) return lane_sum(n, term);
    return lane_sum(n, [&](std::size_t i) { return weight[i] * term(i); });
}

// Extremes of rows first…last−1 of a square matrix and of the same columns, tile by tile. Every
// column of a tile has extremes of its own, for vectorisation.
template <class T>
MatrixSummary summarise_matrix(const T* matrix, std::size_t n, std::size_t first,
                               std::size_t last) {
    constexpr std::size_t side = 32;
    T low[side], high[side], taint[side], asymmetry[side], across[side][side], diagonal = 0;
    std::fill_n(low, side, std::numeric_limits<T>::infinity());
    std::fill_n(high, side, -std::numeric_limits<T>::infinity());
    std::fill_n(taint, side, T{0});
    std::fill_n(asymmetry, side, T{0});
    const auto update_extremes = [&](const T* row, std::size_t count) {
        for (std::size_t j = 0; j < count; ++j) {
            taint[j] += row[j] * 0;
            low[j] = row[j] < low[j] ? row[j] : low[j];
            high[j] = row[j] > high[j] ? row[j] : high[j];
        }
    };
    for (std::size_t top = first; top < last; top += side) {
        const std::size_t rows = std::min(side, last - top);
        for (std::size_t i = top; i < top + rows; ++i)
            diagonal = std::max(diagonal, matrix[i * n + i]);
        for (std::size_t left = top; left < n; left += side) {
            const std::size_t columns = std::min(side, n - left);
            for (std::size_t j = 0; j < columns; ++j) {
                const T* row = matrix + (left + j) * n + top;
                update_extremes(row, rows);
                for (std::size_t i = 0; i < rows; ++i) across[i][j] = row[i];
            }
            for (std::size_t i = 0; i < rows; ++i) {
                const T* row = matrix + (top + i) * n + left;
                update_extremes(row, columns);
                for (std::size_t j = 0; j < columns; ++j) {
                    const T gap = row[j] - across[i][j], size = gap < 0 ? -gap : gap;
                    asymmetry[j] = size > asymmetry[j] ? size : asymmetry[j];
                }
            }
        }
    }
    MatrixSummary all{low[0], high[0], taint[0], diagonal, asymmetry[0]};
    for (std::size_t j = 1; j < side; ++j)
        all = {std::min<double>(all.low, low[j]), std::max<double>(all.high, high[j]),
               all.taint + taint[j], all.diagonal, std::max<double>(all.asymmetry, asymmetry[j])};
    return all;
}

}  // namespace partita::PARTITA_ISA
