// Kernel K-means: sums of rows of a Gram matrix by cluster, and the nearest mean in feature space.
//
// The sum of a cluster is R_j = Σ w_l K_l over its members l: a row as long as the data, from which
// all distances follow. Each term is rounded once to a grid and added as two integers
// (exact_sums.hpp), so a row that leaves a cluster subtracts exactly what it added: no drift, and
// no effect of order.
#pragma once

#include "exact_sums.hpp"
#include "simd.hpp"
#include "views.hpp"

namespace partita::PARTITA_ISA {

// Rows with the same move that are added together.
constexpr std::size_t kMaxRunRows = 4;

template <class T>
struct GramRun {
    const T* row[kMaxRunRows];
    double shift[kMaxRunRows], scale[kMaxRunRows];
    std::int64_t times[kMaxRunRows];
};

// to += Σ times·term and from −= the same, over n columns; low limbs are `stride` after the high
// ones.
template <class T, std::size_t kCount, bool kFrom, bool kTimes>
void add_run(const GramRun<T>& run, const double* __restrict column_shift, double limb,
             std::size_t n, std::int64_t* __restrict to, std::int64_t* __restrict from,
             std::size_t stride) {
    const GramRun<T> in = run;  // a copy, which stores cannot alias
    for (std::size_t i = 0; i < n; ++i) {
        std::int64_t hi = 0, lo = 0;
#pragma GCC unroll 4
        for (std::size_t e = 0; e < kCount; ++e) {
            const double value = static_cast<double>(in.row[e][i]) - column_shift[i];
            const Limbs term = to_grid((value - in.shift[e]) * in.scale[e], 0.0, limb);
            hi += kTimes ? term.hi * in.times[e] : term.hi;
            lo += kTimes ? term.lo * in.times[e] : term.lo;
        }
        to[i] += hi;
        to[i + stride] += lo;
        if constexpr (kFrom) {
            from[i] -= hi;
            from[i + stride] -= lo;
        }
    }
}

template <class T, bool kFrom, bool kTimes>
void add_run_of(std::size_t count, const GramRun<T>& run, const double* column_shift, double limb,
                std::size_t n, std::int64_t* to, std::int64_t* from, std::size_t stride) {
    constexpr decltype(&add_run<T, 1, kFrom, kTimes>) add[kMaxRunRows] = {
        add_run<T, 1, kFrom, kTimes>, add_run<T, 2, kFrom, kTimes>, add_run<T, 3, kFrom, kTimes>,
        add_run<T, 4, kFrom, kTimes>};
    if (count) add[count - 1](run, column_shift, limb, n, to, from, stride);
}

// Moves rows between clusters in the sums, columns first…last−1. Terms must stay below 2^51. Rows
// with the same move should be adjacent.
template <class T>
void gram_move(const GramMoves<T>& moves, std::size_t first, std::size_t last) {
    const auto sum = [&](std::int32_t j) {
        return moves.sums + 2 * static_cast<std::size_t>(j) * moves.n + first;
    };
    for (std::size_t e = 0; e < moves.count;) {
        const std::int32_t before = moves.before[e], after = moves.after[e];
        GramRun<T> run;
        std::size_t count = 0;
        for (; e < moves.count && count < kMaxRunRows; ++e) {
            if (moves.before[e] != before || moves.after[e] != after) break;
            const auto at = static_cast<std::size_t>(moves.which[e]);
            run.row[count] = moves.rows + at * moves.n + first;
            run.shift[count] = moves.row_shift[e];
            run.scale[count] = moves.weight ? moves.scale * moves.weight[e] : moves.scale;
            run.times[count] = moves.times ? moves.times[e] : 1;
            count += run.times[count] != 0 && run.scale[count] != 0;
        }
        if (before == after) continue;
        const auto add = [&](auto add_rows, std::int64_t* from) {
            add_rows(count, run, moves.column_shift + first, moves.limb, last - first, sum(after),
                     from, moves.n);
        };
        if (before < 0)
            moves.times ? add(add_run_of<T, false, true>, nullptr)
                        : add(add_run_of<T, false, false>, nullptr);
        else
            moves.times ? add(add_run_of<T, true, true>, sum(before))
                        : add(add_run_of<T, true, false>, sum(before));
    }
}

// Labels columns first…last−1 by the lowest ‖c‖² − 2⟨φ, c⟩; lower index on ties. A center is stored
// as its inner products with all rows, followed by its squared norm.
inline PassCounts gram_assign(const double* centers, std::size_t k, std::size_t n,
                              std::size_t first, std::size_t last, std::int32_t* label) {
    constexpr std::size_t kBlockColumns = 512;
    alignas(64) double lowest[kBlockColumns];
    alignas(64) std::int64_t best[kBlockColumns];
    PassCounts done{};
    for (std::size_t i = first; i < last; i += kBlockColumns) {
        const std::size_t count = last - i < kBlockColumns ? last - i : kBlockColumns;
        for (std::size_t j = 0; j < k; ++j) {
            const double* __restrict row = centers + j * (n + 1) + i;
            const double square = centers[j * (n + 1) + n];
            const auto here = static_cast<std::int64_t>(j);
            for (std::size_t t = 0; t < count; ++t) {
                const double score = square - 2 * row[t];
                const bool lower = j == 0 || score < lowest[t];
                lowest[t] = lower ? score : lowest[t];
                best[t] = lower ? here : best[t];
            }
        }
        for (std::size_t t = 0; t < count; ++t) {
            const auto j = static_cast<std::int32_t>(best[t]);
            done.moved += label[i + t] != j;
            label[i + t] = j;
        }
    }
    return done;
}

}  // namespace partita::PARTITA_ISA
