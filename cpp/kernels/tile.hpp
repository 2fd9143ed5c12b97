// The register tile: scores of R centers and V vectors of points.
#pragma once

#include "simd.hpp"

namespace partita::PARTITA_ISA {

constexpr int kTileVectors = 2;

template <class T>
constexpr std::size_t kPanelWidth = kTileVectors * Simd<T>::width;

// Points are in lanes: a panel holds kPanelWidth points, feature after feature. So only one block
// of X is transposed at a time, and the minima over centers need no horizontal operation.
//
//     score(i, j) = start_j − Σ_t center_jt · point_it
template <class T, int R>
PARTITA_INLINE void tile_scores(const T* panel,    // in: (depth, kPanelWidth)
                                const T* centers,  // in: (depth, R)
                                const T* start,    // in: (R)
                                std::size_t depth, typename Simd<T>::Reg (&acc)[R][kTileVectors]) {
    using S = Simd<T>;
    constexpr int V = kTileVectors;
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
}

// Updates the lowest score of each lane, the second lowest, and the index of the lowest: index(r) is
// that of center r, and called in order. The running minima take 6 registers per tile; with centers
// in lanes they would take 42, which dominates if d is small. Ties keep the earlier center: less()
// is strict.
template <class T, int R, class Index>
PARTITA_INLINE void keep_lowest(const typename Simd<T>::Reg (&acc)[R][kTileVectors], Index index,
                                T* best, T* second, typename Simd<T>::Int* nearest) {
    using S = Simd<T>;
    constexpr int V = kTileVectors;
    typename S::Reg low[V], low2[V];
    typename S::IntReg arg[V];
#pragma GCC unroll 4
    for (int v = 0; v < V; ++v) {
        low[v] = S::load(best + v * S::width);
        low2[v] = S::load(second + v * S::width);
        arg[v] = S::load_int(nearest + v * S::width);
    }
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r) {
        const typename S::IntReg j = index(r);
#pragma GCC unroll 4
        for (int v = 0; v < V; ++v) {
            const typename S::Mask closer = S::less(acc[r][v], low[v]);
            low2[v] = S::min(low2[v], S::max(low[v], acc[r][v]));
            low[v] = S::min(low[v], acc[r][v]);
            arg[v] = S::select(closer, j, arg[v]);
        }
    }
#pragma GCC unroll 4
    for (int v = 0; v < V; ++v) {
        S::store(best + v * S::width, low[v]);
        S::store(second + v * S::width, low2[v]);
        S::store_int(nearest + v * S::width, arg[v]);
    }
}

// The indices of consecutive centers.
template <class T>
PARTITA_INLINE auto consecutive(std::int64_t first) {
    using S = Simd<T>;
    return [j = S::set1_int(static_cast<typename S::Int>(first))](int) mutable {
        const typename S::IntReg now = j;
        j = S::next(j);
        return now;
    };
}

template <class T, int R>
void tile(const T* panel, const T* centers, const T* start, std::size_t depth,
          std::int64_t first,                // index of the tile's first center
          T* best, T* second,                // inout: (kPanelWidth)
          typename Simd<T>::Int* nearest) {  // inout: (kPanelWidth)
    typename Simd<T>::Reg acc[R][kTileVectors];
    tile_scores<T, R>(panel, centers, start, depth, acc);
    keep_lowest<T, R>(acc, consecutive<T>(first), best, second, nearest);
}

