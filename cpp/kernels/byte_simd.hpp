// Products of bytes for each instruction set: rows as unsigned bytes (q + row_offset, |q| up to
// row_code), centers as signed ones (up to max_code). dot() adds the products of four neighbouring
// features to every 32-bit lane, exactly; dot_pair() those of eight. `offset` is what dot() still
// has to take off the rows.
//
// load() reads whole vectors at their alignment, load_any() from anywhere.
//
// `fast`: a byte takes at most half as long as a float.
//
// Where products are added in 16 bits, dot_pair() adds four of them before they are widened: rows
// have 7 bits, and the codes of a center are so small that the positive ones of any such four, and
// the negative ones, add up to at most max_pair_sum (byte_book.hpp): 127·258 < 2¹⁵.
//
// As assembly: around the intrinsics, GCC 12 copies every sum in every step, which is four times
// slower.
#pragma once

#include "simd.hpp"

#if defined(__ARM_FEATURE_DOTPROD)
#include <arm_neon.h>
#endif

namespace partita::PARTITA_ISA {

using ByteLanes = Simd<float>;  // the lanes of the sums are those of floats
using ByteReg = ByteLanes::IntReg;

#if defined(PARTITA_AVX512) && defined(__AVX512VNNI__)

struct Bytes {
    static constexpr bool fast = true;
    static constexpr std::int32_t row_code = 127, row_offset = 128, offset = 128, max_code = 127;
    static constexpr std::int32_t max_pair_sum = 0;  // no limit
    static PARTITA_INLINE ByteReg load(const std::uint8_t* p) { return _mm512_load_si512(p); }
    static PARTITA_INLINE ByteReg load_any(const std::uint8_t* p) { return _mm512_loadu_si512(p); }
    static PARTITA_INLINE ByteReg dot(ByteReg sum, ByteReg rows, ByteReg centers) {
        asm("vpdpbusd %2, %1, %0" : "+v"(sum) : "v"(rows), "v"(centers));
        return sum;
    }
};

#elif defined(PARTITA_AVX2) && (defined(__AVXVNNI__) || defined(__AVX512VNNI__))

struct Bytes {
    static constexpr bool fast = true;
    static constexpr std::int32_t row_code = 127, row_offset = 128, offset = 128, max_code = 127;
    static constexpr std::int32_t max_pair_sum = 0;  // no limit
    static PARTITA_INLINE ByteReg load(const std::uint8_t* p) {
        return _mm256_load_si256(reinterpret_cast<const __m256i*>(p));
    }
    static PARTITA_INLINE ByteReg load_any(const std::uint8_t* p) {
        return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
    }
    static PARTITA_INLINE ByteReg dot(ByteReg sum, ByteReg rows, ByteReg centers) {
#if defined(__AVXVNNI__)
        asm("%{vex%} vpdpbusd %2, %1, %0" : "+x"(sum) : "x"(rows), "x"(centers));
#else
        asm("vpdpbusd %2, %1, %0" : "+v"(sum) : "v"(rows), "v"(centers));
#endif
        return sum;
    }
};

#elif defined(PARTITA_AVX512)

// Pairs of products are added in 16 bits, which hold 2·255·63: centers have 7 bits.
struct Bytes {
    static constexpr bool fast = false;
    static constexpr std::int32_t row_code = 127, row_offset = 128, offset = 128, max_code = 63;
    static constexpr std::int32_t max_pair_sum = 0;  // no limit
    static PARTITA_INLINE ByteReg load(const std::uint8_t* p) { return _mm512_load_si512(p); }
    static PARTITA_INLINE ByteReg load_any(const std::uint8_t* p) { return _mm512_loadu_si512(p); }
    static PARTITA_INLINE ByteReg dot(ByteReg sum, ByteReg rows, ByteReg centers) {
        const __m512i pairs = _mm512_maddubs_epi16(rows, centers);
        return _mm512_add_epi32(sum, _mm512_madd_epi16(pairs, _mm512_set1_epi16(1)));
    }
};

#elif defined(PARTITA_AVX2)

struct Bytes {
    static constexpr bool fast = true;
    static constexpr std::int32_t row_code = 63, row_offset = 64, offset = 64, max_code = 127;
    static constexpr std::int32_t max_pair_sum = 258;
    static PARTITA_INLINE ByteReg load(const std::uint8_t* p) {
        return _mm256_load_si256(reinterpret_cast<const __m256i*>(p));
    }
    static PARTITA_INLINE ByteReg load_any(const std::uint8_t* p) {
        return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
    }
    static PARTITA_INLINE ByteReg dot(ByteReg sum, ByteReg rows, ByteReg centers) {
        return widened(sum, _mm256_maddubs_epi16(rows, centers));
    }
    static PARTITA_INLINE ByteReg dot_pair(ByteReg sum, ByteReg rows, ByteReg centers,
                                           ByteReg next_rows, ByteReg next_centers) {
        return widened(sum, _mm256_add_epi16(_mm256_maddubs_epi16(rows, centers),
                                             _mm256_maddubs_epi16(next_rows, next_centers)));
    }

private:
    static PARTITA_INLINE ByteReg widened(ByteReg sum, __m256i pairs) {
        return _mm256_add_epi32(sum, _mm256_madd_epi16(pairs, _mm256_set1_epi16(1)));
    }
};

#elif defined(__ARM_FEATURE_DOTPROD)

// Both factors are signed: the offset of the rows is taken off when they are read.
struct Bytes {
    static constexpr bool fast = true;
    static constexpr std::int32_t row_code = 127, row_offset = 128, offset = 0, max_code = 127;
    static constexpr std::int32_t max_pair_sum = 0;  // no limit
    static PARTITA_INLINE ByteReg load(const std::uint8_t* p) {
        return reinterpret_cast<ByteReg>(veorq_u8(vld1q_u8(p), vdupq_n_u8(128)));
    }
    static PARTITA_INLINE ByteReg load_any(const std::uint8_t* p) { return load(p); }
    static PARTITA_INLINE ByteReg dot(ByteReg sum, ByteReg rows, ByteReg centers) {
        return reinterpret_cast<ByteReg>(vdotq_s32(reinterpret_cast<int32x4_t>(sum),
                                                   reinterpret_cast<int8x16_t>(rows),
                                                   reinterpret_cast<int8x16_t>(centers)));
    }
};

#else

struct Bytes {
    static constexpr bool fast = false;
    static constexpr std::int32_t row_code = 127, row_offset = 128, offset = 128, max_code = 127;
    static constexpr std::int32_t max_pair_sum = 0;  // no limit
    typedef std::uint8_t Unsigned __attribute__((vector_size(16)));
    typedef std::int8_t Signed __attribute__((vector_size(16)));
    static PARTITA_INLINE ByteReg load(const std::uint8_t* p) {
        return *reinterpret_cast<const ByteReg*>(p);
    }
    static PARTITA_INLINE ByteReg load_any(const std::uint8_t* p) {
        ByteReg out;
        __builtin_memcpy(&out, p, sizeof(out));
        return out;
    }
    static PARTITA_INLINE ByteReg dot(ByteReg sum, ByteReg rows, ByteReg centers) {
        const Unsigned x = reinterpret_cast<Unsigned>(rows);
        const Signed c = reinterpret_cast<Signed>(centers);
        for (std::size_t lane = 0; lane < ByteLanes::width; ++lane)
            for (std::size_t t = 4 * lane; t < 4 * lane + 4; ++t)
                sum[lane] += static_cast<std::int32_t>(x[t]) * static_cast<std::int32_t>(c[t]);
        return sum;
    }
};

#endif

PARTITA_INLINE std::int32_t sum_of_lanes(ByteReg lanes) {
#if defined(PARTITA_AVX512)
    return _mm512_reduce_add_epi32(lanes);
#else
    alignas(64) std::int32_t lane[ByteLanes::width];
    ByteLanes::store_int(lane, lanes);
    std::int32_t sum = 0;
    for (std::size_t l = 0; l < ByteLanes::width; ++l) sum += lane[l];
    return sum;
#endif
}

// Writes the lowest byte of every lane.
PARTITA_INLINE void store_bytes(std::uint8_t* p, ByteReg lanes) {
#if defined(PARTITA_AVX512)
    _mm_storeu_si128(reinterpret_cast<__m128i*>(p), _mm512_cvtepi32_epi8(lanes));
#elif defined(PARTITA_AVX2)  // lanes of 0 … 255
    const __m128i words =
        _mm_packs_epi32(_mm256_castsi256_si128(lanes), _mm256_extracti128_si256(lanes, 1));
    _mm_storel_epi64(reinterpret_cast<__m128i*>(p), _mm_packus_epi16(words, words));
#else
    alignas(64) std::int32_t lane[ByteLanes::width];
    ByteLanes::store_int(lane, lanes);
    for (std::size_t l = 0; l < ByteLanes::width; ++l) p[l] = static_cast<std::uint8_t>(lane[l]);
#endif
}

}  // namespace partita::PARTITA_ISA
