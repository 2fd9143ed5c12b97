// Tiles of centers that are anywhere in memory.
#pragma once

#include "tile.hpp"

namespace partita::PARTITA_ISA {

// Centers of a large tile and of a small one. With the lowest scores of all of them in one vector,
// they take few horizontal operations.
constexpr std::size_t kListCenters = kTileRows > 8 ? 8 : 4, kFewCenters = 4;

// Scores of R centers in `list` with a panel of rows. Their values are copied side by side first:
// registers do not hold so many pointers.
template <class T, std::size_t R>
PARTITA_INLINE void scores_of_list(const T* panel,    // in: (depth, kPanelWidth)
                                   const T* centers,  // in: (k, stride), center after center
                                   const T* start,    // in: (k)
                                   std::size_t depth,
                                   std::size_t stride,  // whole vectors, at least depth
                                   const typename Simd<T>::Int* list,  // in: (R)
                                   typename Simd<T>::Reg (&acc)[R][kTileVectors]) {
    using S = Simd<T>;
    constexpr std::size_t W = S::width;
    constexpr int V = kTileVectors;
    alignas(64) T tile[R * W];  // (center, feature)
#pragma GCC unroll 16
    for (std::size_t r = 0; r < R; ++r)
#pragma GCC unroll 4
        for (int v = 0; v < V; ++v) acc[r][v] = S::set1(start[list[r]]);
    for (std::size_t from = 0; from < depth; from += W) {
#pragma GCC unroll 16
        for (std::size_t r = 0; r < R; ++r)
            S::store(tile + r * W,
                     S::load(centers + static_cast<std::size_t>(list[r]) * stride + from));
        const std::size_t features = depth - from < W ? depth - from : W;
        for (std::size_t t = 0; t < features; ++t, panel += kPanelWidth<T>) {
            typename S::Reg y[V];
#pragma GCC unroll 4
            for (int v = 0; v < V; ++v) y[v] = S::load(panel + v * S::width);
#pragma GCC unroll 16
            for (std::size_t r = 0; r < R; ++r) {
                const typename S::Reg c = S::set1(tile[r * W + t]);
#pragma GCC unroll 4
                for (int v = 0; v < V; ++v) acc[r][v] = S::fnmadd(c, y[v], acc[r][v]);
            }
        }
    }
}

// Sets for each of R centers the least that its scores exceed those in `own` by. Where that is not
// above `enough` for all of them, their scores are kept as tile() does; returns whether they were.
template <class T, std::size_t R>
bool tile_of_list(const T* panel, const T* centers, const T* start, std::size_t depth,
                  std::size_t stride, const typename Simd<T>::Int* list,
                  const T* own,  // in: (kPanelWidth)
                  T enough, T* best, T* second,
                  typename Simd<T>::Int* nearest,  // inout: (kPanelWidth)
                  T* least) {                      // out: (R)
    using S = Simd<T>;
    typename S::Reg acc[R][kTileVectors], more[R];
    scores_of_list<T, R>(panel, centers, start, depth, stride, list, acc);
#pragma GCC unroll 16
    for (std::size_t r = 0; r < R; ++r) {
        more[r] = S::sub(acc[r][0], S::load(own));
#pragma GCC unroll 4
        for (int v = 1; v < kTileVectors; ++v)
            more[r] = S::min(more[r], S::sub(acc[r][v], S::load(own + v * S::width)));
    }
    const typename S::Reg low = S::lowest_of_each(more);
    alignas(64) T each[S::width];
    S::store(each, low);
    __builtin_memcpy(least, each, R * sizeof(T));
    if (S::bits(S::less(S::set1(enough), low)) == first_bits(S::width)) return false;  // NaN: not
    keep_lowest<T, R>(acc, [&](int r) { return S::set1_int(list[r]); }, best, second, nearest);
    return true;
}

}  // namespace partita::PARTITA_ISA
