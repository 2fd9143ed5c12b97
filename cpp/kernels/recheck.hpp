// Rows that the fast scores leave open, decided by D64.
//
// Such a row is scored again to find the centers within its margin, usually two or three. Only if
// there are many (clusters far apart, in float32), D64 is computed for all centers.
#pragma once

#include "exact_distance.hpp"
#include "packing.hpp"

namespace partita::PARTITA_ISA {

constexpr int kMaxCandidates = 8;

// One panel of open rows. A center is a candidate if its score does not exceed `threshold`.
template <class T>
struct RecheckPanel {
    static constexpr std::size_t W = kPanelWidth<T>;
    std::size_t count = 0;
    std::size_t row[W];
    T threshold[W];
    int candidates[W];
    std::int32_t candidate[W][kMaxCandidates];
    std::int32_t label[W];  // out

    void push(std::size_t i, T limit) { row[count] = i, threshold[count++] = limit; }
};

template <class T>
void find_candidates(const BookView<T>& book, const T* panel, RecheckPanel<T>& open) {
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
                if (score[static_cast<std::size_t>(r) * W + i] > open.threshold[i]) continue;
                const int have = open.candidates[i]++;  // NaN is a candidate too
                if (have < kMaxCandidates)
                    open.candidate[i][have] = book.member[first + static_cast<std::size_t>(r)];
            }
    }
}

// Sets open.label. Scratch: `gathered` (kPanelWidth, d) rows, `padded` the same in T,
// `panel` (depth, kPanelWidth), `exact` (d, kExactWidth).
template <class T, class R>
void decide_by_d64(const BookView<T>& book, const R* rows, RecheckPanel<T>& open, R* gathered,
                   T* padded, T* panel, double* exact) {
    constexpr std::size_t W = kPanelWidth<T>;
    alignas(64) T square[W], norm[W];
    for (std::size_t i = 0; i < W; ++i) {
        const R* x = rows + open.row[i < open.count ? i : 0] * book.d;
        for (std::size_t t = 0; t < book.d; ++t) gathered[i * book.d + t] = x[t];
    }
    pack_panel(book, gathered, padded, panel, square, norm);
    find_candidates(book, panel, open);
    std::int32_t all[W];
    std::size_t undecided = 0;
    for (std::size_t i = 0; i < open.count; ++i) {
        if (open.candidates[i] > kMaxCandidates || open.candidates[i] == 0) {
            all[undecided++] = static_cast<std::int32_t>(i);
            continue;
        }
        double low = __builtin_inf();
        for (int c = 0; c < open.candidates[i]; ++c) {
            const std::int32_t j = open.candidate[i][c];
            const double distance =
                exact_distance(book.exact, gathered + i * book.d, static_cast<std::size_t>(j));
            if (c == 0 || distance < low || (distance == low && j < open.label[i]))
                low = distance, open.label[i] = j;
        }
        if (!(low < __builtin_inf())) all[undecided++] = static_cast<std::int32_t>(i);
    }
    for (std::size_t i = 0; i < undecided; i += kExactWidth) {
        const std::size_t m = undecided - i < kExactWidth ? undecided - i : kExactWidth;
        std::int32_t label[kExactWidth];
        exact_nearest(book.exact, gathered, all + i, m, exact, label);
        for (std::size_t r = 0; r < m; ++r) open.label[all[i + r]] = label[r];
    }
}

}  // namespace partita::PARTITA_ISA
