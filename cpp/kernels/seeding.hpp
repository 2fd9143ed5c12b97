// Greedy k-means++, with the same bits on every machine, so that a seed always gives the same
// start.
//
// A round computes the gain Σ w·max(0, closest − distance) of each of a few candidates. A row that
// does not come nearer adds exactly zero, so it can be skipped: most are skipped by the sketch,
// others by the triangle inequality. Distances are direct differences, so that a duplicate of a
// chosen row is at distance exactly zero and is never chosen again.
#pragma once

#include "float_leaves.hpp"
#include "seed_lanes.hpp"
#include "sketch.hpp"

namespace partita::PARTITA_ISA {

constexpr std::size_t kMaxEagerLimits = 64;  // chosen rows, up to which all limits are computed

// Unaligned and partial vectors.
template <class T>
struct UnalignedSimd : Simd<T> {
    using typename Simd<T>::Reg;
    static PARTITA_INLINE Reg loadu(const T* p) {
        Reg out;
        __builtin_memcpy(&out, p, sizeof(Reg));
        return out;
    }
    // the first m values, then zeros
    static PARTITA_INLINE Reg load_partial(const T* p, std::size_t m) {
#if defined(PARTITA_AVX512)
        const unsigned mask = m >= Simd<T>::width ? ~0u : (1u << m) - 1u;
        if constexpr (sizeof(T) == 4)
            return _mm512_maskz_loadu_ps(static_cast<__mmask16>(mask), p);
        else
            return _mm512_maskz_loadu_pd(static_cast<__mmask8>(mask), p);
#elif defined(PARTITA_AVX2)
        const __m256i many = _mm256_set1_epi32(m > 8 ? 8 : static_cast<int>(m));
        const __m256i mask = _mm256_cmpgt_epi32(many, _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
        if constexpr (sizeof(T) == 4)
            return _mm256_maskload_ps(p, mask);
        else
            return _mm256_maskload_pd(p, _mm256_cvtepi32_epi64(_mm256_castsi256_si128(mask)));
#else
        alignas(64) T lane[Simd<T>::width] = {};
        for (std::size_t i = 0; i < m && i < Simd<T>::width; ++i) lane[i] = p[i];
        return Simd<T>::load(lane);
#endif
    }
    // adds lanes l and l + 8, then l + 4, l + 2, l + 1
    static PARTITA_INLINE T sum_lanes(Reg a) {
#if defined(PARTITA_AVX512)
        if constexpr (sizeof(T) == 4) {
            const __m256 b = _mm256_add_ps(_mm512_castps512_ps256(a), _mm512_extractf32x8_ps(a, 1));
            const __m128 c = _mm_add_ps(_mm256_castps256_ps128(b), _mm256_extractf128_ps(b, 1));
            const __m128 d = _mm_add_ps(c, _mm_movehl_ps(c, c));
            return _mm_cvtss_f32(_mm_add_ss(d, _mm_movehdup_ps(d)));
        } else {
            const __m256d b =
                _mm256_add_pd(_mm512_castpd512_pd256(a), _mm512_extractf64x4_pd(a, 1));
            const __m128d c = _mm_add_pd(_mm256_castpd256_pd128(b), _mm256_extractf128_pd(b, 1));
            return _mm_cvtsd_f64(_mm_add_sd(c, _mm_unpackhi_pd(c, c)));
        }
#elif defined(PARTITA_AVX2)
        if constexpr (sizeof(T) == 4) {
            const __m128 c = _mm_add_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps(a, 1));
            const __m128 d = _mm_add_ps(c, _mm_movehl_ps(c, c));
            return _mm_cvtss_f32(_mm_add_ss(d, _mm_movehdup_ps(d)));
        } else {
            const __m128d c = _mm_add_pd(_mm256_castpd256_pd128(a), _mm256_extractf128_pd(a, 1));
            return _mm_cvtsd_f64(_mm_add_sd(c, _mm_unpackhi_pd(c, c)));
        }
#else
        alignas(64) T lane[Simd<T>::width];
        Simd<T>::store(lane, a);
        for (std::size_t half = Simd<T>::width / 2; half > 0; half /= 2)
            for (std::size_t l = 0; l < half; ++l) lane[l] += lane[l + half];
        return lane[0];
#endif
    }
};

// ‖x·scale − c‖² in kSeedLanes lanes, added in a fixed tree. c is already scaled and padded with
// zeros.
template <class T, bool Scaled>
PARTITA_INLINE T seed_distance(const T* x, const T* c, std::size_t d, T scale) {
    using S = UnalignedSimd<T>;
    constexpr std::size_t W = S::width, V = kSeedLanes / W;
    typename S::Reg acc[V];
    for (std::size_t v = 0; v < V; ++v) acc[v] = S::set1(0);
    auto add = [&](std::size_t v, typename S::Reg y, std::size_t t) {
        if constexpr (Scaled) y = S::mul(y, S::set1(scale));
        const typename S::Reg gap = S::sub(y, S::loadu(c + t));
        acc[v] = S::add(acc[v], S::mul(gap, gap));
    };
    std::size_t t = 0;
    for (; t + kSeedLanes <= d; t += kSeedLanes)
        for (std::size_t v = 0; v < V; ++v) add(v, S::loadu(x + t + v * W), t + v * W);
    for (std::size_t v = 0; t < d; ++v, t += W) add(v, S::load_partial(x + t, d - t), t);
    for (std::size_t half = V / 2; half > 0; half /= 2)
        for (std::size_t v = 0; v < half; ++v) acc[v] = S::add(acc[v], acc[v + half]);
    return S::sum_lanes(acc[0]);
}

template <class T>
PARTITA_INLINE T seed_distance(const T* x, const T* c, std::size_t d, T scale) {
    return scale == T(1) ? seed_distance<T, false>(x, c, d, scale)
                         : seed_distance<T, true>(x, c, d, scale);
}

// weight·distance; 0 if the weight is zero, even at an infinite distance.
template <class T>
PARTITA_INLINE double weighted(T distance, const double* weight, std::size_t i) {
    if (!weight) return static_cast<double>(distance);
    return weight[i] > 0 ? static_cast<double>(distance) * weight[i] : 0.0;
}

constexpr std::size_t padded_features(std::size_t d) {
    return (d + kSeedLanes - 1) / kSeedLanes * kSeedLanes;
}

template <class T>
std::size_t seed_scratch(std::size_t d, std::size_t count, std::size_t chosen) {
    return aligned(count * padded_features(d) * sizeof(T)) + aligned(count * kSeedLeafRows * 8) +
           SketchCandidates::bytes_needed(count, d) + aligned((1 + count) * chosen * 8);
}

// A copy of the candidates (count, d), each padded with zeros.
template <class T>
T* pad_candidates(const T* candidate, std::size_t count, std::size_t d, unsigned char* memory) {
    T* out = reinterpret_cast<T*>(memory);
    const std::size_t wide = padded_features(d);
    for (std::size_t c = 0; c < count; ++c)
        for (std::size_t t = 0; t < wide; ++t)
            out[c * wide + t] = t < d ? candidate[c * d + t] : T(0);
    return out;
}

// Triangle inequality: a row with closest ≤ ‖chosen − candidate‖²/4 does not come nearer by the
// candidate. The limits allow for the rounding of all three distances.
template <class T>
struct TriangleBound {
    const T* chosen;     // (so_far, d) times scale, or null
    const T* candidate;  // (count, padded d)
    std::size_t d, count, so_far;
    double* limits;  // (so_far, 1 + count): the lowest (−1: not yet computed), one per candidate

