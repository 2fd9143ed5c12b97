// Rows that the fast scores leave open, decided by D64.
//
// Such a row is scored once more, to see which centers its margin leaves; there are two or three as a
// rule. Only where the margin says nothing (groups far apart, in float32) D64 meets all centers.
#pragma once

#include "exact.hpp"
#include "pack.hpp"

namespace partita::PARTITA_ISA {

constexpr int kMostCandidates = 8;

// One panel of open rows. `bar` is what a score must not exceed for its center to be a candidate.
template <class T>
struct Open {
    static constexpr std::size_t W = kPanelWidth<T>;
    std::size_t count = 0;
    std::size_t row[W];
    T bar[W];
    int candidates[W];
    std::int32_t candidate[W][kMostCandidates];
    std::int32_t label[W];  // out

    void push(std::size_t i, T limit) { row[count] = i, bar[count++] = limit; }
};

template <class T>
void find_candidates(const BookView<T>& book, const T* panel, Open<T>& open) {
    constexpr std::size_t W = kPanelWidth<T>;
    alignas(64) T score[kTileRows * W];
    const std::size_t depth = book.depth;
    for (std::size_t i = 0; i < open.count; ++i) open.candidates[i] = 0;
    for (std::size_t q = 0; q < book.tiles; ++q) {
        const std::size_t first = book.first[q];
        const int rows = tile_rows(book, q);
        tile_out_of<T>(rows)(panel, book.packed + first * depth, book.start + first, depth, score);
        for (int r = 0; r < rows; ++r)
            for (std::size_t i = 0; i < open.count; ++i) {
                if (score[static_cast<std::size_t>(r) * W + i] > open.bar[i]) continue;
                const int have = open.candidates[i]++;  // NaN is a candidate too
                if (have < kMostCandidates)
                    open.candidate[i][have] = static_cast<std::int32_t>(first) + r;
            }
    }
}

// Fills open.label. Scratch: `few` (kPanelWidth, d) rows, `padded` the same in T,
// `panel` (depth, kPanelWidth), `exact`.
template <class T, class R>
void decide(const BookView<T>& book, const R* rows, Open<T>& open, R* few, T* padded, T* panel,
            double* exact) {
    constexpr std::size_t W = kPanelWidth<T>;
    alignas(64) T square[W], norm[W];
    for (std::size_t i = 0; i < W; ++i) {
        const R* x = rows + open.row[i < open.count ? i : 0] * book.d;
        for (std::size_t t = 0; t < book.d; ++t) few[i * book.d + t] = x[t];
    }
    pack_panel(book, few, padded, panel, square, norm);
    find_candidates(book, panel, open);
    std::int32_t all[W];
    std::size_t hopeless = 0;
    for (std::size_t i = 0; i < open.count; ++i) {
        if (open.candidates[i] > kMostCandidates || open.candidates[i] == 0) {
            all[hopeless++] = static_cast<std::int32_t>(i);
            continue;
        }
        double low = __builtin_inf();
        for (int c = 0; c < open.candidates[i]; ++c) {
            const std::int32_t j = open.candidate[i][c];
            const double distance =
                exact_distance(book.exact, few + i * book.d, static_cast<std::size_t>(j));
            if (distance < low) low = distance, open.label[i] = j;  // candidates ascend
        }
        if (!(low < __builtin_inf())) all[hopeless++] = static_cast<std::int32_t>(i);
    }
    for (std::size_t i = 0; i < hopeless; i += kExactWidth) {
        const std::size_t m = hopeless - i < kExactWidth ? hopeless - i : kExactWidth;
        std::int32_t label[kExactWidth];
        exact_nearest(book.exact, few, all + i, m, exact, label);
        for (std::size_t r = 0; r < m; ++r) open.label[all[i + r]] = label[r];
    }
}

}  // namespace partita::PARTITA_ISA
