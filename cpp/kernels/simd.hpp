// A vector register of T and the operations that the kernels need, for each instruction set.
// ratio(a, b) is a / b, and 0 where b is 0; where(m, a) is a, and 0 outside the mask.
//
// Everything is in a namespace named after the instruction set, so that the linker cannot replace
// code for one instruction set by code for another.
#pragma once

#include <cstddef>
#include <cstdint>

// PARTITA_NARROW: vectors of 256 bits, although the instruction set has longer ones.
#if defined(__AVX512F__) && defined(__AVX512DQ__) && defined(__AVX512VL__) && \
    !defined(PARTITA_NARROW)
#include <immintrin.h>
#define PARTITA_AVX512
#if defined(__AVX512VNNI__)
#define PARTITA_ISA avx512vnni
#else
#define PARTITA_ISA avx512
#endif
#elif defined(__AVX2__) && defined(__FMA__)
#include <immintrin.h>
#define PARTITA_AVX2
#if defined(__AVXVNNI__)
#define PARTITA_ISA avx2vnni
#elif defined(__AVX512VNNI__)
#define PARTITA_ISA avx2evex
#else
#define PARTITA_ISA avx2
#endif
#elif defined(__ARM_FEATURE_DOTPROD)
#define PARTITA_ISA dotprod
#else
#define PARTITA_ISA portable
#endif

#define PARTITA_INLINE inline __attribute__((always_inline))