    // Computes the limits of few chosen rows at once, so that rows can be tested without branches.
    void begin() const {
        for (std::size_t j = 0; j < so_far; ++j) {
            limits[j * (1 + count)] = -1.0;
            if (so_far <= kMaxEagerLimits) compute(limits + j * (1 + count), chosen + j * d);
        }
    }
    // Bits of m ≤ 64 rows that some candidate may come nearer to; only after eager computation.
    PARTITA_INLINE std::uint64_t open_rows(const T* closest, const std::int32_t* labels,
                                           std::size_t m) const {
        std::uint64_t bits = 0;
        for (std::size_t i = 0; i < m; ++i) {
            const double limit = limits[static_cast<std::size_t>(labels[i]) * (1 + count)];
            bits |= std::uint64_t{static_cast<double>(closest[i]) > limit} << i;
        }
        return bits;
    }

    PARTITA_INLINE const double* limits_of(std::int32_t label) const {
        double* limit = limits + static_cast<std::size_t>(label) * (1 + count);
        if (limit[0] < 0) compute(limit, chosen + static_cast<std::size_t>(label) * d);
        return limit;
    }
    __attribute__((noinline)) void compute(double* limit, const T* limits_of) const {
        constexpr double unit = sizeof(T) == 4 ? 0x1p-23 : 0x1p-52;
        constexpr double tiny = sizeof(T) == 4 ? 0x1p-149 : 0x1p-1074;
        const double own = 16.0 * static_cast<double>(d + 8);
        limit[0] = __builtin_inf();
        for (std::size_t c = 0; c < count; ++c) {
            const T way =
                seed_distance<T, false>(limits_of, candidate + c * padded_features(d), d, T(1));
            const double safe = static_cast<double>(way) * 0.25 * (1.0 - own * unit) - own * tiny;
            limit[1 + c] = safe > 0 ? safe : 0.0;
            if (limit[1 + c] < limit[0]) limit[0] = limit[1 + c];
        }
    }
};

// Marks the rows of a leaf that may come nearer to each candidate, by the sketch and the triangle
// inequality, and prefetches them.
template <class T>
void mark_leaf(const Rows<T>& rows, std::size_t start, const T* closest, const std::int32_t* labels,
               const TriangleBound<T>& triangle, const SketchView& sketch,
               const SketchCandidates& coded, std::uint64_t* mark) {
    const std::size_t n = rows.n, d = rows.d,
                      m = n - start < kSeedLeafRows ? n - start : kSeedLeafRows;
    const std::size_t count = triangle.count;
    if (!sketch.data || m < kSeedLeafRows)
        for (std::size_t i = 0; i < count * kMarkWords; ++i) mark[i] = ~std::uint64_t{0};
    if (sketch.data)
        for (std::size_t c = 0; c < count; c += kSketchBatch)
            sketch_masks_for(count - c < kSketchBatch ? count - c : kSketchBatch)(
                sketch, start / kSketchRows, (m + kSketchRows - 1) / kSketchRows, coded, c, d, mark,
                kMarkWords);
    const bool eager = triangle.chosen && triangle.so_far <= kMaxEagerLimits;
    for (std::size_t w = 0; w < kMarkWords; ++w) {
        const std::size_t first = w * 64;
        std::uint64_t kept = first >= m       ? 0
                             : m - first < 64 ? (std::uint64_t{1} << (m - first)) - 1
                                              : ~std::uint64_t{0};
        if (!sketch.data && eager && kept) {
            const std::size_t i = start + first;
            kept &= triangle.open_rows(closest + i, labels + i, m - first < 64 ? m - first : 64);
        }
        std::uint64_t any = 0;
        for (std::size_t c = 0; sketch.data && c < count; ++c) any |= mark[c * kMarkWords + w];
        for (any &= kept; any; any &= any - 1) {
            const std::size_t i = start + first + static_cast<std::size_t>(__builtin_ctzll(any));
            if (triangle.chosen &&
                static_cast<double>(closest[i]) <= triangle.limits_of(labels[i])[0]) {
                kept ^= any & -any;
                continue;
            }
            prefetch_row(rows.data + i * d, d);
        }
        for (std::size_t c = 0; c < count; ++c) mark[c * kMarkWords + w] &= kept;
    }
}

// Gain of one candidate over the marked rows of a leaf; marks are left where they come nearer.
template <class T>
double gain_one_by_one(const SeedLeaf<T>& leaf, const TriangleBound<T>& triangle,
                       const std::int32_t* labels, std::size_t c) {
    const T* candidate = triangle.candidate + c * padded_features(leaf.d);
    double lane[8] = {};
    for (std::size_t w = 0; w < kMarkWords; ++w) {
        std::uint64_t& marked = leaf.mark[c * kMarkWords + w];
        std::uint64_t nearer = 0;
        for (std::uint64_t bits = marked; bits; bits &= bits - 1) {
            const std::size_t i = w * 64 + static_cast<std::size_t>(__builtin_ctzll(bits));
            const double now = static_cast<double>(leaf.closest[i]);
            if (triangle.chosen && now <= triangle.limits_of(labels[i])[1 + c]) continue;
            const double distance = static_cast<double>(
                seed_distance(leaf.rows + i * leaf.d, candidate, leaf.d, leaf.scale));
            const double less = distance < now ? now - distance : 0.0;  // without a branch
            lane[i % 8] += leaf.weight ? less * leaf.weight[i] : less;
            nearer |= distance < now ? bits & -bits : 0;
        }
        marked = nearer;
    }
    return sum_eight(lane);
}

// Gain of each candidate, leaf by leaf, and marks of the rows that it would come nearest to.
template <class T>
void seed_gain(const Rows<T>& rows, T scale, const T* candidate,
               std::size_t count,                    // (count, d), already times scale
               const double* weight,                 // (n) or null
               const T* closest,                     // (n)
               const std::int32_t* labels,           // (n) index of the closest chosen row
               const T* chosen, std::size_t so_far,  // (so_far, d), already times scale
               const SketchView& sketch,             // of these rows, or null
               std::uint64_t* marks,                 // out: (leaves, count, kMarkWords)
               double* gain,                         // out: (leaves, count)
               unsigned char* memory) {
    const std::size_t n = rows.n, d = rows.d, wide = padded_features(d);
    const Candidates<T> candidates{pad_candidates(candidate, count, d, memory), count, wide};
    memory += aligned(count * wide * sizeof(T));
    double* less = reinterpret_cast<double*>(memory);
    memory += aligned(count * kSeedLeafRows * 8);
    SketchCandidates coded(count, d, memory);
    if (sketch.data)
        for (std::size_t c = 0; c < count; ++c) coded.set(sketch, c, candidate + c * d, d);
    memory += SketchCandidates::bytes_needed(count, d);
    const TriangleBound<T> triangle{
        so_far ? chosen : nullptr,         candidates.padded, d, count, so_far,
        reinterpret_cast<double*>(memory),
    };
    triangle.begin();
    for (std::size_t leaf = 0; leaf * kSeedLeafRows < n; ++leaf) {
        const std::size_t start = leaf * kSeedLeafRows,
                          m = n - start < kSeedLeafRows ? n - start : kSeedLeafRows;
        std::uint64_t* mark = marks + leaf * count * kMarkWords;
        mark_leaf(rows, start, closest, labels, triangle, sketch, coded, mark);
        const SeedLeaf<T> these{rows.data + start * d,
                                d,
                                scale,
                                closest + start,
                                weight ? weight + start : nullptr,
                                mark,
                                less};
        if (gain_of_leaf(these, candidates, m, n - start - m, gain + leaf * count)) continue;
        for (std::size_t c = 0; c < count; ++c)
            gain[leaf * count + c] = gain_one_by_one(these, triangle, labels + start, c);
    }
}

// Lowers `closest` to the distance from candidate `which` in the rows marked for it, and updates
// the potentials Σ w·closest of the leaves.
template <class T>
void seed_choose(const Rows<T>& rows, T scale, const T* candidate, const double* weight,
                 const std::uint64_t* marks, std::size_t count, std::size_t which,
                 T* closest,                                 // inout: (n)
                 std::int32_t* labels, std::int32_t number,  // inout: (n), and the label to write
                 const SketchView& sketch, const FloatLeavesView& leaves,
                 double* potential,  // inout: (leaves)
                 unsigned char* memory) {
    const std::size_t n = rows.n, d = rows.d;
    const T* padded = pad_candidates(candidate, 1, d, memory);
    for (std::size_t leaf = 0; leaf * kSeedLeafRows < n; ++leaf) {
        const std::size_t start = leaf * kSeedLeafRows,
                          m = n - start < kSeedLeafRows ? n - start : kSeedLeafRows;
        std::uint64_t mark[kMarkWords];
        const std::size_t marked =
            marks_within(marks + (leaf * count + which) * kMarkWords, m, mark);
        if (!marked) continue;
        auto lower = [&](std::size_t i, T distance) {
            if (distance < closest[i]) closest[i] = distance, labels[i] = number;
            if (leaves.data)
                float_closest(leaves, i, d) = float_square(leaves, static_cast<double>(closest[i]));
            if (!sketch.data) return;
            const SketchPanel panel(sketch, i / kSketchRows, d);
            const std::size_t lane = i % kSketchRows;
            panel.reach[lane] = reach_of(sketch, closest[i], panel.error[lane], d);
        };
        if (fits_batch<T>(d) && marked >= kMinBatch)
            each_distance(rows.data + start * d, d, scale, mark, m, n - start - m, padded,
                          [&](std::size_t i, T distance) { lower(start + i, distance); });
        else
            for (std::size_t w = 0; w < kMarkWords; ++w)
                for (std::uint64_t bits = mark[w]; bits; bits &= bits - 1) {
                    const std::size_t i =
                        start + w * 64 + static_cast<std::size_t>(__builtin_ctzll(bits));
                    lower(i, seed_distance(rows.data + i * d, padded, d, scale));
                }
        alignas(64) double term[kSeedLeafRows];
        for (std::size_t i = 0; i < m; ++i)
            term[i] = weighted(closest[start + i], weight, start + i);
        potential[leaf] = leaf_sum(term, m);
    }
}

}  // namespace partita::PARTITA_ISA
