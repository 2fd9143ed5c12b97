// Packing of rows for the tiles: transposed, centred, scaled.
#pragma once

#include "tile.hpp"
#include "views.hpp"

namespace partita::PARTITA_ISA {

PARTITA_INLINE void prefetch_bytes(const void* from, std::size_t bytes) {
    const char* at = static_cast<const char*>(from);
    for (std::size_t b = 0; b < bytes; b += 64) __builtin_prefetch(at + b, 0, 2);
}

// The beginning of a row; the hardware prefetches the rest.
template <class R>
PARTITA_INLINE void prefetch_row(const R* row, std::size_t d) {
    constexpr std::size_t most = 512;
    prefetch_bytes(row, d * sizeof(R) < most ? d * sizeof(R) : most);
}

// Transposes a vector of rows of which row(l) is the l-th: calls put(t, values) for every feature
// t, in order. The last features are read with some before them, as a whole group.
template <class T, class Row, class Put>
PARTITA_INLINE void columns_of(Row row, std::size_t d, Put put) {
    using S = Simd<T>;
    std::size_t t = 0;
    auto read = [&](std::size_t from, typename S::Reg(&x)[S::group]) {
        S::columns([&](std::size_t l) { return row(l) + from; }, x);
    };
    for (; t + S::group <= d; t += S::group) {
        typename S::Reg x[S::group];
        read(t, x);
#pragma GCC unroll 4
        for (std::size_t g = 0; g < S::group; ++g) put(t + g, x[g]);
    }
    if (t == d) return;
    if (d >= S::group) {
        typename S::Reg x[S::group];
        read(d - S::group, x);
#pragma GCC unroll 4
        for (std::size_t g = 0; g < S::group; ++g)
            if (d - S::group + g >= t) put(d - S::group + g, x[g]);
        return;
    }
    for (; t < d; ++t) {
        alignas(64) T lane[S::width];
        for (std::size_t l = 0; l < S::width; ++l) lane[l] = row(l)[t];
        put(t, S::load(lane));
    }
}

// Transposes `vectors` vectors of rows: calls put(t, v, values) for every feature t.
template <class T, class Put>
PARTITA_INLINE void each_column(const T* rows, std::size_t d, int vectors, Put put) {
    for (int v = 0; v < vectors; ++v) {
        const T* first = rows + static_cast<std::size_t>(v) * Simd<T>::width * d;
        columns_of<T>([&](std::size_t l) { return first + l * d; }, d,
                      [&](std::size_t t, typename Simd<T>::Reg x) { put(t, v, x); });
    }
}

// Centres and scales a row in double and rounds it once to T.
template <class T, class R>
PARTITA_INLINE void centre_row(const BookView<T>& book, const R* x, T* out) {
    const double scale = static_cast<double>(book.fast_scale);
    for (std::size_t t = 0; t < book.d; ++t)
        out[t] = static_cast<T>((static_cast<double>(x[t]) - book.zero[t]) * scale);
}

// Norms, from above. If each center has its own slope, they are also the last row of the panel, so
// that the tile subtracts the error of every pair.
template <class T>
PARTITA_INLINE void set_norms(const BookView<T>& book, const T* square, T* panel, T* norm) {
    constexpr std::size_t W = kPanelWidth<T>;
    const T up = book.norm_up, drift = book.drift;
    alignas(64) T root[W];  // apart from everything else, so that the loop is vectorised
    for (std::size_t r = 0; r < W; ++r) {
        root[r] = sizeof(T) == 4 ? __builtin_sqrtf(square[r]) : __builtin_sqrt(square[r]);
        root[r] = root[r] * up + drift;
    }
    __builtin_memcpy(norm, root, sizeof(root));
    if (book.depth == book.d) return;
    __builtin_memcpy(panel + book.d * W, root, sizeof(root));
}

// Transposes, centres and scales kPanelWidth rows into one panel.
template <class T, class R>
void pack_panel(const BookView<T>& book, const R* rows,
                T* padded,  // scratch: (kPanelWidth, d)
                T* panel, T* square, T* norm) {
    using S = Simd<T>;
    constexpr std::size_t W = kPanelWidth<T>;
    const std::size_t d = book.d;
    typename S::Reg squares[kTileVectors];
    for (int v = 0; v < kTileVectors; ++v) squares[v] = S::set1(0);
    auto keep = [&](std::size_t t, int v, typename S::Reg y) {
        S::store(panel + t * W + static_cast<std::size_t>(v) * S::width, y);
        squares[v] = S::add(squares[v], S::mul(y, y));
    };
    if constexpr (sizeof(R) == sizeof(T)) {
        const typename S::Reg scale = S::set1(book.fast_scale);
        each_column(rows, d, kTileVectors, [&](std::size_t t, int v, typename S::Reg x) {
            keep(t, v, S::sub(S::mul(x, scale), S::set1(book.pivot[t])));
        });
    } else {
        for (std::size_t r = 0; r < W; ++r) centre_row(book, rows + r * d, padded + r * d);
        each_column(static_cast<const T*>(padded), d, kTileVectors, keep);
    }
    for (int v = 0; v < kTileVectors; ++v)
        S::store(square + static_cast<std::size_t>(v) * S::width, squares[v]);
    set_norms(book, square, panel, norm);
}

}  // namespace partita::PARTITA_ISA
