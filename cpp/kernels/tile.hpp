// The register tile: R centers against V vectors of points, nearest and second nearest kept.
#pragma once

#include "vec.hpp"

namespace partita::PARTITA_ISA {

constexpr int kTileVectors = 2;

template <class T>
constexpr std::size_t kPanelWidth = kTileVectors * Simd<T>::width;

// Points lie in lanes: a panel holds kPanelWidth points, feature after feature. Each lane keeps
// the lowest score, the second lowest and the index of the lowest, so there is no horizontal
// step and X needs no more than one transposed block at a time. Measured against centers in lanes:
// the running minima are 6 registers a tile instead of 42, which is what small d is made of.
//
//     score(i, j) = start_j − Σ_t center_jt · point_it
//
// Ties keep the earlier center: less() is strict and centers come in ascending order.
template <class T, int R>
void tile(const T* panel,                       // in: (depth, kPanelWidth)
          const T* centers,                     // in: (depth, R)
          const T* start,                       // in: (R)
          std::size_t depth, std::int64_t first,  // index of the tile's first center
          T* best, T* second,                   // inout: (kPanelWidth)
          typename Simd<T>::Int* nearest) {     // inout: (kPanelWidth)
    using S = Simd<T>;
    constexpr int V = kTileVectors;
    typename S::Reg acc[R][V];
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r)
#pragma GCC unroll 4
        for (int v = 0; v < V; ++v) acc[r][v] = S::set1(start[r]);
    for (std::size_t t = 0; t < depth; ++t) {
        typename S::Reg y[V];
#pragma GCC unroll 4
        for (int v = 0; v < V; ++v) y[v] = S::load(panel + v * S::width);
#pragma GCC unroll 16
        for (int r = 0; r < R; ++r) {
            const typename S::Reg c = S::set1(centers[r]);
#pragma GCC unroll 4
            for (int v = 0; v < V; ++v) acc[r][v] = S::fnmadd(c, y[v], acc[r][v]);
        }
        panel += kPanelWidth<T>;
        centers += R;
    }
    typename S::Reg low[V], low2[V];
    typename S::IntReg arg[V];
#pragma GCC unroll 4
    for (int v = 0; v < V; ++v) {
        low[v] = S::load(best + v * S::width);
        low2[v] = S::load(second + v * S::width);
        arg[v] = S::load_int(nearest + v * S::width);
    }
    typename S::IntReg j = S::set1_int(static_cast<typename S::Int>(first));
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r) {
#pragma GCC unroll 4
        for (int v = 0; v < V; ++v) {
            const typename S::Mask closer = S::less(acc[r][v], low[v]);
            low2[v] = S::min(low2[v], S::max(low[v], acc[r][v]));
            low[v] = S::min(low[v], acc[r][v]);
            arg[v] = S::select(closer, j, arg[v]);
        }
        j = S::next(j);
    }
#pragma GCC unroll 4
    for (int v = 0; v < V; ++v) {
        S::store(best + v * S::width, low[v]);
        S::store(second + v * S::width, low2[v]);
        S::store_int(nearest + v * S::width, arg[v]);
    }
}

template <class T>
using TileFunction = void (*)(const T*, const T*, const T*, std::size_t, std::int64_t, T*, T*,
                              typename Simd<T>::Int*);

// tile_of<T>(r) is the tile for r centers, 1 <= r <= kTileRows.
template <class T, int R = kTileRows>
PARTITA_INLINE TileFunction<T> tile_of(int rows) {
    if constexpr (R == 1)
        return &tile<T, 1>;
    else
        return rows == R ? &tile<T, R> : tile_of<T, R - 1>(rows);
}

}  // namespace partita::PARTITA_ISA