namespace partita::PARTITA_ISA {

template <class T>
struct Simd;

// Bytes rounded up to whole cache lines.
constexpr std::size_t aligned(std::size_t bytes) { return (bytes + 63) / 64 * 64; }

// Hands out arrays aligned to cache lines from one block of memory; without a block it only counts.
class ScratchArena {
public:
    // used: bytes at the beginning that are taken already
    explicit ScratchArena(unsigned char* memory, std::size_t used = 0)
        : memory_(memory), used_(used) {}
    template <class T>
    PARTITA_INLINE T* take(std::size_t count) {
        unsigned char* array = memory_ ? memory_ + used_ : nullptr;
        used_ += aligned(count * sizeof(T));
        return reinterpret_cast<T*>(array);
    }
    std::size_t used() const { return used_; }  // bytes

private:
    unsigned char* memory_;
    std::size_t used_;
};

// A word with the lowest `count` bits set, at most 32.
PARTITA_INLINE std::uint32_t first_bits(std::size_t count) {
    return count >= 32 ? ~0u : (1u << count) - 1;
}

#if defined(PARTITA_AVX512)

// 32 registers: 14 centers x 2 vectors of points leave room for the panel and one broadcast.
constexpr int kTileRows = 14;

template <>
struct Simd<float> {
    using Reg = __m512;
    using Int = std::int32_t;
    using IntReg = __m512i;
    using Mask = __mmask16;
    static constexpr std::size_t width = 16;
    static PARTITA_INLINE Reg load(const float* p) { return _mm512_load_ps(p); }
    static constexpr std::size_t group = 4;
    // `group` features of `width` rows, from row(l) on. Loads rows 0, 4, 8, 12, then 1, 5, 9, 13, …, so that a 4x4
    // transposition within 128-bit lanes puts the rows in order.
    template <class Row>
    static PARTITA_INLINE void columns(Row row, Reg (&out)[group]) {
        Reg v[4];
#pragma GCC unroll 4
        for (std::size_t i = 0; i < 4; ++i) {
            v[i] = _mm512_castps128_ps512(_mm_loadu_ps(row(i)));
            v[i] = _mm512_insertf32x4(v[i], _mm_loadu_ps(row(i + 4)), 1);
            v[i] = _mm512_insertf32x4(v[i], _mm_loadu_ps(row(i + 8)), 2);
            v[i] = _mm512_insertf32x4(v[i], _mm_loadu_ps(row(i + 12)), 3);
        }
        const __m512d a = _mm512_castps_pd(_mm512_unpacklo_ps(v[0], v[1]));
        const __m512d b = _mm512_castps_pd(_mm512_unpackhi_ps(v[0], v[1]));
        const __m512d c = _mm512_castps_pd(_mm512_unpacklo_ps(v[2], v[3]));
        const __m512d d = _mm512_castps_pd(_mm512_unpackhi_ps(v[2], v[3]));
        out[0] = _mm512_castpd_ps(_mm512_unpacklo_pd(a, c));
        out[1] = _mm512_castpd_ps(_mm512_unpackhi_pd(a, c));
        out[2] = _mm512_castpd_ps(_mm512_unpacklo_pd(b, d));
        out[3] = _mm512_castpd_ps(_mm512_unpackhi_pd(b, d));
    }
    static PARTITA_INLINE void store(float* p, Reg a) { _mm512_store_ps(p, a); }
    static PARTITA_INLINE Reg set1(float a) { return _mm512_set1_ps(a); }
    static PARTITA_INLINE Reg fnmadd(Reg a, Reg b, Reg c) { return _mm512_fnmadd_ps(a, b, c); }
    static PARTITA_INLINE Reg add(Reg a, Reg b) { return _mm512_add_ps(a, b); }
    static PARTITA_INLINE Reg sub(Reg a, Reg b) { return _mm512_sub_ps(a, b); }
    static PARTITA_INLINE Reg mul(Reg a, Reg b) { return _mm512_mul_ps(a, b); }
    static PARTITA_INLINE Reg ratio(Reg a, Reg b) {
        return _mm512_maskz_div_ps(_mm512_cmp_ps_mask(b, set1(0), _CMP_NEQ_UQ), a, b);
    }
    static PARTITA_INLINE Reg sqrt(Reg a) { return _mm512_sqrt_ps(a); }
    static PARTITA_INLINE float lowest(Reg a) { return _mm512_reduce_min_ps(a); }
    // The lowest lane of each of R vectors, in their order; R: 4 or 8. The other lanes repeat them.
    template <std::size_t R>
    static PARTITA_INLINE Reg lowest_of_each(const Reg (&v)[R]) {
        Reg x[R / 4];
#pragma GCC unroll 2
        for (std::size_t i = 0; i < R / 4; ++i) {  // four vectors, folded within 128 bits
            const __m512d a = _mm512_castps_pd(min(_mm512_unpacklo_ps(v[4 * i], v[4 * i + 1]),
                                                   _mm512_unpackhi_ps(v[4 * i], v[4 * i + 1])));
            const __m512d b = _mm512_castps_pd(min(_mm512_unpacklo_ps(v[4 * i + 2], v[4 * i + 3]),
                                                   _mm512_unpackhi_ps(v[4 * i + 2], v[4 * i + 3])));
            x[i] = min(_mm512_castpd_ps(_mm512_unpacklo_pd(a, b)),
                       _mm512_castpd_ps(_mm512_unpackhi_pd(a, b)));
        }
        auto fold = [](Reg a, Reg b) {
            return min(_mm512_shuffle_f32x4(a, b, 0x88), _mm512_shuffle_f32x4(a, b, 0xdd));
        };
        const Reg half = fold(x[0], x[R / 4 - 1]);
        return fold(half, half);
    }
    static PARTITA_INLINE Reg min(Reg a, Reg b) { return _mm512_min_ps(a, b); }
    static PARTITA_INLINE Reg max(Reg a, Reg b) { return _mm512_max_ps(a, b); }
    static PARTITA_INLINE Mask less(Reg a, Reg b) { return _mm512_cmp_ps_mask(a, b, _CMP_LT_OQ); }
    static PARTITA_INLINE Reg min_where(Mask m, Reg a, Reg b) {
        return _mm512_mask_min_ps(a, m, a, b);
    }
    static PARTITA_INLINE std::uint32_t bits(Mask m) { return m; }
    static PARTITA_INLINE Reg from_int(IntReg a) { return _mm512_cvtepi32_ps(a); }
    static PARTITA_INLINE IntReg to_int(Reg a) { return _mm512_cvtps_epi32(a); }
    static PARTITA_INLINE Reg load_any(const float* p) { return _mm512_loadu_ps(p); }
    static PARTITA_INLINE IntReg load_int(const Int* p) { return _mm512_load_si512(p); }
    static PARTITA_INLINE void store_int(Int* p, IntReg a) { _mm512_store_si512(p, a); }
    static PARTITA_INLINE IntReg set1_int(Int a) { return _mm512_set1_epi32(a); }
    static PARTITA_INLINE IntReg next(IntReg a) { return _mm512_add_epi32(a, set1_int(1)); }
    static PARTITA_INLINE IntReg select(Mask m, IntReg yes, IntReg no) {
        return _mm512_mask_mov_epi32(no, m, yes);
    }
};

template <>
struct Simd<double> {
    using Reg = __m512d;
    using Int = std::int64_t;
    using IntReg = __m512i;
    using Mask = __mmask8;
    static constexpr std::size_t width = 8;
    static PARTITA_INLINE Reg load(const double* p) { return _mm512_load_pd(p); }
    static constexpr std::size_t group = 2;
    template <class Row>
    static PARTITA_INLINE void columns(Row row, Reg (&out)[group]) {
        Reg v[2];
#pragma GCC unroll 2
        for (std::size_t i = 0; i < 2; ++i) {
            v[i] = _mm512_castpd128_pd512(_mm_loadu_pd(row(i)));
            v[i] = _mm512_insertf64x2(v[i], _mm_loadu_pd(row(i + 2)), 1);
            v[i] = _mm512_insertf64x2(v[i], _mm_loadu_pd(row(i + 4)), 2);
            v[i] = _mm512_insertf64x2(v[i], _mm_loadu_pd(row(i + 6)), 3);
        }
        out[0] = _mm512_unpacklo_pd(v[0], v[1]);
        out[1] = _mm512_unpackhi_pd(v[0], v[1]);
    }
    static PARTITA_INLINE Reg widen(const double* p) { return _mm512_loadu_pd(p); }
    static PARTITA_INLINE Reg widen(const float* p) { return _mm512_cvtps_pd(_mm256_loadu_ps(p)); }
    static PARTITA_INLINE void store(double* p, Reg a) { _mm512_store_pd(p, a); }
    static PARTITA_INLINE Reg set1(double a) { return _mm512_set1_pd(a); }
    static PARTITA_INLINE Reg fmadd(Reg a, Reg b, Reg c) { return _mm512_fmadd_pd(a, b, c); }
    static PARTITA_INLINE Reg fnmadd(Reg a, Reg b, Reg c) { return _mm512_fnmadd_pd(a, b, c); }
    static PARTITA_INLINE Reg add(Reg a, Reg b) { return _mm512_add_pd(a, b); }
    static PARTITA_INLINE Reg sub(Reg a, Reg b) { return _mm512_sub_pd(a, b); }
    static PARTITA_INLINE Reg mul(Reg a, Reg b) { return _mm512_mul_pd(a, b); }
    static PARTITA_INLINE Reg ratio(Reg a, Reg b) {
        return _mm512_maskz_div_pd(_mm512_cmp_pd_mask(b, set1(0), _CMP_NEQ_UQ), a, b);
    }
    static PARTITA_INLINE Reg sqrt(Reg a) { return _mm512_sqrt_pd(a); }
    static PARTITA_INLINE Reg min(Reg a, Reg b) { return _mm512_min_pd(a, b); }
    static PARTITA_INLINE Reg max(Reg a, Reg b) { return _mm512_max_pd(a, b); }
    static PARTITA_INLINE Mask less(Reg a, Reg b) { return _mm512_cmp_pd_mask(a, b, _CMP_LT_OQ); }
    static PARTITA_INLINE Mask equal(Reg a, Reg b) { return _mm512_cmp_pd_mask(a, b, _CMP_EQ_OQ); }
    static PARTITA_INLINE Reg where(Mask m, Reg a) { return _mm512_maskz_mov_pd(m, a); }
    static PARTITA_INLINE std::uint32_t bits(Mask m) { return m; }
    static PARTITA_INLINE IntReg load_int(const Int* p) { return _mm512_load_si512(p); }
    static PARTITA_INLINE void store_int(Int* p, IntReg a) { _mm512_store_si512(p, a); }
    static PARTITA_INLINE IntReg set1_int(Int a) { return _mm512_set1_epi64(a); }
    static PARTITA_INLINE IntReg next(IntReg a) { return _mm512_add_epi64(a, set1_int(1)); }
    static PARTITA_INLINE IntReg select(Mask m, IntReg yes, IntReg no) {
        return _mm512_mask_mov_epi64(no, m, yes);
    }
};

#elif defined(PARTITA_AVX2)

// 16 registers: 6 centers x 2 vectors of points.
constexpr int kTileRows = 6;

template <>
struct Simd<float> {
    using Reg = __m256;
    using Int = std::int32_t;
    using IntReg = __m256i;
    using Mask = __m256;
    static constexpr std::size_t width = 8;
    static PARTITA_INLINE Reg load(const float* p) { return _mm256_load_ps(p); }
    static constexpr std::size_t group = 4;
    template <class Row>
    static PARTITA_INLINE void columns(Row row, Reg (&out)[group]) {
        Reg v[4];
#pragma GCC unroll 4
        for (std::size_t i = 0; i < 4; ++i)
            v[i] = _mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps(row(i))),
                                        _mm_loadu_ps(row(i + 4)), 1);
        const __m256d a = _mm256_castps_pd(_mm256_unpacklo_ps(v[0], v[1]));
        const __m256d b = _mm256_castps_pd(_mm256_unpackhi_ps(v[0], v[1]));
        const __m256d c = _mm256_castps_pd(_mm256_unpacklo_ps(v[2], v[3]));
        const __m256d d = _mm256_castps_pd(_mm256_unpackhi_ps(v[2], v[3]));
        out[0] = _mm256_castpd_ps(_mm256_unpacklo_pd(a, c));
        out[1] = _mm256_castpd_ps(_mm256_unpackhi_pd(a, c));
        out[2] = _mm256_castpd_ps(_mm256_unpacklo_pd(b, d));
        out[3] = _mm256_castpd_ps(_mm256_unpackhi_pd(b, d));
    }
    static PARTITA_INLINE void store(float* p, Reg a) { _mm256_store_ps(p, a); }
    static PARTITA_INLINE Reg set1(float a) { return _mm256_set1_ps(a); }
    static PARTITA_INLINE Reg fnmadd(Reg a, Reg b, Reg c) { return _mm256_fnmadd_ps(a, b, c); }
    static PARTITA_INLINE Reg add(Reg a, Reg b) { return _mm256_add_ps(a, b); }
    static PARTITA_INLINE Reg sub(Reg a, Reg b) { return _mm256_sub_ps(a, b); }
    static PARTITA_INLINE Reg mul(Reg a, Reg b) { return _mm256_mul_ps(a, b); }
    static PARTITA_INLINE Reg ratio(Reg a, Reg b) {
        return _mm256_and_ps(_mm256_div_ps(a, b), _mm256_cmp_ps(b, set1(0), _CMP_NEQ_UQ));
    }
    static PARTITA_INLINE Reg sqrt(Reg a) { return _mm256_sqrt_ps(a); }
    static PARTITA_INLINE float lowest(Reg a) {
        __m128 low = _mm_min_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps(a, 1));
        low = _mm_min_ps(low, _mm_movehl_ps(low, low));
        return _mm_cvtss_f32(_mm_min_ss(low, _mm_movehdup_ps(low)));
    }
    template <std::size_t R>
    static PARTITA_INLINE Reg lowest_of_each(const Reg (&v)[R]) {
        Reg x[R / 4];
#pragma GCC unroll 2
        for (std::size_t i = 0; i < R / 4; ++i) {
            const __m256d a = _mm256_castps_pd(min(_mm256_unpacklo_ps(v[4 * i], v[4 * i + 1]),
                                                   _mm256_unpackhi_ps(v[4 * i], v[4 * i + 1])));
            const __m256d b = _mm256_castps_pd(min(_mm256_unpacklo_ps(v[4 * i + 2], v[4 * i + 3]),
                                                   _mm256_unpackhi_ps(v[4 * i + 2], v[4 * i + 3])));
            x[i] = min(_mm256_castpd_ps(_mm256_unpacklo_pd(a, b)),
                       _mm256_castpd_ps(_mm256_unpackhi_pd(a, b)));
        }
        const Reg other = x[R / 4 - 1];
        return min(_mm256_permute2f128_ps(x[0], other, 0x20),
                   _mm256_permute2f128_ps(x[0], other, 0x31));
    }
    static PARTITA_INLINE Reg min(Reg a, Reg b) { return _mm256_min_ps(a, b); }
    static PARTITA_INLINE Reg max(Reg a, Reg b) { return _mm256_max_ps(a, b); }
    static PARTITA_INLINE Mask less(Reg a, Reg b) { return _mm256_cmp_ps(a, b, _CMP_LT_OQ); }
    static PARTITA_INLINE Reg min_where(Mask m, Reg a, Reg b) {
        return _mm256_blendv_ps(a, _mm256_min_ps(a, b), m);
    }
    static PARTITA_INLINE std::uint32_t bits(Mask m) {
        return static_cast<std::uint32_t>(_mm256_movemask_ps(m));
    }
    static PARTITA_INLINE Reg from_int(IntReg a) { return _mm256_cvtepi32_ps(a); }
    static PARTITA_INLINE IntReg to_int(Reg a) { return _mm256_cvtps_epi32(a); }
    static PARTITA_INLINE Reg load_any(const float* p) { return _mm256_loadu_ps(p); }
    static PARTITA_INLINE IntReg load_int(const Int* p) {
        return _mm256_load_si256(reinterpret_cast<const __m256i*>(p));
    }
    static PARTITA_INLINE void store_int(Int* p, IntReg a) {
        _mm256_store_si256(reinterpret_cast<__m256i*>(p), a);
    }
    static PARTITA_INLINE IntReg set1_int(Int a) { return _mm256_set1_epi32(a); }
    static PARTITA_INLINE IntReg next(IntReg a) { return _mm256_add_epi32(a, set1_int(1)); }
    static PARTITA_INLINE IntReg select(Mask m, IntReg yes, IntReg no) {
        return _mm256_blendv_epi8(no, yes, _mm256_castps_si256(m));
    }
};

