// Exact sums: every term is rounded once to a fixed grid and added as two integers.
//
// Integer addition is associative, so blocks, threads and later corrections (a row that moves from
// one cluster to another) all give the same bits. A term v, in units of its column's step, becomes
// hi = round(v) and lo = round((v − hi)·limb).
#pragma once

#include "twofold.hpp"
#include "views.hpp"

namespace partita::PARTITA_ISA {

// 1.5·2^52: adding it rounds |v| <= 2^51 to an integer (ties to even), which is then in the low
// bits.
constexpr double kRoundingShift = 6755399441055744.0;
constexpr std::int64_t kRoundingShiftBits = 0x4338000000000000;

struct Limbs {
    std::int64_t hi, lo;
};

PARTITA_INLINE Limbs to_grid(double v, double rest, double limb) {
    const double h = v + kRoundingShift;
    const double l = ((v - (h - kRoundingShift)) + rest) * limb + kRoundingShift;
    return {__builtin_bit_cast(std::int64_t, h) - kRoundingShiftBits,
            __builtin_bit_cast(std::int64_t, l) - kRoundingShiftBits};
}

// The two terms of one value: w·y for its column, and w·y² for the column of squares. Products are
// twofold, so that the exact product is rounded to the grid.
template <bool weighted>
PARTITA_INLINE void value_terms(double y, double up, double square_up, double weight, double limb,
                                Limbs& term, Limbs& square) {
    Twofold v{y * up, 0.0};
    Twofold q = two_prod(y, y);
    if constexpr (weighted) {
        v = two_prod(v.head, weight);
        const Twofold heavy = two_prod(q.head, weight);
        q = {heavy.head, heavy.tail + q.tail * weight};
    }
    term = to_grid(v.head, v.tail, limb);
    square = to_grid(q.head * square_up, q.tail * square_up, limb);
}

PARTITA_INLINE void add_terms(std::int64_t* __restrict into, const std::int64_t* __restrict term,
                              std::int64_t times, std::size_t columns) {
    if (times == 1)
        for (std::size_t t = 0; t < columns; ++t) into[t] += term[t];
    else if (times == -1)
        for (std::size_t t = 0; t < columns; ++t) into[t] -= term[t];
    else
        for (std::size_t t = 0; t < columns; ++t) into[t] += times * term[t];
}

// A row of weight zero adds nothing and may lie outside the extent of the grid.
PARTITA_INLINE bool weightless(const SumView& sums, std::size_t i) {
    return (sums.times && sums.times[i] == 0) || (sums.weight && sums.weight[i] == 0.0);
}

// Zeroes the sums of a cluster at its first use: most passes change few clusters, so the sums of a
// thread are not zeroed as a whole.
PARTITA_INLINE void clear_first(const SumView& sums, std::size_t cluster) {
    if (!sums.cleared || sums.cleared[cluster]) return;
    sums.cleared[cluster] = 1;
    const std::size_t columns = sums.d + 2;
    for (std::size_t t = 0; t < columns; ++t)
        sums.hi[cluster * columns + t] = sums.lo[cluster * columns + t] = 0;
}

// Adds dense rows to the sums. Narrow rows are buffered until there are enough values for long
// loops: with two features, a single row is mostly overhead.
template <class T>
class RowAccumulator {
public:
    static constexpr std::size_t kBufferValues = 512, kMinWideFeatures = 8;
    static constexpr std::size_t kFetchedValues = 128;  // of a long row, at a time

    static bool wide(std::size_t d) { return d >= kMinWideFeatures; }
    static std::size_t capacity(std::size_t d) { return d == 0 || wide(d) ? 1 : kBufferValues / d; }
    static std::size_t bytes(std::size_t d) {
        const std::size_t rows = capacity(d);
        return wide(d) ? 0 : 8 * rows * (8 * d + 4);
    }

    RowAccumulator(const SumView& sums, unsigned char* memory)
        : sums_(sums), rows_(capacity(sums.d)), filled_(0) {
        if (wide(sums.d)) return;
        const std::size_t m = rows_ * sums.d;
        double* free = reinterpret_cast<double*>(memory);
        auto take = [&free](std::size_t n) {
            double* array = free;
            free += n;
            return array;
        };
        y_ = take(m), origin_ = take(m), up_ = take(m), weight_ = take(m);
        hi_ = reinterpret_cast<std::int64_t*>(take(m));
        lo_ = reinterpret_cast<std::int64_t*>(take(m));
        square_hi_ = reinterpret_cast<std::int64_t*>(take(m));
        square_lo_ = reinterpret_cast<std::int64_t*>(take(m));
        row_ = reinterpret_cast<std::int64_t*>(take(rows_));
        from_ = reinterpret_cast<std::int64_t*>(take(rows_));
        to_ = reinterpret_cast<std::int64_t*>(take(rows_));
        for (std::size_t r = 0; r < rows_; ++r)
            for (std::size_t t = 0; t < sums.d; ++t) {
                origin_[r * sums.d + t] = sums.origin[t];
                up_[r * sums.d + t] = sums.up[t];
            }
    }

