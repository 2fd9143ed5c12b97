// Distances for k-means++: the same bits on every machine, so that a seed means the same start.
//
// No fused multiply-add here and features in order; direct differences, so that a duplicate of a
// chosen row is at distance exactly zero and is never chosen again.
#pragma once

#include "pack.hpp"

namespace partita::PARTITA_ISA {

constexpr std::size_t kLeaf = 256;  // rows whose potential is summed as one
constexpr int kSeedRows = 4;        // candidates at a time

// Σ of 256 values in eight fixed lanes and a fixed tree.
PARTITA_INLINE double leaf_sum(const double* value, std::size_t m) {
    double lane[8] = {};
    std::size_t i = 0;
    for (; i + 8 <= m; i += 8)
        for (std::size_t l = 0; l < 8; ++l) lane[l] += value[i + l];
    for (; i < m; ++i) lane[i % 8] += value[i];
    return ((lane[0] + lane[1]) + (lane[2] + lane[3])) + ((lane[4] + lane[5]) + (lane[6] + lane[7]));
}

constexpr std::size_t kSeedWidth = 64;  // points packed at a time; divides kLeaf

// weight·distance, where a row of weight zero may be infinitely far.
template <class T>
PARTITA_INLINE double weighed(T distance, const double* weight, std::size_t i) {
    if (!weight) return static_cast<double>(distance);
    return weight[i] > 0 ? static_cast<double>(distance) * weight[i] : 0.0;
}

// Squared distances of kSeedWidth packed points to R candidates, out: (R, kLeaf).
template <class T, int R>
void seed_tile(const T* panel, const T* candidate, std::size_t d, T* out) {
    using S = Simd<T>;
    constexpr int V = 2;  // vectors at a time: enough chains to hide an addition
    for (std::size_t lane = 0; lane < kSeedWidth; lane += V * S::width) {
        typename S::Reg acc[R][V];
        for (int r = 0; r < R; ++r) acc[r][0] = acc[r][1] = S::set1(0);
        for (std::size_t t = 0; t < d; ++t) {
            const T* at = panel + t * kSeedWidth + lane;
            const typename S::Reg y0 = S::load(at), y1 = S::load(at + S::width);
#pragma GCC unroll 4
            for (int r = 0; r < R; ++r) {
                const typename S::Reg c = S::set1(candidate[static_cast<std::size_t>(r) * d + t]);
                const typename S::Reg gap0 = S::sub(y0, c), gap1 = S::sub(y1, c);
                acc[r][0] = S::add(acc[r][0], S::mul(gap0, gap0));
                acc[r][1] = S::add(acc[r][1], S::mul(gap1, gap1));
            }
        }
        for (int r = 0; r < R; ++r)
            for (int v = 0; v < V; ++v)
                S::store(out + static_cast<std::size_t>(r) * kLeaf + lane +
                             static_cast<std::size_t>(v) * S::width,
                         acc[r][v]);
    }
}

template <class T>
std::size_t seed_scratch(std::size_t d) {
    return (2 * d * kSeedWidth + kSeedRows * kLeaf) * sizeof(T) + kLeaf * 8 + 256;
}

// Up to kSeedWidth rows, transposed and scaled; a part of a panel is filled up with its first row.
template <class T>
void seed_pack(const T* rows, std::size_t m, std::size_t d, T scale, T* padded, T* panel) {
    using S = Simd<T>;
    if (m < kSeedWidth) {
        for (std::size_t r = 0; r < kSeedWidth; ++r)
            for (std::size_t t = 0; t < d; ++t) padded[r * d + t] = rows[(r < m ? r : 0) * d + t];
        rows = padded;
    }
    const typename S::Reg by = S::set1(scale);
    each_column(rows, d, static_cast<int>(kSeedWidth / S::width),
                [&](std::size_t t, int v, typename S::Reg x) {
                    S::store(panel + t * kSeedWidth + static_cast<std::size_t>(v) * S::width,
                             S::mul(x, by));
                });
}

// Squared distances of a leaf (at most kLeaf rows) to up to kSeedRows candidates.
template <class T>
void seed_leaf(const T* rows, std::size_t m, std::size_t d, T scale, const T* candidate, int count,
               T* padded, T* panel, T* out) {
    for (std::size_t p = 0; p < m; p += kSeedWidth) {
        seed_pack(rows + p * d, m - p < kSeedWidth ? m - p : kSeedWidth, d, scale, padded, panel);
        switch (count) {
            case 1: seed_tile<T, 1>(panel, candidate, d, out + p); break;
            case 2: seed_tile<T, 2>(panel, candidate, d, out + p); break;
            case 3: seed_tile<T, 3>(panel, candidate, d, out + p); break;
            default: seed_tile<T, 4>(panel, candidate, d, out + p);
        }
    }
}

// For each leaf and candidate: Σ w·min(closest, distance to the candidate). With `update` there is
// one candidate, and `closest` is lowered to it.
template <class T>
void seed_potential(const Rows<T>& rows, T scale,
                    const T* candidate, std::size_t count,  // (count, d), already times scale
                    const double* weight,                   // (n) or null
                    T* closest,                             // inout: (n)
                    bool update, double* potential,         // out: (leaves, count)
                    unsigned char* memory) {
    T* panel = reinterpret_cast<T*>(memory);
    T* padded = panel + rows.d * kSeedWidth;
    T* out = padded + rows.d * kSeedWidth;
    double* term = reinterpret_cast<double*>(out + kSeedRows * kLeaf);
    for (std::size_t i = 0, leaf = 0; i < rows.n; i += kLeaf, ++leaf) {
        const std::size_t m = rows.n - i < kLeaf ? rows.n - i : kLeaf;
        for (std::size_t c = 0; c < count; c += kSeedRows) {
            const int now = static_cast<int>(count - c < kSeedRows ? count - c : kSeedRows);
            seed_leaf(rows.data + i * rows.d, m, rows.d, scale, candidate + c * rows.d, now, padded,
                      panel, out);
            for (int r = 0; r < now; ++r) {
                const T* distance = out + static_cast<std::size_t>(r) * kLeaf;
                for (std::size_t q = 0; q < m; ++q) {
                    const T low = distance[q] < closest[i + q] ? distance[q] : closest[i + q];
                    term[q] = weighed(low, weight, i + q);
                    if (update) closest[i + q] = low;
                }
                potential[leaf * count + c + static_cast<std::size_t>(r)] = leaf_sum(term, m);
            }
        }
    }
}

// The step of a cumulated sum that `place` falls on; never one of height zero.
PARTITA_INLINE std::size_t step_of(const double* cumulated, std::size_t n, double place) {
    std::size_t last = n - 1;
    while (last > 0 && cumulated[last - 1] == cumulated[n - 1]) --last;
    std::size_t at = 0, beyond = n;
    while (at < beyond) {  // the first that exceeds place
        const std::size_t middle = (at + beyond) / 2;
        if (cumulated[middle] > place)
            beyond = middle;
        else
            at = middle + 1;
    }
    return at < last ? at : last;
}

// A row drawn in proportion to weight·closest: first the leaf, then the row in it.
template <class T>
std::size_t draw_row(const T* closest, const double* weight, std::size_t n, const double* leaves,
                     std::size_t count, double uniform) {
    const double place = uniform * leaves[count - 1];
    const std::size_t leaf = step_of(leaves, count, place);
    const std::size_t first = leaf * kLeaf, m = n - first < kLeaf ? n - first : kLeaf;
    double inside[kLeaf], sum = 0.0;
    for (std::size_t i = 0; i < m; ++i) {
        inside[i] = sum += weighed(closest[first + i], weight, first + i);
    }
    return first + step_of(inside, m, place - (leaf ? leaves[leaf - 1] : 0.0));
}

template <class T>
std::size_t plusplus_scratch(std::size_t n, std::size_t d, std::size_t trials) {
    const std::size_t leaves = (n + kLeaf - 1) / kLeaf;
    return aligned(seed_scratch<T>(d)) + aligned(n * sizeof(T)) + aligned(n * 8) +
           aligned(leaves * (trials + 1) * 8) + aligned(trials * d * sizeof(T)) +
           aligned(trials * 8);
}

// All of greedy k-means++ in one call, for data so small that the calls would cost more.
// uniform: 1 + (k − 1)·trials numbers in [0, 1). Writes which rows were chosen.
template <class T>
void plusplus(const Rows<T>& rows, T scale, const double* uniform, std::size_t k,
              std::size_t trials, const double* weight, std::int64_t* chosen,
              unsigned char* memory) {
    const std::size_t n = rows.n, d = rows.d, leaves = (n + kLeaf - 1) / kLeaf;
    auto cut = [&memory](std::size_t bytes) {
        unsigned char* piece = memory;
        memory += aligned(bytes);
        return piece;
    };
    unsigned char* scratch = cut(seed_scratch<T>(d));
    T* closest = reinterpret_cast<T*>(cut(n * sizeof(T)));
    double* cumulated = reinterpret_cast<double*>(cut(n * 8));
    double* potential = reinterpret_cast<double*>(cut(leaves * (trials + 1) * 8));
    T* candidate = reinterpret_cast<T*>(cut(trials * d * sizeof(T)));
    std::int64_t* drawn = reinterpret_cast<std::int64_t*>(cut(trials * 8));
    auto any_row = [&](double u) {  // in proportion to the weight alone
        if (!weight) return static_cast<std::size_t>(u * static_cast<double>(n));
        double sum = 0.0;
        for (std::size_t i = 0; i < n; ++i) cumulated[i] = sum += weight[i];
        return step_of(cumulated, n, u * sum);
    };
    auto choose = [&](std::size_t j, std::size_t row) {
        chosen[j] = static_cast<std::int64_t>(row);
        for (std::size_t t = 0; t < d; ++t) candidate[t] = rows.data[row * d + t] * scale;
        seed_potential(rows, scale, candidate, 1, weight, closest, true, potential, scratch);
    };
    for (std::size_t i = 0; i < n; ++i) closest[i] = static_cast<T>(__builtin_inf());
    choose(0, any_row(uniform[0]));
    for (std::size_t j = 1; j < k; ++j) {
        double sum = 0.0;
        for (std::size_t leaf = 0; leaf < leaves; ++leaf)
            potential[leaf] = sum += potential[leaf];  // cumulated from here on
        for (std::size_t c = 0; c < trials; ++c) {
            const double u = uniform[1 + (j - 1) * trials + c];
            const std::size_t row =
                sum > 0.0 ? draw_row(closest, weight, n, potential, leaves, u) : any_row(u);
            drawn[c] = static_cast<std::int64_t>(row);
            for (std::size_t t = 0; t < d; ++t)
                candidate[c * d + t] = rows.data[row * d + t] * scale;
        }
        double* each = potential + leaves;
        seed_potential(rows, scale, candidate, trials, weight, closest, false, each, scratch);
        std::size_t best = 0;
        double lowest = __builtin_inf();
        for (std::size_t c = 0; c < trials; ++c) {
            double total = 0.0;
            for (std::size_t leaf = 0; leaf < leaves; ++leaf) total += each[leaf * trials + c];
            if (total < lowest) lowest = total, best = c;
        }
        choose(j, static_cast<std::size_t>(drawn[best]));
    }
}

}  // namespace partita::PARTITA_ISA