template <>
struct Simd<double> {
    using Reg = __m256d;
    using Int = std::int64_t;
    using IntReg = __m256i;
    using Mask = __m256d;
    static constexpr std::size_t width = 4;
    static PARTITA_INLINE Reg load(const double* p) { return _mm256_load_pd(p); }
    static constexpr std::size_t group = 2;
    template <class Row>
    static PARTITA_INLINE void columns(Row row, Reg (&out)[group]) {
        Reg v[2];
#pragma GCC unroll 2
        for (std::size_t i = 0; i < 2; ++i)
            v[i] = _mm256_insertf128_pd(_mm256_castpd128_pd256(_mm_loadu_pd(row(i))),
                                        _mm_loadu_pd(row(i + 2)), 1);
        out[0] = _mm256_unpacklo_pd(v[0], v[1]);
        out[1] = _mm256_unpackhi_pd(v[0], v[1]);
    }
    static PARTITA_INLINE Reg widen(const double* p) { return _mm256_loadu_pd(p); }
    static PARTITA_INLINE Reg widen(const float* p) { return _mm256_cvtps_pd(_mm_loadu_ps(p)); }
    static PARTITA_INLINE void store(double* p, Reg a) { _mm256_store_pd(p, a); }
    static PARTITA_INLINE Reg set1(double a) { return _mm256_set1_pd(a); }
    static PARTITA_INLINE Reg fmadd(Reg a, Reg b, Reg c) { return _mm256_fmadd_pd(a, b, c); }
    static PARTITA_INLINE Reg fnmadd(Reg a, Reg b, Reg c) { return _mm256_fnmadd_pd(a, b, c); }
    static PARTITA_INLINE Reg add(Reg a, Reg b) { return _mm256_add_pd(a, b); }
    static PARTITA_INLINE Reg sub(Reg a, Reg b) { return _mm256_sub_pd(a, b); }
    static PARTITA_INLINE Reg mul(Reg a, Reg b) { return _mm256_mul_pd(a, b); }
    static PARTITA_INLINE Reg ratio(Reg a, Reg b) {
        return _mm256_and_pd(_mm256_div_pd(a, b), _mm256_cmp_pd(b, set1(0), _CMP_NEQ_UQ));
    }
    static PARTITA_INLINE Reg sqrt(Reg a) { return _mm256_sqrt_pd(a); }
    static PARTITA_INLINE Reg min(Reg a, Reg b) { return _mm256_min_pd(a, b); }
    static PARTITA_INLINE Reg max(Reg a, Reg b) { return _mm256_max_pd(a, b); }
    static PARTITA_INLINE Mask less(Reg a, Reg b) { return _mm256_cmp_pd(a, b, _CMP_LT_OQ); }
    static PARTITA_INLINE Mask equal(Reg a, Reg b) { return _mm256_cmp_pd(a, b, _CMP_EQ_OQ); }
    static PARTITA_INLINE Reg where(Mask m, Reg a) { return _mm256_and_pd(m, a); }
    static PARTITA_INLINE std::uint32_t bits(Mask m) {
        return static_cast<std::uint32_t>(_mm256_movemask_pd(m));
    }
    static PARTITA_INLINE IntReg load_int(const Int* p) {
        return _mm256_load_si256(reinterpret_cast<const __m256i*>(p));
    }
    static PARTITA_INLINE void store_int(Int* p, IntReg a) {
        _mm256_store_si256(reinterpret_cast<__m256i*>(p), a);
    }
    static PARTITA_INLINE IntReg set1_int(Int a) { return _mm256_set1_epi64x(a); }
    static PARTITA_INLINE IntReg next(IntReg a) { return _mm256_add_epi64(a, set1_int(1)); }
    static PARTITA_INLINE IntReg select(Mask m, IntReg yes, IntReg no) {
        return _mm256_blendv_epi8(no, yes, _mm256_castpd_si256(m));
    }
};

