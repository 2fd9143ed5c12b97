// Whether values are whole numbers, as counts and the values of pixels are.
#pragma once

#include "simd.hpp"

namespace partita::PARTITA_ISA {

constexpr double kMostWhole = 0x1p20;  // magnitude up to which a value is tested

// Adding it rounds |v| <= kMostWhole to a whole number.
template <class T>
constexpr T kWholeShift = static_cast<T>(sizeof(T) == 4 ? 0x1.8p23 : 0x1.8p52);

// True if a value is a whole number of at most kMostWhole; false for NaN.
template <class T>
PARTITA_INLINE bool is_whole(T v) {
    const T whole = (v + kWholeShift<T>)-kWholeShift<T>;
    return v == whole && v <= static_cast<T>(kMostWhole) && v >= -static_cast<T>(kMostWhole);
}

// The same of all values, in vectors.
template <class T>
bool are_whole(const T* values, std::size_t count) {
    constexpr std::size_t bytes = sizeof(typename Simd<T>::Reg), lanes = bytes / sizeof(T);
    constexpr std::size_t kBlock = 64 * lanes;  // values, after which it may end
    typedef T Vector __attribute__((vector_size(bytes)));
    typedef T Unaligned __attribute__((vector_size(bytes), aligned(alignof(T)), may_alias));
    const T most = static_cast<T>(kMostWhole);
    std::size_t e = 0;
    while (e + kBlock <= count) {
        decltype(Vector{} == Vector{}) wrong = {};
        for (const std::size_t last = e + kBlock; e < last; e += lanes) {
            const Vector v = *reinterpret_cast<const Unaligned*>(values + e);
            const Vector whole = (v + kWholeShift<T>)-kWholeShift<T>;
            wrong |= ~((v == whole) & (v <= most) & (v >= -most));
        }
        for (std::size_t l = 0; l < lanes; ++l)
            if (wrong[l]) return false;
    }
    for (; e < count; ++e)
        if (!is_whole(values[e])) return false;
    return true;
}

}  // namespace partita::PARTITA_ISA