    // Moves row i, with values x, from cluster `from` (< 0: none) to cluster `to`.
    PARTITA_INLINE void push(const T* x, std::size_t i, std::int32_t from, std::int32_t to) {
        const std::size_t d = sums_.d;
        if (weightless(sums_, i)) return;
        if (wide(d))
            return sums_.weight ? add_wide<true>(x, i, from, to) : add_wide<false>(x, i, from, to);
        for (std::size_t t = 0; t < d; ++t) y_[filled_ * d + t] = static_cast<double>(x[t]);
        if (sums_.weight)
            for (std::size_t t = 0; t < d; ++t) weight_[filled_ * d + t] = sums_.weight[i];
        row_[filled_] = static_cast<std::int64_t>(i);
        from_[filled_] = from;
        to_[filled_] = to;
        if (++filled_ == rows_) flush();
    }

    void flush() {
        if (wide(sums_.d)) return;
        if (sums_.weight)
            compute<true>();
        else
            compute<false>();
        for (std::size_t r = 0; r < filled_; ++r) add_row(r);
        filled_ = 0;
    }

private:
    // The next values of a long row: its sums are so many streams that the hardware does not.
    static PARTITA_INLINE void prefetch_values(const T* x, std::size_t left) {
        const std::size_t count = left < kFetchedValues ? left : kFetchedValues;
        for (std::size_t t = 0; t < count; t += 64 / sizeof(T)) __builtin_prefetch(x + t);
    }

    template <bool weighted>
    void add_wide(const T* x, std::size_t i, std::int32_t from, std::int32_t to) {
        const double weight = weighted ? sums_.weight[i] : 1.0;
        const std::int64_t times = sums_.times ? sums_.times[i] : 1;
        clear_first(sums_, static_cast<std::size_t>(to));
        if (from >= 0) clear_first(sums_, static_cast<std::size_t>(from));
        if (times != 1)
            from < 0 ? move_wide<weighted, false, true>(x, weight, from, to, times)
                     : move_wide<weighted, true, true>(x, weight, from, to, times);
        else
            from < 0 ? move_wide<weighted, false, false>(x, weight, from, to, times)
                     : move_wide<weighted, true, false>(x, weight, from, to, times);
    }

    template <bool weighted, bool leaves, bool counted>
    void move_wide(const T* __restrict x, double weight, std::int32_t from, std::int32_t to,
                   std::int64_t times) {
        const std::size_t d = sums_.d, columns = d + 2;
        const double scale = sums_.scale, limb = sums_.limb, square_up = sums_.up[d + 1];
        const double* __restrict origin = sums_.origin;
        const double* __restrict up = sums_.up;
        std::int64_t* __restrict hi = sums_.hi + static_cast<std::size_t>(to) * columns;
        std::int64_t* __restrict lo = sums_.lo + static_cast<std::size_t>(to) * columns;
        const std::size_t old = leaves ? static_cast<std::size_t>(from) * columns : 0;
        std::int64_t* __restrict old_hi = sums_.hi + old;
        std::int64_t* __restrict old_lo = sums_.lo + old;
        auto put = [&](std::size_t t, Limbs g) {
            if constexpr (counted) g = {times * g.hi, times * g.lo};
            hi[t] += g.hi;
            lo[t] += g.lo;
            if constexpr (leaves) {
                old_hi[t] -= g.hi;
                old_lo[t] -= g.lo;
            }
        };
        Limbs squares{0, 0};
        for (std::size_t first = 0; first < d; first += kFetchedValues) {
            const std::size_t last = d - first < kFetchedValues ? d : first + kFetchedValues;
            prefetch_values(x + last, d - last);
            for (std::size_t t = first; t < last; ++t) {
                const double y = (static_cast<double>(x[t]) - origin[t]) * scale;
                Limbs term, square;
                value_terms<weighted>(y, up[t], square_up, weight, limb, term, square);
                put(t, term);
                squares.hi += square.hi;
                squares.lo += square.lo;
            }
        }
        put(d, weighted ? to_grid(weight * up[d], 0.0, limb) : Limbs{1, 0});
        put(d + 1, squares);
    }