#else

// 128-bit vectors (SSE2, NEON) by the compiler's vector types. fmadd and fnmadd round twice.
constexpr int kTileRows = 4;

template <class T, class I>
struct Generic {
    typedef T Reg __attribute__((vector_size(16)));
    typedef I IntReg __attribute__((vector_size(16)));
    using Int = I;
    using Mask = IntReg;
    static constexpr std::size_t width = 16 / sizeof(T);
    static PARTITA_INLINE Reg load(const T* p) { return *reinterpret_cast<const Reg*>(p); }
    static constexpr std::size_t group = 1;
    template <class Row>
    static PARTITA_INLINE void columns(Row row, Reg (&out)[group]) {
        for (std::size_t lane = 0; lane < width; ++lane) out[0][lane] = *row(lane);
    }
    static PARTITA_INLINE void store(T* p, Reg a) { *reinterpret_cast<Reg*>(p) = a; }
    static PARTITA_INLINE Reg set1(T a) { return Reg{} + a; }
    static PARTITA_INLINE Reg fmadd(Reg a, Reg b, Reg c) { return c + a * b; }
    static PARTITA_INLINE Reg fnmadd(Reg a, Reg b, Reg c) { return c - a * b; }
    static PARTITA_INLINE Reg add(Reg a, Reg b) { return a + b; }
    static PARTITA_INLINE Reg sub(Reg a, Reg b) { return a - b; }
    static PARTITA_INLINE Reg mul(Reg a, Reg b) { return a * b; }
    static PARTITA_INLINE Reg ratio(Reg a, Reg b) { return b == 0 ? Reg{} : a / b; }
    static PARTITA_INLINE Reg sqrt(Reg a) {
        for (std::size_t lane = 0; lane < width; ++lane)
            a[lane] = static_cast<T>(__builtin_sqrt(a[lane]));
        return a;
    }
    static PARTITA_INLINE T lowest(Reg a) {
        T low = a[0];
        for (std::size_t lane = 1; lane < width; ++lane) low = a[lane] < low ? a[lane] : low;
        return low;
    }
    template <std::size_t R>
    static PARTITA_INLINE Reg lowest_of_each(const Reg (&v)[R]) {
        Reg low;
        for (std::size_t i = 0; i < width; ++i) low[i] = lowest(v[i % R]);
        return low;
    }
    static PARTITA_INLINE Reg min(Reg a, Reg b) { return a < b ? a : b; }
    static PARTITA_INLINE Reg max(Reg a, Reg b) { return a > b ? a : b; }
    static PARTITA_INLINE Mask less(Reg a, Reg b) { return a < b; }
    static PARTITA_INLINE Mask equal(Reg a, Reg b) { return a == b; }
    static PARTITA_INLINE Reg where(Mask m, Reg a) { return m ? a : Reg{}; }
    static PARTITA_INLINE Reg min_where(Mask m, Reg a, Reg b) { return m ? min(a, b) : a; }
    static PARTITA_INLINE std::uint32_t bits(Mask m) {
        std::uint32_t all = 0;
        for (std::size_t lane = 0; lane < width; ++lane) all |= (m[lane] ? 1u : 0u) << lane;
        return all;
    }
    static PARTITA_INLINE Reg from_int(IntReg a) { return __builtin_convertvector(a, Reg); }
    static PARTITA_INLINE IntReg to_int(Reg a) {  // as the others: to the nearest, even on ties
        return __builtin_convertvector((a + T(0x1.8p23)) - T(0x1.8p23), IntReg);
    }
    static PARTITA_INLINE Reg load_any(const T* p) {
        Reg out{};
        for (std::size_t lane = 0; lane < width; ++lane) out[lane] = p[lane];
        return out;
    }
    template <class From>
    static PARTITA_INLINE Reg widen(const From* p) {
        Reg out{};
        for (std::size_t lane = 0; lane < width; ++lane) out[lane] = static_cast<T>(p[lane]);
        return out;
    }
    static PARTITA_INLINE IntReg load_int(const I* p) {
        return *reinterpret_cast<const IntReg*>(p);
    }
    static PARTITA_INLINE void store_int(I* p, IntReg a) { *reinterpret_cast<IntReg*>(p) = a; }
    static PARTITA_INLINE IntReg set1_int(I a) { return IntReg{} + a; }
    static PARTITA_INLINE IntReg next(IntReg a) { return a + set1_int(1); }
    static PARTITA_INLINE IntReg select(Mask m, IntReg yes, IntReg no) { return m ? yes : no; }
};

