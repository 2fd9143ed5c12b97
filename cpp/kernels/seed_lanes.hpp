// Distances of k-means++ for many rows of a leaf at once: rows are in lanes, and every sum is that
// of seed_distance, in the same order.
#pragma once

#include "packing.hpp"

namespace partita::PARTITA_ISA {

constexpr std::size_t kSeedLanes = 16;      // features t, t + 16, t + 32, … are summed in lane t
constexpr std::size_t kSeedLeafRows = 256;  // rows whose gain and potential are summed together
constexpr std::size_t kMarkWords = kSeedLeafRows / 64;  // marks of a leaf: one bit per row
constexpr std::size_t kBatchRows = 64;                  // rows that are compared at a time
constexpr std::size_t kMaxBatchRowBytes = 512;          // so that a batch stays in L1
constexpr int kBatchVectors = 4;      // vectors of rows that are compared at a time
constexpr std::size_t kMinBatch = 8;  // fewer rows are compared one by one
constexpr int kMinWordRows = 48;      // of 64, to compare all of them without gathering

// Not a power of two, which would crowd the columns into few sets of the cache.
template <class T>
constexpr std::size_t kBatchStride = kBatchRows + 64 / sizeof(T);

template <class T>
constexpr bool fits_batch(std::size_t d) {
    return d * sizeof(T) <= kMaxBatchRowBytes;
}

PARTITA_INLINE double sum_eight(const double* lane) {
    return ((lane[0] + lane[1]) + (lane[2] + lane[3])) +
           ((lane[4] + lane[5]) + (lane[6] + lane[7]));
}

// Σ of up to kSeedLeafRows values in eight lanes, added in a fixed tree.
PARTITA_INLINE double leaf_sum(const double* value, std::size_t m) {
    alignas(64) double lane[8] = {};
    std::size_t i = 0;
    for (; i + 8 <= m; i += 8)
        for (std::size_t l = 0; l < 8; ++l) lane[l] += value[i + l];
    for (; i < m; ++i) lane[i % 8] += value[i];
    return sum_eight(lane);
}

// The listed rows, feature after feature, times `scale`. The rest of kBatchVectors vectors is filled
// up with the last row.
template <class T>
void fill_columns(const T* rows, std::size_t d, const std::int32_t* list, std::size_t m, T scale,
                  T* columns) {  // out: (d, kBatchStride)
    using S = Simd<T>;
    constexpr std::size_t W = S::width;
    constexpr std::size_t step = kBatchVectors * W;
    for (std::size_t r = 0; r < (m + step - 1) / step * step; r += W) {
        auto put = [&](std::size_t t, typename S::Reg x) {
            S::store(columns + t * kBatchStride<T> + r, S::mul(x, S::set1(scale)));
        };
        const std::size_t first = static_cast<std::size_t>(list[r < m ? r : m - 1]);
        if (r + W <= m && static_cast<std::size_t>(list[r + W - 1]) - first == W - 1) {
            columns_of<T>([&](std::size_t l) { return rows + (first + l) * d; }, d, put);
            continue;
        }
        const T* row[W];
        for (std::size_t l = 0; l < W; ++l)
            row[l] = rows + static_cast<std::size_t>(list[r + l < m ? r + l : m - 1]) * d;
        columns_of<T>([&](std::size_t l) { return row[l]; }, d, put);
    }
}

// Sums of lanes l, l + Step, l + 2·Step, … for some vectors of rows, in the tree of seed_distance:
// lanes l and l + 8 first. Lanes beyond the features are zero, so they are left out.
template <class T, int Step>
PARTITA_INLINE void lane_tree(const T* columns, const T* candidate, std::size_t d, std::size_t l,
                              typename Simd<T>::Reg (&total)[kBatchVectors]) {
    using S = Simd<T>;
    constexpr int V = kBatchVectors;
    if constexpr (Step == static_cast<int>(kSeedLanes)) {
        const T* at = columns + l * kBatchStride<T>;
        typename S::Reg c = S::set1(candidate[l]);
#pragma GCC unroll 4
        for (int v = 0; v < V; ++v) {
            const typename S::Reg gap = S::sub(S::load(at + v * static_cast<int>(S::width)), c);
            total[v] = S::mul(gap, gap);
        }
        for (std::size_t t = l + kSeedLanes; t < d; t += kSeedLanes) {
            at += kSeedLanes * kBatchStride<T>;
            c = S::set1(candidate[t]);
#pragma GCC unroll 4
            for (int v = 0; v < V; ++v) {
                const typename S::Reg gap = S::sub(S::load(at + v * static_cast<int>(S::width)), c);
                total[v] = S::add(total[v], S::mul(gap, gap));
            }
        }
    } else {
        lane_tree<T, 2 * Step>(columns, candidate, d, l, total);
        if (l + Step >= d) return;
        typename S::Reg other[V];
        lane_tree<T, 2 * Step>(columns, candidate, d, l + Step, other);
#pragma GCC unroll 4
        for (int v = 0; v < V; ++v) total[v] = S::add(total[v], other[v]);
    }
}

// seed_distance of m rows to one candidate; `out` has room for kBatchRows.
template <class T>
void distances_across(const T* columns, const T* candidate, std::size_t d, std::size_t m, T* out) {
    using S = Simd<T>;
    constexpr std::size_t step = kBatchVectors * S::width;
    static_assert(kBatchRows % step == 0);
    for (std::size_t r = 0; r < m; r += step) {
        typename S::Reg total[kBatchVectors];
        lane_tree<T, 1>(columns + r, candidate, d, 0, total);
#pragma GCC unroll 4
        for (std::size_t v = 0; v < kBatchVectors; ++v) S::store(out + r + v * S::width, total[v]);
    }
}

// The candidates of a round.
template <class T>
struct Candidates {
    const T* padded;  // (count, padded d) times scale
    std::size_t count, stride;
    const T* of(std::size_t c) const { return padded + c * stride; }
};

// One leaf of a round, from its first row on.
template <class T>
struct SeedLeaf {
    const T* rows;
    std::size_t d;
    T scale;
    const T* closest;
    const double* weight;  // or null
    std::uint64_t* mark;   // (count, kMarkWords)
    double* less;          // (count, kSeedLeafRows) w·max(0, closest − distance)
};

// Compares the listed rows of a leaf with all candidates.
template <class T>
void gain_of_batch(const SeedLeaf<T>& leaf, const Candidates<T>& candidates,
                   const std::int32_t* list, std::size_t m) {
    using S = Simd<T>;
    alignas(64) T columns[kMaxBatchRowBytes / sizeof(T) * kBatchStride<T>];
    alignas(64) T distance[kBatchRows], now[kBatchRows];
    alignas(64) double less[kBatchRows], weight[kBatchRows];
    fill_columns(leaf.rows, leaf.d, list, m, leaf.scale, columns);
    const std::int32_t first = list[0];
    const bool word = m == kBatchRows && first % 64 == 0 && list[m - 1] == first + 63;
    for (std::size_t i = 0; word && i < kBatchRows; ++i) now[i] = leaf.closest[first + i];
    for (std::size_t i = 0; !word && i < kBatchRows; ++i) {
        now[i] = i < m ? leaf.closest[list[i]] : T(0);
        distance[i] = T(0);
    }
    for (std::size_t i = 0; leaf.weight && i < kBatchRows; ++i)
        weight[i] = i < m ? leaf.weight[list[i]] : 0.0;
    for (std::size_t c = 0; c < candidates.count; ++c) {
        distances_across(columns, candidates.of(c), leaf.d, m, distance);
        double* out = leaf.less + c * kSeedLeafRows;
        double* these = word ? out + first : less;
        for (std::size_t i = 0; i < kBatchRows; ++i) {
            const double near = static_cast<double>(now[i]), far = static_cast<double>(distance[i]);
            these[i] = far < near ? near - far : 0.0;
        }
        if (leaf.weight)
            for (std::size_t i = 0; i < kBatchRows; ++i) these[i] *= weight[i];
        std::uint64_t nearer = 0;
        for (std::size_t i = 0; i < kBatchRows; i += S::width)
            nearer |= static_cast<std::uint64_t>(
                          S::bits(S::less(S::load(distance + i), S::load(now + i))))
                      << i;
        std::uint64_t* mark = leaf.mark + c * kMarkWords;
        if (word) {
            mark[first / 64] = nearer;
            continue;
        }
        for (; nearer; nearer &= nearer - 1) {
            const std::size_t b = static_cast<std::size_t>(__builtin_ctzll(nearer));
            const std::int32_t i = list[b];
            out[i] = less[b];
            mark[i / 64] |= std::uint64_t{1} << (i % 64);
        }
    }
}

// Calls run(list, m) for batches of the rows whose bits are set: a word of 64 rows at a time where
// most of them are, others together. Prefetches those, and after a word that of the next leaf, if
// there are `after` more rows: a leaf like this one will follow.
template <class T, class Run>
PARTITA_INLINE void each_batch(const std::uint64_t (&bits)[kMarkWords], std::size_t m,
                               const T* rows, std::size_t d, std::size_t after, Run run) {
    const std::size_t row_bytes = d * sizeof(T);
    std::int32_t list[2 * kBatchRows], word[kBatchRows];
    std::size_t listed = 0;
    for (std::size_t w = 0; w < kMarkWords; ++w) {
        const std::int32_t first = static_cast<std::int32_t>(w * 64);
        if ((w + 1) * 64 <= m && __builtin_popcountll(bits[w]) >= kMinWordRows) {
            if (kSeedLeafRows + (w + 1) * 64 <= m + after)
                prefetch_bytes(rows + (kSeedLeafRows + w * 64) * d, 64 * row_bytes);
            for (std::int32_t i = 0; i < 64; ++i) word[i] = first + i;
            run(word, kBatchRows);
            continue;
        }
        for (std::uint64_t rest = bits[w]; rest; rest &= rest - 1) {
            const std::int32_t i = first + __builtin_ctzll(rest);
            prefetch_bytes(rows + static_cast<std::size_t>(i) * d, row_bytes);
            list[listed++] = i;
        }
        if (listed < kBatchRows) continue;
        run(list, kBatchRows);
        listed -= kBatchRows;
        for (std::size_t i = 0; i < listed; ++i) list[i] = list[i + kBatchRows];
    }
    if (listed) run(list, listed);
}

// The marks of rows below m; returns their number.
PARTITA_INLINE std::size_t marks_within(const std::uint64_t* mark, std::size_t m,
                                        std::uint64_t (&out)[kMarkWords]) {
    std::size_t marked = 0;
    for (std::size_t w = 0; w < kMarkWords; ++w) {
        const std::uint64_t kept = w * 64 >= m       ? 0
                                   : m - w * 64 < 64 ? (std::uint64_t{1} << (m - w * 64)) - 1
                                                     : ~std::uint64_t{0};
        out[w] = mark[w] & kept;
        marked += static_cast<std::size_t>(__builtin_popcountll(out[w]));
    }
    return marked;
}

// Calls put(i, distance) with the distances of the marked rows of a leaf to one candidate; `after`
// rows follow the leaf.
template <class T, class Put>
PARTITA_INLINE void each_distance(const T* rows, std::size_t d, T scale,
                                  const std::uint64_t (&mark)[kMarkWords], std::size_t m,
                                  std::size_t after, const T* candidate, Put put) {
    alignas(64) T columns[kMaxBatchRowBytes / sizeof(T) * kBatchStride<T>];
    alignas(64) T distance[kBatchRows];
    each_batch(mark, m, rows, d, after, [&](const std::int32_t* list, std::size_t listed) {
        fill_columns(rows, d, list, listed, scale, columns);
        distances_across(columns, candidate, d, listed, distance);
        for (std::size_t i = 0; i < listed; ++i)
            put(static_cast<std::size_t>(list[i]), distance[i]);
    });
}

// Sets the gains of a leaf of m rows and the marks of the rows that come nearer, if most of what is
// marked can be compared in batches; false: nothing was done. `after` rows follow the leaf.
template <class T>
bool gain_of_leaf(const SeedLeaf<T>& leaf, const Candidates<T>& candidates, std::size_t m,
                  std::size_t after, double* gain) {
    if (!fits_batch<T>(leaf.d)) return false;
    std::uint64_t any[kMarkWords] = {};
    std::size_t pairs = 0, rows = 0;
    for (std::size_t w = 0; w < kMarkWords; ++w) {
        for (std::size_t c = 0; c < candidates.count; ++c) {
            any[w] |= leaf.mark[c * kMarkWords + w];
            pairs += static_cast<std::size_t>(__builtin_popcountll(leaf.mark[c * kMarkWords + w]));
        }
        rows += static_cast<std::size_t>(__builtin_popcountll(any[w]));
    }
    if (rows < kMinBatch || 4 * pairs < candidates.count * rows) return false;
    for (std::size_t i = 0; i < candidates.count * kMarkWords; ++i) leaf.mark[i] = 0;
    for (std::size_t i = 0; i < candidates.count * kSeedLeafRows; ++i) leaf.less[i] = 0.0;
    each_batch(any, m, leaf.rows, leaf.d, after, [&](const std::int32_t* list, std::size_t listed) {
        gain_of_batch(leaf, candidates, list, listed);
    });
    for (std::size_t c = 0; c < candidates.count; ++c)
        gain[c] = leaf_sum(leaf.less + c * kSeedLeafRows, kSeedLeafRows);
    return true;
}

}  // namespace partita::PARTITA_ISA