    template <bool weighted>
    void compute() {
        const std::size_t m = filled_ * sums_.d;
        const double scale = sums_.scale, limb = sums_.limb, square_up = sums_.up[sums_.d + 1];
        const double* __restrict origin = origin_;
        const double* __restrict up = up_;
        const double* __restrict weight = weight_;
        const double* __restrict raw = y_;
        std::int64_t* __restrict hi = hi_;
        std::int64_t* __restrict lo = lo_;
        std::int64_t* __restrict square_hi = square_hi_;
        std::int64_t* __restrict square_lo = square_lo_;
        for (std::size_t e = 0; e < m; ++e) {
            const double y = (raw[e] - origin[e]) * scale;
            Limbs term, square;
            value_terms<weighted>(y, up[e], square_up, weighted ? weight[e] : 1.0, limb, term,
                                  square);
            hi[e] = term.hi;
            lo[e] = term.lo;
            square_hi[e] = square.hi;
            square_lo[e] = square.lo;
        }
    }

    PARTITA_INLINE void add_row(std::size_t r) {
        const std::size_t d = sums_.d, columns = d + 2;
        const std::size_t i = static_cast<std::size_t>(row_[r]);
        const std::int64_t times = sums_.times ? sums_.times[i] : 1;
        Limbs square{0, 0};
        for (std::size_t t = 0; t < d; ++t) square.hi += square_hi_[r * d + t];
        for (std::size_t t = 0; t < d; ++t) square.lo += square_lo_[r * d + t];
        const Limbs weight =
            sums_.weight ? to_grid(sums_.weight[i] * sums_.up[d], 0.0, sums_.limb) : Limbs{1, 0};
        auto put = [&](std::int64_t cluster, std::int64_t by) {
            clear_first(sums_, static_cast<std::size_t>(cluster));
            std::int64_t* hi = sums_.hi + static_cast<std::size_t>(cluster) * columns;
            std::int64_t* lo = sums_.lo + static_cast<std::size_t>(cluster) * columns;
            add_terms(hi, hi_ + r * d, by, d);
            add_terms(lo, lo_ + r * d, by, d);
            hi[d] += by * weight.hi, lo[d] += by * weight.lo;
            hi[d + 1] += by * square.hi, lo[d + 1] += by * square.lo;
        };
        put(to_[r], times);
        if (from_[r] >= 0) put(from_[r], -times);
    }