template <>
struct Simd<float> : Generic<float, std::int32_t> {};
template <>
struct Simd<double> : Generic<double, std::int64_t> {};

#endif

// Two vectors of doubles, rounded to one of floats.
PARTITA_INLINE Simd<float>::Reg round_to_floats(Simd<double>::Reg low, Simd<double>::Reg high) {
#if defined(PARTITA_AVX512)
    return _mm512_insertf32x8(_mm512_castps256_ps512(_mm512_cvtpd_ps(low)), _mm512_cvtpd_ps(high),
                              1);
#elif defined(PARTITA_AVX2)
    return _mm256_set_m128(_mm256_cvtpd_ps(high), _mm256_cvtpd_ps(low));
#else
    Simd<float>::Reg out{};
    for (std::size_t l = 0; l < Simd<double>::width; ++l) {
        out[l] = static_cast<float>(low[l]);
        out[l + Simd<double>::width] = static_cast<float>(high[l]);
    }
    return out;
#endif
}

// Writes the lanes of a vector that are set in `bits`, without gaps. May write a whole vector.
#if defined(PARTITA_AVX512)
PARTITA_INLINE void compress(const double* from, std::uint32_t bits, double* to) {
    _mm512_storeu_pd(to,
                     _mm512_maskz_compress_pd(static_cast<__mmask8>(bits), _mm512_loadu_pd(from)));
}
PARTITA_INLINE void compress(const std::int32_t* from, std::uint32_t bits, std::int32_t* to) {
    const __m256i v = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to),
                        _mm256_maskz_compress_epi32(static_cast<__mmask8>(bits), v));
}
PARTITA_INLINE void compress(const float* from, std::uint32_t bits, float* to) {
    _mm512_storeu_ps(to,
                     _mm512_maskz_compress_ps(static_cast<__mmask16>(bits), _mm512_loadu_ps(from)));
}
// The same for the numbers first, first + 1, … of up to 16 lanes.
PARTITA_INLINE void compress_numbers(std::int32_t first, std::uint32_t bits, std::int32_t* to) {
    const __m512i lanes = _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
    const __m512i numbers = _mm512_add_epi32(lanes, _mm512_set1_epi32(first));
    _mm512_storeu_si512(to, _mm512_maskz_compress_epi32(static_cast<__mmask16>(bits), numbers));
}
// Index of a lane with the lowest value.
PARTITA_INLINE std::size_t lowest_lane(__m512d v) {
    const __m512d low = _mm512_set1_pd(_mm512_reduce_min_pd(v));
    return static_cast<std::size_t>(
        __builtin_ctz(_mm512_cmp_pd_mask(v, low, _CMP_EQ_OQ) | (1u << 7)));
}
#else
template <class T>
PARTITA_INLINE void compress(const T* from, std::uint32_t bits, T* to) {
    for (; bits; bits &= bits - 1) *to++ = from[__builtin_ctz(bits)];
}
PARTITA_INLINE void compress_numbers(std::int32_t first, std::uint32_t bits, std::int32_t* to) {
    for (; bits; bits &= bits - 1) *to++ = first + __builtin_ctz(bits);
}
PARTITA_INLINE std::size_t lowest_lane(Simd<double>::Reg v) {
    alignas(64) double lane[Simd<double>::width];
    Simd<double>::store(lane, v);
    std::size_t lowest = 0;
    for (std::size_t l = 1; l < Simd<double>::width; ++l)
        if (lane[l] < lane[lowest]) lowest = l;
    return lowest;
}
#endif