// The same; also lowers `low` to the lowest score of each lane in this tile. Quick if no center of
// the tile is nearest to any row: the second lowest score is then all that may change.
template <class T, int R>
void tile_with_low(const T* panel, const T* centers, const T* start, std::size_t depth,
                   std::int64_t first, T* best, T* second, typename Simd<T>::Int* nearest,
                   T* low) {  // inout: (kPanelWidth)
    using S = Simd<T>;
    constexpr int V = kTileVectors;
    typename S::Reg acc[R][V], least[V];
    tile_scores<T, R>(panel, centers, start, depth, acc);
    std::uint32_t closer = 0;
#pragma GCC unroll 4
    for (int v = 0; v < V; ++v) {
        least[v] = acc[0][v];
#pragma GCC unroll 16
        for (int r = 1; r < R; ++r) least[v] = S::min(least[v], acc[r][v]);
        S::store(low + v * S::width, S::min(S::load(low + v * S::width), least[v]));
        closer |= S::bits(S::less(least[v], S::load(best + v * S::width)));
    }
    if (closer) {
        keep_lowest<T, R>(acc, consecutive<T>(first), best, second, nearest);
        return;
    }
#pragma GCC unroll 4
    for (int v = 0; v < V; ++v)
        S::store(second + v * S::width, S::min(S::load(second + v * S::width), least[v]));
}

// Writes all scores, out: (R, kPanelWidth).
template <class T, int R>
void tile_out(const T* panel, const T* centers, const T* start, std::size_t depth, T* out) {
    using S = Simd<T>;
    typename S::Reg acc[R][kTileVectors];
    tile_scores<T, R>(panel, centers, start, depth, acc);
    for (int r = 0; r < R; ++r)
        for (int v = 0; v < kTileVectors; ++v)
            S::store(out + r * kPanelWidth<T> + v * S::width, acc[r][v]);
}

// hits[r]: one bit per lane whose score does not exceed the lane's threshold. `low`: the lowest of
// the other scores. Returns true if there is any hit.
template <class T, int R>
bool tile_filter(const T* panel, const T* centers, const T* start, std::size_t depth,
                 const T* threshold,     // in: (kPanelWidth)
                 T* low,                 // inout: (kPanelWidth)
                 std::uint32_t* hits) {  // out: (R)
    using S = Simd<T>;
    constexpr int V = kTileVectors;
    const std::uint32_t all = first_bits(kPanelWidth<T>);
    typename S::Reg acc[R][V];
    tile_scores<T, R>(panel, centers, start, depth, acc);
    std::uint32_t any = 0;
    typename S::Reg over[V], least[V];
#pragma GCC unroll 4
    for (int v = 0; v < V; ++v) {
        over[v] = S::load(threshold + v * S::width);
        least[v] = S::load(low + v * S::width);
    }
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r) {
        std::uint32_t beyond = 0;
#pragma GCC unroll 4
        for (int v = 0; v < V; ++v) {
            const typename S::Mask safe = S::less(over[v], acc[r][v]);  // false for NaN
            least[v] = S::min_where(safe, least[v], acc[r][v]);
            beyond |= S::bits(safe) << (static_cast<unsigned>(v) * S::width);
        }
        hits[r] = ~beyond & all;
        any |= hits[r];
    }
#pragma GCC unroll 4
    for (int v = 0; v < V; ++v) S::store(low + v * S::width, least[v]);
    return any != 0;
}

// The instance of a tile for so many centers, 1 … R: `of.operator()<R>()` is that for R.
template <int R = kTileRows, class Of>
PARTITA_INLINE auto for_centers(int centers, Of of) {
    if constexpr (R == 1)
        return of.template operator()<1>();
    else
        return centers == R ? of.template operator()<R>() : for_centers<R - 1>(centers, of);
}

template <class T>
PARTITA_INLINE auto tile_of(int centers) {
    return for_centers(centers, []<int R>() { return &tile<T, R>; });
}
template <class T>
PARTITA_INLINE auto tile_with_low_of(int centers) {
    return for_centers(centers, []<int R>() { return &tile_with_low<T, R>; });
}
template <class T>
PARTITA_INLINE auto tile_out_of(int centers) {
    return for_centers(centers, []<int R>() { return &tile_out<T, R>; });
}
template <class T>
PARTITA_INLINE auto tile_filter_of(int centers) {
    return for_centers(centers, []<int R>() { return &tile_filter<T, R>; });
}

template <class Book>
PARTITA_INLINE int tile_rows(const Book& book, std::size_t q) {
    return static_cast<int>(book.first[q + 1] - book.first[q]);
}

}  // namespace partita::PARTITA_ISA
