// Distances for k-means++: the same bits on every machine, so that a seed means the same start.
//
// No fused multiply-add here and features in order; direct differences, so that a duplicate of a
// chosen row is at distance exactly zero and is never chosen again.
#pragma once

#include "vec.hpp"
#include "views.hpp"

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

template <class T, int R>
PARTITA_INLINE void seed_tile(const T* panel, const T* candidate, std::size_t d, std::size_t w,
                              T* out) {  // out: (R, kLeaf)
    using S = Simd<T>;
    for (std::size_t lane = 0; lane < w; lane += S::width) {
        typename S::Reg acc[R];
        for (int r = 0; r < R; ++r) acc[r] = S::set1(0);
        for (std::size_t t = 0; t < d; ++t) {
            const typename S::Reg y = S::load(panel + t * w + lane);
#pragma GCC unroll 4
            for (int r = 0; r < R; ++r) {
                const typename S::Reg gap = S::sub(y, S::set1(candidate[r * d + t]));
                acc[r] = S::add(acc[r], S::mul(gap, gap));
            }
        }
        for (int r = 0; r < R; ++r) S::store(out + r * kLeaf + lane, acc[r]);
    }
}

constexpr std::size_t kSeedWidth = 64;  // points packed at a time; divides kLeaf

template <class T>
std::size_t seed_scratch(std::size_t d) {
    return (d * kSeedWidth + kSeedRows * kLeaf) * sizeof(T) + kLeaf * 8 + 256;
}

// Squared distances of a leaf (at most kLeaf rows) to up to kSeedRows candidates.
template <class T>
void seed_leaf(const T* rows, std::size_t m, std::size_t d, T scale, const T* candidate, int count,
               T* panel, T* out) {
    for (std::size_t p = 0; p < m; p += kSeedWidth) {
        const std::size_t filled = m - p < kSeedWidth ? m - p : kSeedWidth;
        for (std::size_t r = 0; r < kSeedWidth; ++r) {
            const T* x = rows + (p + (r < filled ? r : 0)) * d;
            for (std::size_t t = 0; t < d; ++t) panel[t * kSeedWidth + r] = x[t] * scale;
        }
        if (count == kSeedRows)
            seed_tile<T, kSeedRows>(panel, candidate, d, kSeedWidth, out + p);
        else
            for (int r = 0; r < count; ++r)
                seed_tile<T, 1>(panel, candidate + r * d, d, kSeedWidth, out + r * kLeaf + p);
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
    T* out = panel + rows.d * kSeedWidth;
    double* term = reinterpret_cast<double*>(out + kSeedRows * kLeaf);
    for (std::size_t i = 0, leaf = 0; i < rows.n; i += kLeaf, ++leaf) {
        const std::size_t m = rows.n - i < kLeaf ? rows.n - i : kLeaf;
        for (std::size_t c = 0; c < count; c += kSeedRows) {
            const int now = static_cast<int>(count - c < kSeedRows ? count - c : kSeedRows);
            seed_leaf(rows.data + i * rows.d, m, rows.d, scale, candidate + c * rows.d, now, panel,
                      out);
            for (int r = 0; r < now; ++r) {
                const T* distance = out + static_cast<std::size_t>(r) * kLeaf;
                for (std::size_t q = 0; q < m; ++q) {
                    const T low = distance[q] < closest[i + q] ? distance[q] : closest[i + q];
                    term[q] = static_cast<double>(low) * (weight ? weight[i + q] : 1.0);
                    if (update) closest[i + q] = low;
                }
                potential[leaf * count + c + static_cast<std::size_t>(r)] = leaf_sum(term, m);
            }
        }
    }
}

}  // namespace partita::PARTITA_ISA
