// The fused pass over dense rows: distance, nearest, second nearest, sums. Serial on purpose:
// blocks are the unit of parallelism. Never more than one block of scores exists.
#pragma once

#include "exact.hpp"
#include "moments.hpp"
#include "tile.hpp"

namespace partita::PARTITA_ISA {

constexpr std::size_t kPointBytes = 256 * 1024;   // packed points at a time: well inside L2
constexpr std::size_t kCenterBytes = 512 * 1024;  // centers swept over them before the next block
constexpr std::size_t kMostPoints = 512;

template <class T>
constexpr std::size_t block_points(std::size_t d) {
    const std::size_t fit = kPointBytes / ((d + 1) * sizeof(T)) / kPanelWidth<T> * kPanelWidth<T>;
    const std::size_t most = kMostPoints / kPanelWidth<T> * kPanelWidth<T>;
    return fit < kPanelWidth<T> ? kPanelWidth<T> : (fit > most ? most : fit);
}

constexpr std::size_t aligned(std::size_t bytes) { return (bytes + 63) / 64 * 64; }

// All the memory a pass needs, cut from one piece that the caller allocates.
template <class T>
struct Scratch {
    T *panels, *best, *second, *norm, *square;
    typename Simd<T>::Int* nearest;
    std::int32_t *label, *listed;
    double *lower, *exact;
    std::int32_t* pending;
    unsigned char* fold;