// Up to 32 lower bounds of one row, 16 bits each: those with lower − by ≤ threshold, and the
// lowest.
struct BoundTest {
    std::uint32_t open_groups;  // one bit per bound
    std::uint32_t least;
};

// Sets the bounds of `renewed` groups, and raises those of other `known` ones, to `now`.
PARTITA_INLINE void renew_bounds(std::uint16_t* bound, const std::uint16_t* now, std::size_t count,
                                 std::uint32_t known, std::uint32_t renewed) {
    std::size_t c = 0;
#if defined(PARTITA_AVX2) || defined(PARTITA_AVX512)
    const __m128i bit = _mm_setr_epi16(1, 2, 4, 8, 16, 32, 64, 128);
    auto lanes = [&](std::uint32_t groups) {
        const __m128i eight = _mm_set1_epi16(static_cast<short>(groups >> c & 255));
        return _mm_cmpeq_epi16(_mm_and_si128(eight, bit), bit);
    };
    for (; count > 4 && c < count; c += 8) {  // whole vectors: rows are padded
        auto* at = reinterpret_cast<__m128i*>(bound + c);
        const __m128i from = _mm_loadu_si128(reinterpret_cast<const __m128i*>(now + c));
        const __m128i kept = _mm_andnot_si128(lanes(renewed & known), _mm_loadu_si128(at));
        _mm_storeu_si128(at, _mm_max_epu16(kept, _mm_and_si128(from, lanes(known))));
    }
#endif
    for (; c < count; ++c) {
        if (!(known >> c & 1)) continue;
        if (renewed >> c & 1 || now[c] > bound[c]) bound[c] = now[c];
    }
}

