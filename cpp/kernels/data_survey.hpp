// Statistics of the data before a fit: the extent of each feature, non-finite values, and counts of
// values beyond cuts. Also the exact sum of doubles, and a loop that measures peak throughput.
#pragma once

#include "simd.hpp"
#include "views.hpp"

namespace partita::PARTITA_ISA {

// A vector of T that the compiler has operators for.
template <class T>
struct VectorOf {
    static constexpr std::size_t bytes = sizeof(typename Simd<T>::Reg), count = bytes / sizeof(T);
    typedef T Vector __attribute__((vector_size(bytes)));
    typedef T Unaligned __attribute__((vector_size(bytes), aligned(alignof(T)), may_alias));
    static PARTITA_INLINE Vector load(const T* x) { return *reinterpret_cast<const Unaligned*>(x); }
    static PARTITA_INLINE void store(T* x, Vector v) { *reinterpret_cast<Unaligned*>(x) = v; }
};

// `extent` of one vector of features. Fetches what is `ahead` values further on: the next block.
template <class T>
PARTITA_INLINE void extent_vector(const Rows<T>& rows, std::size_t ahead, T* low, T* high,
                                  T* taint) {
    using L = VectorOf<T>;
    typename L::Vector least = L::load(low), most = L::load(high), tainted = L::load(taint);
    for (std::size_t i = 0; i < rows.n; ++i) {
        const typename L::Vector x = L::load(rows.data + i * rows.d);
        __builtin_prefetch(rows.data + i * rows.d + ahead, 0, 2);
        tainted += x * 0;
        least = x < least ? x : least;
        most = x > most ? x : most;
    }
    L::store(low, least);
    L::store(high, most);
    L::store(taint, tainted);
}

// Rows whose vectors of features are read in turn: they stay in the first cache, long ones in the
// second.
template <class T>
constexpr std::size_t survey_rows(std::size_t d) {
    const std::size_t most = (std::size_t{1} << 15) / (d * sizeof(T) + 1);
    return most < 16 ? 16 : (most < 256 ? most : 256);
}

// Lowers `low`, raises `high`; `taint` becomes NaN in every column that holds NaN or infinity.
// Rows of weight zero count only for the taint.
template <class T>
void extent(const Rows<T>& rows, const double* weight, T* low, T* high, T* taint) {
    constexpr std::size_t lanes = VectorOf<T>::count;
    const std::size_t d = rows.d, in_vectors = weight ? 0 : d / lanes * lanes;
    const std::size_t block = survey_rows<T>(d);
    for (std::size_t first = 0; first < rows.n; first += block) {
        const std::size_t last = first + block < rows.n ? first + block : rows.n;
        for (std::size_t t = 0; t < in_vectors; t += lanes)
            extent_vector<T>({rows.data + first * d + t, last - first, d}, block * d, low + t,
                             high + t, taint + t);
        for (std::size_t i = first; i < last && in_vectors < d; ++i) {
            const T* x = rows.data + i * d;
            for (std::size_t t = in_vectors; t < d; ++t) taint[t] += x[t] * 0;
            if (weight && !(weight[i] > 0)) continue;
            for (std::size_t t = in_vectors; t < d; ++t) {
                low[t] = x[t] < low[t] ? x[t] : low[t];
                high[t] = x[t] > high[t] ? x[t] : high[t];
            }
        }
    }
}

// Counts of values beyond cuts (4, d): below cuts[0], above cuts[1], below cuts[2], above cuts[3].

// An integer as wide as T: the result of a comparison of vectors.
template <class T>
struct CountOf;
template <>
struct CountOf<float> {
    using Type = std::int32_t;
};
template <>
struct CountOf<double> {
    using Type = std::int64_t;
};

// The counts of one vector of features. At most 2^31 − 1 rows.
template <class T>
PARTITA_INLINE void count_vector(const Rows<T>& rows, const T* cuts, std::int64_t* counts) {
    using L = VectorOf<T>;
    using Vector = typename L::Vector;
    typedef typename CountOf<T>::Type Counts __attribute__((vector_size(L::bytes)));
    const std::size_t d = rows.d;
    const Vector below = L::load(cuts), above = L::load(cuts + d);
    const Vector far_below = L::load(cuts + 2 * d), far_above = L::load(cuts + 3 * d);
    Counts count[4] = {};
    for (std::size_t i = 0; i < rows.n; ++i) {
        const Vector x = L::load(rows.data + i * d);
        count[0] -= x < below;  // true is −1
        count[1] -= x > above;
        count[2] -= x < far_below;
        count[3] -= x > far_above;
    }
    typedef std::int64_t Wide __attribute__((vector_size(8 * L::count)));
    for (std::size_t c = 0; c < 4; ++c) {
        Wide total;
        __builtin_memcpy(&total, counts + c * d, sizeof(total));
        total += __builtin_convertvector(count[c], Wide);
        __builtin_memcpy(counts + c * d, &total, sizeof(total));
    }
}

// Adds to counts (4, d); a row of `times` t counts t times.
template <class T>
void count_beyond(const Rows<T>& rows, const T* __restrict cuts, const std::int64_t* times,
                  std::int64_t* __restrict counts) {
    constexpr std::size_t lanes = VectorOf<T>::count;
    const std::size_t d = rows.d, in_vectors = times ? 0 : d / lanes * lanes;
    constexpr std::size_t block = 256;  // rows, which stay in the second cache
    for (std::size_t first = 0; first < rows.n; first += block) {
        const std::size_t last = first + block < rows.n ? first + block : rows.n;
        for (std::size_t t = 0; t < in_vectors; t += lanes)
            count_vector<T>({rows.data + first * d + t, last - first, d}, cuts + t, counts + t);
        for (std::size_t i = first; i < last; ++i) {
            const T* __restrict x = rows.data + i * d;
            const std::int64_t weight = times ? times[i] : 1;
            for (std::size_t t = in_vectors; t < d; ++t) {
                counts[t] += x[t] < cuts[t] ? weight : 0;
                counts[t + d] += x[t] > cuts[t + d] ? weight : 0;
                counts[t + 2 * d] += x[t] < cuts[t + 2 * d] ? weight : 0;
                counts[t + 3 * d] += x[t] > cuts[t + 3 * d] ? weight : 0;
            }
        }
    }
}

// Adds values, or products weight·value, without rounding, in any order: each is split into 32-bit
// digits of a 4352-bit number, of which there is one per label. digits[i] counts units of
// 2^(32·i − 2176). All must be finite.
struct Integer {  // mantissa·2^exponent with a sign
    std::uint64_t mantissa;
    int exponent;
    std::int64_t sign;
};

PARTITA_INLINE Integer as_integer(double value) {
    const std::uint64_t bits = __builtin_bit_cast(std::uint64_t, value);
    const int exponent = static_cast<int>(bits >> 52 & 0x7ff);
    const std::uint64_t fraction = bits & 0xfffffffffffffull;
    return {exponent ? fraction | 1ull << 52 : fraction, (exponent ? exponent : 1) - 1075,
            bits >> 63 ? -1 : 1};
}

inline void exact_sum(const ExactTerms& terms, std::int64_t* digits) {
    constexpr std::uint64_t low = 0xffffffffu;
    for (std::size_t i = 0; i < terms.n; ++i) {
        const Integer value = as_integer(terms.value[i]);
        std::int64_t* out = digits + (terms.label ? terms.label[i] * kExactDigits : 0);
        if (!terms.weight) {
            const int place = value.exponent + kExactPoint;
            out += place >> 5;
            const auto wide = static_cast<unsigned __int128>(value.mantissa) << (place & 31);
            out[0] += value.sign * static_cast<std::int64_t>(wide & low);
            out[1] += value.sign * static_cast<std::int64_t>(wide >> 32 & low);
            out[2] += value.sign * static_cast<std::int64_t>(wide >> 64);
            continue;
        }
        const Integer weight = as_integer(terms.weight[i]);
        const int place = value.exponent + weight.exponent + kExactPoint, shift = place & 31;
        out += place >> 5;
        const auto product = static_cast<unsigned __int128>(value.mantissa) * weight.mantissa;
        const auto a = static_cast<unsigned __int128>(static_cast<std::uint64_t>(product)) << shift;
        const auto b = (product >> 64 << shift) + (a >> 64);  // of the 64 bits above
        const std::int64_t sign = value.sign * weight.sign;
        out[0] += sign * static_cast<std::int64_t>(a & low);
        out[1] += sign * static_cast<std::int64_t>(a >> 32 & low);
        out[2] += sign * static_cast<std::int64_t>(b & low);
        out[3] += sign * static_cast<std::int64_t>(b >> 32 & low);
        out[4] += sign * static_cast<std::int64_t>(b >> 64);
    }
}

// Fused multiply-adds on registers only; returns the number of scalar operations in `rounds`.
template <class T>
double spin(std::int64_t rounds, T* sink) {
    using S = Simd<T>;
    constexpr int chains = kTileRows >= 8 ? 16 : 12;
    typename S::Reg acc[chains];
    const typename S::Reg x = S::set1(sink[0]), y = S::set1(sink[1]);
    for (int c = 0; c < chains; ++c) acc[c] = S::set1(static_cast<T>(c));
    for (std::int64_t r = 0; r < rounds; ++r)
#pragma GCC unroll 16
        for (int c = 0; c < chains; ++c) acc[c] = S::fnmadd(x, acc[c], y);
    typename S::Reg sum = acc[0];
    for (int c = 1; c < chains; ++c) sum = S::add(sum, acc[c]);
    alignas(64) T out[S::width];
    S::store(out, sum);
    sink[0] = out[0];
    return static_cast<double>(rounds) * chains * static_cast<double>(S::width);
}

}  // namespace partita::PARTITA_ISA