    static std::size_t bytes(std::size_t d) {
        const std::size_t b = block_points<T>(d);
        return aligned(b * (d + 1) * sizeof(T)) + 4 * aligned(b * sizeof(T)) +
               aligned(b * sizeof(typename Simd<T>::Int)) + 2 * aligned(b * 4) + aligned(b * 8) +
               aligned(d * kExactWidth * 8) + aligned((b + kExactWidth) * 4) +
               aligned(Folder<T>::bytes(d));
    }
    Scratch(unsigned char* memory, std::size_t d) {
        const std::size_t b = block_points<T>(d);
        auto cut = [&memory](std::size_t size) {
            unsigned char* piece = memory;
            memory += aligned(size);
            return piece;
        };
        panels = reinterpret_cast<T*>(cut(b * (d + 1) * sizeof(T)));
        best = reinterpret_cast<T*>(cut(b * sizeof(T)));
        second = reinterpret_cast<T*>(cut(b * sizeof(T)));
        norm = reinterpret_cast<T*>(cut(b * sizeof(T)));
        square = reinterpret_cast<T*>(cut(b * sizeof(T)));
        nearest = reinterpret_cast<typename Simd<T>::Int*>(cut(b * sizeof(typename Simd<T>::Int)));
        label = reinterpret_cast<std::int32_t*>(cut(b * 4));
        listed = reinterpret_cast<std::int32_t*>(cut(b * 4));
        lower = reinterpret_cast<double*>(cut(b * 8));
        exact = reinterpret_cast<double*>(cut(d * kExactWidth * 8));
        pending = reinterpret_cast<std::int32_t*>(cut((b + kExactWidth) * 4));
        fold = cut(Folder<T>::bytes(d));
    }
};

// Transposes, centres and scales up to kPanelWidth rows into one panel; its last row holds what
// each point's norm may cost a score, so that the tile subtracts the error of every single pair.
template <class T>
void pack_panel(const BookView<T>& book, const T* rows, std::size_t m, T* panel, T* square,
                T* norm) {
    constexpr std::size_t W = kPanelWidth<T>;
    constexpr std::size_t chunk = 64;  // features at a time, so that the panel stays in L1
    const std::size_t d = book.d;
    T squares[W] = {};
    for (std::size_t from = 0; from < d; from += chunk) {
        const std::size_t to = d - from < chunk ? d : from + chunk;
        for (std::size_t r = 0; r < W; ++r) {
            if (r < m) {
                const T* x = rows + r * d;
                for (std::size_t t = from; t < to; ++t)
                    panel[t * W + r] = x[t] * book.fast_scale - book.pivot[t];
            } else {
                for (std::size_t t = from; t < to; ++t) panel[t * W + r] = 0;
            }
        }
        for (std::size_t t = from; t < to; ++t)
            for (std::size_t r = 0; r < W; ++r) squares[r] += panel[t * W + r] * panel[t * W + r];
    }
    for (std::size_t r = 0; r < W; ++r) {
        square[r] = squares[r];
        norm[r] = static_cast<T>(__builtin_sqrt(squares[r])) * book.norm_up + book.drift;
        panel[d * W + r] = norm[r];
    }
}

// Labels of one block by the fast scores. Returns how many rows are too close to call; s.listed
// says which.
template <class T>
std::size_t nearest_in_block(const BookView<T>& book, const T* rows, std::size_t m,
                             const Scratch<T>& s, const double* want_lower) {
    constexpr std::size_t W = kPanelWidth<T>;
    const std::size_t depth = book.d + 1, panels = (m + W - 1) / W;
    for (std::size_t p = 0; p < panels; ++p)
        pack_panel(book, rows + p * W * book.d, m - p * W < W ? m - p * W : W,
                   s.panels + p * W * depth, s.square + p * W, s.norm + p * W);
    for (std::size_t r = 0; r < panels * W; ++r) {
        s.best[r] = s.second[r] = static_cast<T>(__builtin_inf());
        s.nearest[r] = 0;
    }
    const std::size_t small = book.k / book.tiles, larger = book.k % book.tiles;
    const TileFunction<T> small_tile = small ? tile_of<T>(static_cast<int>(small)) : nullptr;
    const TileFunction<T> large_tile = larger ? tile_of<T>(static_cast<int>(small + 1)) : nullptr;
    const std::size_t held = kCenterBytes / (depth * sizeof(T) * (small + 1)) + 1;
    for (std::size_t q0 = 0; q0 < book.tiles; q0 += held) {
        const std::size_t q1 = book.tiles - q0 < held ? book.tiles : q0 + held;
        for (std::size_t p = 0; p < panels; ++p)
            for (std::size_t q = q0; q < q1; ++q) {
                const std::size_t first = q * small + (q < larger ? q : larger);
                (q < larger ? large_tile : small_tile)(
                    s.panels + p * W * depth, book.packed + first * depth, book.start + first,
                    depth, static_cast<std::int64_t>(first), s.best + p * W, s.second + p * W,
                    s.nearest + p * W);
            }
    }
    std::size_t close = 0;
    const T limit = static_cast<T>(1ull << 60);  // beyond it scores may overflow: ask D64
    for (std::size_t i = 0; i < m; ++i) {
        const std::size_t j = static_cast<std::size_t>(s.nearest[i]);
        const T norm = s.norm[i];
        const T doubt = 2 * (norm * book.slope[j] + book.slack[j] + norm * norm * book.own_error);
        const bool certain = norm < limit && s.second[i] - s.best[i] > doubt;
        s.label[i] = static_cast<std::int32_t>(j);
        s.listed[close] = static_cast<std::int32_t>(i);
        close += !certain;
        if (want_lower) {
            // ‖y − c‖² = ‖y‖² + 2·score, each from below
            const double safe = static_cast<double>(s.square[i]) * book.square_down +
                                2.0 * static_cast<double>(s.second[i]);
            s.lower[i] = safe > 0.0 ? safe : 0.0;
        }
    }
    return close;
}

// Assigns every row and adds it to its cluster. `label` holds the previous labels (-1: none).
// Rows that the fast scores leave open wait until there are enough of them to fill the lanes of D64.
template <class T>
Outcome assign(const BookView<T>& book, const Rows<T>& rows, const SumView* sums,
               std::int32_t* label, double* lower, unsigned char* memory) {
    const Scratch<T> s(memory, book.d);
    const SumView none{};
    Folder<T> folder(sums ? *sums : none, s.fold);
    const std::size_t b = block_points<T>(book.d);
    const double unscale = 1.0 / book.scale;
    Outcome outcome{0, 0};
    auto settle = [&](std::size_t i, std::int32_t now) {
        if (label[i] == now) return;
        if (sums) folder.push(rows.data + i * rows.d, i, label[i], now);
        label[i] = now;
        ++outcome.moved;
    };
    std::size_t waiting = 0;
    auto decide = [&](std::size_t count) {
        std::int32_t decided[kExactWidth];
        double second[kExactWidth];
        exact_nearest(book, rows.data, s.pending, count, s.exact, decided, second);
        for (std::size_t r = 0; r < count; ++r) {
            const std::size_t i = static_cast<std::size_t>(s.pending[r]);
            if (lower) lower[i] = second[r] * unscale * unscale;
            settle(i, decided[r]);
        }
        outcome.rechecked += static_cast<std::int64_t>(count);
        waiting -= count;
        for (std::size_t r = 0; r < waiting; ++r) s.pending[r] = s.pending[count + r];
    };
    for (std::size_t i = 0; i < rows.n; i += b) {
        const std::size_t m = rows.n - i < b ? rows.n - i : b;
        const std::size_t open = nearest_in_block(book, rows.data + i * rows.d, m, s, lower);
        std::size_t next = 0;
        for (std::size_t r = 0; r < m; ++r) {
            if (next < open && s.listed[next] == static_cast<std::int32_t>(r)) {
                s.pending[waiting++] = static_cast<std::int32_t>(i + r);
                ++next;
                continue;
            }
            if (lower) lower[i + r] = s.lower[r] * unscale * unscale;
            settle(i + r, s.label[r]);
        }
        while (waiting >= kExactWidth) decide(kExactWidth);
    }
    if (waiting) decide(waiting);
    if (sums) folder.flush();
    return outcome;
}

// Moves rows between clusters in the sums: from[i] (-1: new) to to[i]. For a first total, and for
// the rare changes that no assignment made.
template <class T>
void move_rows(const SumView& sums, const Rows<T>& rows, const std::int32_t* from,
               const std::int32_t* to, unsigned char* memory) {
    Folder<T> folder(sums, memory);
    for (std::size_t i = 0; i < rows.n; ++i)
        if (from[i] != to[i]) folder.push(rows.data + i * rows.d, i, from[i], to[i]);
    folder.flush();
}

}  // namespace partita::PARTITA_ISA