PARTITA_INLINE BoundTest test_few_bounds(const std::uint16_t* lower, const std::uint16_t* by,
                                         std::size_t count, std::uint16_t threshold) {
    BoundTest out{0, 65535};
    for (std::size_t c = 0; c < count; ++c) {
        const std::uint32_t left = lower[c] > by[c] ? lower[c] - by[c] : 0u;
        if (left <= threshold) out.open_groups |= 1u << c;
        if (left < out.least) out.least = left;
    }
    return out;
}

#if defined(PARTITA_AVX2) || defined(PARTITA_AVX512)
PARTITA_INLINE BoundTest test_bounds(const std::uint16_t* lower, const std::uint16_t* by,
                                     std::size_t count, std::uint16_t threshold) {
    if (count <= 4) return test_few_bounds(lower, by, count, threshold);
    const __m128i limit = _mm_set1_epi16(static_cast<short>(threshold));
    __m128i least = _mm_set1_epi16(-1);
    std::uint32_t open_groups = 0;
    for (std::size_t c = 0; c < count; c += 8) {
        const __m128i left =
            _mm_subs_epu16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(lower + c)),
                           _mm_loadu_si128(reinterpret_cast<const __m128i*>(by + c)));
        const __m128i below = _mm_cmpeq_epi16(_mm_min_epu16(left, limit), left);
        const int found = _mm_movemask_epi8(_mm_packs_epi16(below, _mm_setzero_si128()));
        open_groups |= static_cast<std::uint32_t>(found) << c;
        least = _mm_min_epu16(least, left);
    }
    return {open_groups, static_cast<std::uint32_t>(_mm_extract_epi16(_mm_minpos_epu16(least), 0))};
}
#else
PARTITA_INLINE BoundTest test_bounds(const std::uint16_t* lower, const std::uint16_t* by,
                                     std::size_t count, std::uint16_t threshold) {
    return test_few_bounds(lower, by, count, threshold);
}
#endif

}  // namespace partita::PARTITA_ISA
