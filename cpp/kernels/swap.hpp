// The swaps of k-medoids: what a candidate gains in the place of each medoid, found in one pass over
// its dissimilarities (FasterPAM). Sums are doubles, in the order of the rows within kLanes lanes: the
// same bits on every instruction set.
#pragma once

#include <algorithm>
#include <limits>

#include "vec.hpp"
#include "views.hpp"

namespace partita::PARTITA_ISA {

constexpr std::size_t kChunk = 64;  // points whose comparison fills a word
constexpr std::size_t kWide = 8;    // lanes of sums over all rows

// Bit i: whether a[i] < b[i], for kChunk values.
template <class T>
PARTITA_INLINE std::uint64_t fewer(const T* a, const T* b) {
    using S = Simd<T>;
    std::uint64_t word = 0;
#pragma GCC unroll 16
    for (std::size_t i = 0; i < kChunk; i += S::width) {
        typename S::Reg x, y;
        __builtin_memcpy(&x, a + i, sizeof x);
        __builtin_memcpy(&y, b + i, sizeof y);
        word |= static_cast<std::uint64_t>(S::bits(S::less(x, y))) << i;
    }
    return word;
}

// The best medoid to give up for the candidate with this column. Only a point that is nearer to it
// than to its second medoid has a say:
//   nearer than to its first:  the loss falls by w(closest − δ) whoever goes, and the own medoid is
//                              not missed: w(closest − next) of its removal is taken back;
//   otherwise:                 if the own medoid goes, the candidate takes over: w(δ − next).
// `sums` has room for kFew·k doubles.
template <class T>
Exchange swap_change(const SwapView<T>& view, const T* column, double* sums) {
    const std::size_t k = view.k;
    std::fill_n(sums, kFew * k, 0.0);
    double gain[kFew] = {};
    const auto meet = [&](std::size_t i) {
        const double d = column[i], first = view.closest[i], second = view.next[i];
        const double w = view.weight ? view.weight[i] : 1.0;
        const double nearer = d - first, kept = (d > first ? d : first) - second;
        gain[i % kFew] += w * (nearer < 0 ? nearer : 0.0);
        sums[i % kFew * k + static_cast<std::size_t>(view.near[i])] += w * kept;
    };
    std::size_t i = 0;
    for (; i + kChunk <= view.n; i += kChunk)
        for (std::uint64_t word = fewer(column + i, view.next + i); word; word &= word - 1)
            meet(i + static_cast<std::size_t>(__builtin_ctzll(word)));
    for (; i < view.n; ++i)
        if (column[i] < view.next[i]) meet(i);
    Exchange best{std::numeric_limits<double>::infinity(), 0};
    for (std::size_t j = 0; j < k; ++j) {
        const double lost =
            view.removal[j] + ((sums[j] + sums[k + j]) + (sums[2 * k + j] + sums[3 * k + j]));
        if (lost < best.change) best = {lost, static_cast<std::int32_t>(j)};
    }
    best.change += (gain[0] + gain[1]) + (gain[2] + gain[3]);
    return best;
}

// The two nearest medoids of point i, the lower place on ties.
template <class T>
PARTITA_INLINE void look_up(const SwapView<T>& view, std::size_t i) {
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
void nearest_two(const SwapView<T>& view) {
    for (std::size_t i = 0; i < view.n; ++i) look_up(view, i);
}

// Σ term(i) over all rows, in kWide lanes.
template <class Term>
PARTITA_INLINE double lane_sum(std::size_t n, Term term) {
    double lane[kWide] = {};
    std::size_t i = 0;
    for (; i + kWide <= n; i += kWide)
        for (std::size_t l = 0; l < kWide; ++l) lane[l] += term(i + l);
    for (; i < n; ++i) lane[i % kWide] += term(i);
    double sum = lane[0];
    for (std::size_t l = 1; l < kWide; ++l) sum += lane[l];
    return sum;
}

// Puts the candidate with this column in a place, and returns the loss. `place` = k changes nothing:
// it only adds up.
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
                    look_up(view, i);
            } else if (d < view.closest[i]) {
                view.next[i] = view.closest[i], view.second[i] = view.near[i];
                view.closest[i] = d, view.near[i] = here;
            } else if (d < view.next[i]) {
                view.next[i] = d, view.second[i] = here;
            } else if (view.second[i] == here) {
                look_up(view, i);
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

// How much nearer the points come to a new medoid; without `closest`, how far they are from it.
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

// Rows first..last of a square matrix against the columns of the same numbers, tile by tile. Every
// column of a tile has extremes of its own, so that they are vectors.
template <class T>
Looks inspect(const T* matrix, std::size_t n, std::size_t first, std::size_t last) {
    constexpr std::size_t side = 32;
    T low[side], high[side], taint[side], uneven[side], across[side][side], diagonal = 0;
    std::fill_n(low, side, std::numeric_limits<T>::infinity());
    std::fill_n(high, side, -std::numeric_limits<T>::infinity());
    std::fill_n(taint, side, T{0});
    std::fill_n(uneven, side, T{0});
    const auto note = [&](const T* row, std::size_t count) {
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
                note(row, rows);
                for (std::size_t i = 0; i < rows; ++i) across[i][j] = row[i];
            }
            for (std::size_t i = 0; i < rows; ++i) {
                const T* row = matrix + (top + i) * n + left;
                note(row, columns);
                for (std::size_t j = 0; j < columns; ++j) {
                    const T gap = row[j] - across[i][j], size = gap < 0 ? -gap : gap;
                    uneven[j] = size > uneven[j] ? size : uneven[j];
                }
            }
        }
    }
    Looks all{low[0], high[0], taint[0], diagonal, uneven[0]};
    for (std::size_t j = 1; j < side; ++j)
        all = {std::min<double>(all.low, low[j]), std::max<double>(all.high, high[j]),
               all.taint + taint[j], all.diagonal, std::max<double>(all.asymmetry, uneven[j])};
    return all;
}

}  // namespace partita::PARTITA_ISA