    const SumView& sums_;
    std::size_t rows_, filled_;
    double *y_, *origin_, *up_, *weight_;
    std::int64_t *hi_, *lo_, *square_hi_, *square_lo_, *row_, *from_, *to_;
};

// A sparse row (origin 0): zeros add nothing, so only stored values are added.
template <class T>
void move_sparse_row(const SumView& sums, const CsrRows<T>& rows, std::size_t i, std::int32_t from,
                     std::int32_t to) {
    if (weightless(sums, i)) return;
    const std::size_t d = sums.d, columns = d + 2;
    const std::int64_t times = sums.times ? sums.times[i] : 1;
    auto put = [&](std::size_t column, Limbs g) {
        const std::size_t at = static_cast<std::size_t>(to) * columns + column;
        sums.hi[at] += times * g.hi;
        sums.lo[at] += times * g.lo;
        if (from < 0) return;
        const std::size_t back = static_cast<std::size_t>(from) * columns + column;
        sums.hi[back] -= times * g.hi;
        sums.lo[back] -= times * g.lo;
    };
    Limbs squares{0, 0};
    for (std::int64_t p = rows.start[i]; p < rows.start[i + 1]; ++p) {
        const std::size_t t = static_cast<std::size_t>(rows.column[p]);
        const double y = static_cast<double>(rows.value[p]) * sums.scale;
        Limbs term, square;
        if (sums.weight)
            value_terms<true>(y, sums.up[t], sums.up[d + 1], sums.weight[i], sums.limb, term,
                              square);
        else
            value_terms<false>(y, sums.up[t], sums.up[d + 1], 1.0, sums.limb, term, square);
        put(t, term);
        squares.hi += square.hi;
        squares.lo += square.lo;
    }
    put(d, sums.weight ? to_grid(sums.weight[i] * sums.up[d], 0.0, sums.limb) : Limbs{1, 0});
    put(d + 1, squares);
}

// n = head + tail exactly, head being n rounded. The halves of n are put into the mantissas of 2⁸⁴
// and 2⁵², as few instruction sets can convert 64-bit integers in vectors.
PARTITA_INLINE Twofold whole(std::int64_t n) {
    const std::uint64_t bits = static_cast<std::uint64_t>(n);
    const double high =
        __builtin_bit_cast(double, (bits >> 32) ^ 0x4530000080000000u) - (0x1p84 + 0x1p63);
    const double low =
        __builtin_bit_cast(double, (bits & 0xffffffffu) | 0x4330000000000000u) - 0x1p52;
    return fast_two_sum(high, low);
}

// (hi + lo / limb) / up, with small = 1 / limb and down = 1 / up: powers of two, so exact.
PARTITA_INLINE Twofold value_of(std::int64_t hi, std::int64_t lo, double small, double down) {
    const Twofold rest = whole(lo);
    const Twofold v = add(whole(hi), {rest.head * small, rest.tail * small});
    return {v.head * down, v.tail * down};
}

constexpr std::size_t kFeatureLanes =
    8;  // of the sums over features: fixed, for the same bits on all machines

struct Lanes {
    Twofold square[kFeatureLanes];  // ‖Σ w·y‖²
    double gap[kFeatureLanes];      // ‖mean − center‖², scaled
};

// Adds one feature to its lane. Without branches, so that eight features become one vector.
PARTITA_INLINE void add_feature(const SumView& sums, std::size_t at, std::size_t t, Twofold w,
                                double small, double unscale, const double* center, double* mean,
                                Lanes& lanes, std::size_t lane) {
    const Twofold s = value_of(sums.hi[at + t], sums.lo[at + t], small, 1.0 / sums.up[t]);
    const double m = divide(s, w).head;
    const double gap = m - center[t] * sums.scale;
    mean[t] = m * unscale;
    lanes.square[lane] = add(lanes.square[lane], multiply(s, s));
    lanes.gap[lane] += gap * gap;
}

// Weight, mean (relative to the origin) and sse of clusters first…last−1, and the distance of each
// mean to its center (relative to the origin); zeros for a cluster of weight 0.
//     sse = Σ w‖y‖² − ‖Σ w·y‖² / Σ w   cancels, hence the twofold arithmetic
inline void summarise(const SumView& sums, double unit, std::size_t first, std::size_t last,
                      const double* centers, double* weight, double* mean, double* sse,
                      double* gap) {
    const std::size_t d = sums.d, columns = d + 2;
    const double small = 1.0 / sums.limb, unscale = 1.0 / sums.scale;
    for (std::size_t j = first; j < last; ++j) {
        const std::size_t at = j * columns;
        const Twofold w = value_of(sums.hi[at + d], sums.lo[at + d], small, 1.0 / sums.up[d]);
        weight[j] = w.head * unit;
        sse[j] = gap[j] = 0.0;
        double* m = mean + j * d;
        if (!(w.head > 0.0)) {
            for (std::size_t t = 0; t < d; ++t) m[t] = 0.0;
            continue;
        }
        Lanes lanes{};
        std::size_t t = 0;
        for (; t + kFeatureLanes <= d; t += kFeatureLanes)
            for (std::size_t lane = 0; lane < kFeatureLanes; ++lane)
                add_feature(sums, at, t + lane, w, small, unscale, centers + j * d, m, lanes, lane);
        for (; t < d; ++t)
            add_feature(sums, at, t, w, small, unscale, centers + j * d, m, lanes,
                        t % kFeatureLanes);
        Twofold squared = lanes.square[0];
        for (std::size_t lane = 1; lane < kFeatureLanes; ++lane)
            squared = add(squared, lanes.square[lane]);
        for (std::size_t lane = 0; lane < kFeatureLanes; ++lane) gap[j] += lanes.gap[lane];
        gap[j] = __builtin_sqrt(gap[j]) * unscale;
        const Twofold total =
            value_of(sums.hi[at + d + 1], sums.lo[at + d + 1], small, 1.0 / sums.up[d + 1]);
        const Twofold between = divide(squared, w);
        const double rest = add(total, {-between.head, -between.tail}).head;
        sse[j] = (rest > 0.0 ? rest : 0.0) * unit * unscale * unscale;
    }
}

}  // namespace partita::PARTITA_ISA
