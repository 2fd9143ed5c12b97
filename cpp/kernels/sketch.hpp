// A sketch of the rows in bytes, which rules out most pairs of a row and a candidate.
//
// A row x is rounded to x̂ = middle + step·q with integers q in −127…127, and e = ‖x − x̂‖/step is
// stored; the same for a candidate c. By the triangle inequality
//
//     ‖x − c‖ / step ≥ ‖q_x − q_c‖ − e_x − e_c,
//
// and ‖q_x − q_c‖² = ‖q_x‖² + ‖q_c‖² − 2·q_x·q_c is an integer, computed without rounding. With
// reach = √closest/step + e_x, rounded up, a candidate with ‖q_x − q_c‖² ≥ (reach + e_c)² cannot be
// nearer. A row far outside is clipped to ±127: its e is large, so it is never ruled out.
//
// 16 rows make a panel, 4 features of each next to each other, so that rows are in lanes.
#pragma once

#include "packing.hpp"

namespace partita::PARTITA_ISA {

constexpr std::size_t kSketchRows = 16;  // rows of a panel
constexpr std::size_t kSketchBatch = 8;  // candidates of one call

// One panel: codes (quads, 16, 4) as q + 128, then ‖q‖², reach and error of each of the 16 rows.
struct SketchPanel {
    unsigned char* codes;
    std::int32_t* square;
    float* reach;
    float* error;

    SketchPanel(const SketchView& sketch, std::size_t panel, std::size_t d) {
        const std::size_t quads = (d + 3) / 4;
        codes = sketch.data + panel * (quads * 64 + 192);
        square = reinterpret_cast<std::int32_t*>(codes + quads * 64);
        reach = reinterpret_cast<float*>(square + kSketchRows);
        error = reach + kSketchRows;
    }
};

// Rounds v up to a float, with room for four later roundings.
PARTITA_INLINE float rounded_up(double v) { return static_cast<float>(v * (1.0 + 0x1p-20)); }

// Rounds one row to integers: calls put(t, q), sets ‖q‖² and the error.
template <class T, class Put>
PARTITA_INLINE void to_codes(const SketchView& sketch, const T* x, T scale, std::size_t d,
                             std::int32_t& square, float& error, Put put) {
    const double fine = 1.0 / sketch.step;
    double lost = 0.0;
    std::int32_t sum = 0;
    for (std::size_t t = 0; t < d; ++t) {
        const double z = (static_cast<double>(x[t] * scale) - sketch.middle[t]) * fine;
        const double cut = z > -127.0 ? (z < 127.0 ? z : 127.0) : -127.0;
        const double q = (cut + 0x1.8p52) - 0x1.8p52;  // nearest integer
        lost += (z - q) * (z - q);
        sum += static_cast<std::int32_t>(q) * static_cast<std::int32_t>(q);
        put(t, static_cast<std::int32_t>(q));
    }
    square = sum;
    const double slack = static_cast<double>(d) * 0x1p-40;  // rounding of z itself
    error = rounded_up(__builtin_sqrt(lost) * (1.0 + slack) + slack);
}

// Upper bound of the distance at which a candidate can be nearer than D² = closest, as computed.
template <class T>
PARTITA_INLINE float reach_of(const SketchView& sketch, T closest, float error, std::size_t d) {
    constexpr double unit = sizeof(T) == 4 ? 0x1p-23 : 0x1p-52,
                     tiny = sizeof(T) == 4 ? 0x1p-149 : 0x1p-1074;
    const double own = static_cast<double>(d + 8);
    const double high = static_cast<double>(closest) * (1.0 + own * unit) + own * tiny;
    return rounded_up(__builtin_sqrt(high) * (1.0 + 0x1p-40) / sketch.step +
                      static_cast<double>(error));
}

// The sketch of a block of rows; every candidate is within reach at first.
template <class T>
void sketch_rows(const Rows<T>& rows, T scale, const SketchView& sketch) {
    for (std::size_t i = 0; i < rows.n; ++i) {
        const SketchPanel panel(sketch, i / kSketchRows, rows.d);
        const std::size_t r = i % kSketchRows;
        unsigned char* at = panel.codes + r * 4;
        for (std::size_t t = rows.d / 4 * 4; t < (rows.d + 3) / 4 * 4; ++t)
            at[t / 4 * 64 + t % 4] = 128;
        to_codes(sketch, rows.data + i * rows.d, scale, rows.d, panel.square[r], panel.error[r],
                 [&](std::size_t t, std::int32_t q) {
                     at[t / 4 * 64 + t % 4] = static_cast<unsigned char>(q + 128);
                 });
        panel.reach[r] = static_cast<float>(__builtin_inf());
    }
}

// The candidates of one round, for `within_reach`.
struct SketchCandidates {
    std::size_t quads;
    std::int8_t* bytes;      // (count, quads, 4)
    std::int16_t* shorts;    // (count, quads, 4)
    std::int32_t* constant;  // (count) ‖q‖² + 256·Σq: the codes of the rows are q + 128
    float* error;            // (count)

    static std::size_t bytes_needed(std::size_t count, std::size_t d) {
        const std::size_t words = count * ((d + 3) / 4 * 4);
        return aligned(words) + aligned(words * 2) + 2 * aligned(count * 4);
    }
    SketchCandidates(std::size_t count, std::size_t d, unsigned char* memory) : quads((d + 3) / 4) {
        const std::size_t words = count * quads * 4;
        bytes = reinterpret_cast<std::int8_t*>(memory);
        shorts = reinterpret_cast<std::int16_t*>(memory += aligned(words));
        constant = reinterpret_cast<std::int32_t*>(memory += aligned(words * 2));
        error = reinterpret_cast<float*>(memory += aligned(count * 4));
    }
    template <class T>
    void set(const SketchView& sketch, std::size_t c, const T* candidate, std::size_t d) {
        std::int8_t* byte = bytes + c * quads * 4;
        std::int16_t* wide = shorts + c * quads * 4;
        for (std::size_t t = 0; t < quads * 4; ++t) byte[t] = 0, wide[t] = 0;
        std::int32_t sum = 0, square = 0;
        to_codes(sketch, candidate, T(1), d, square, error[c], [&](std::size_t t, std::int32_t q) {
            byte[t] = static_cast<std::int8_t>(q);
            wide[t] = static_cast<std::int16_t>(q);
            sum += q;
        });
        constant[c] = square + 256 * sum;
    }
};

// Σ (q_x + 128)·q_c of the 16 rows of a panel, for candidates first … first + R − 1. Adds products
// of 16-bit numbers in pairs, which leaves two sums per row for the end.
struct PlainDots {
    template <int R>
    static PARTITA_INLINE void run(const unsigned char* codes, const SketchCandidates& c,
                                   std::size_t first, std::int32_t (*out)[kSketchRows]) {
        const std::int16_t* four = c.shorts + first * c.quads * 4;
#if defined(PARTITA_AVX512)
        __m512i acc[R][2];
#pragma GCC unroll 8
        for (int r = 0; r < R; ++r) acc[r][0] = acc[r][1] = _mm512_setzero_si512();
        for (std::size_t q = 0; q < c.quads; ++q) {
            const auto* at = reinterpret_cast<const __m256i*>(codes + q * 64);
            const __m512i x0 = _mm512_cvtepu8_epi16(_mm256_loadu_si256(at));
            const __m512i x1 = _mm512_cvtepu8_epi16(_mm256_loadu_si256(at + 1));
#pragma GCC unroll 8
            for (int r = 0; r < R; ++r) {
                long long word;
                __builtin_memcpy(&word, four + (static_cast<std::size_t>(r) * c.quads + q) * 4, 8);
                const __m512i y = _mm512_set1_epi64(word);
                acc[r][0] = _mm512_add_epi32(acc[r][0], _mm512_madd_epi16(x0, y));
                acc[r][1] = _mm512_add_epi32(acc[r][1], _mm512_madd_epi16(x1, y));
            }
        }
        const __m512i even =
            _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
        const __m512i odd = _mm512_add_epi32(even, _mm512_set1_epi32(1));
        for (int r = 0; r < R; ++r)
            _mm512_storeu_si512(
                out[r], _mm512_add_epi32(_mm512_permutex2var_epi32(acc[r][0], even, acc[r][1]),
                                         _mm512_permutex2var_epi32(acc[r][0], odd, acc[r][1])));
#elif defined(PARTITA_AVX2)
        for (int r = 0; r < R; ++r, four += c.quads * 4) {
            __m256i acc[4];
            for (int p = 0; p < 4; ++p) acc[p] = _mm256_setzero_si256();
            for (std::size_t q = 0; q < c.quads; ++q) {
                const auto* at = reinterpret_cast<const __m128i*>(codes + q * 64);
                long long word;
                __builtin_memcpy(&word, four + q * 4, 8);
                const __m256i y = _mm256_set1_epi64x(word);
                for (int p = 0; p < 4; ++p)
                    acc[p] = _mm256_add_epi32(
                        acc[p],
                        _mm256_madd_epi16(_mm256_cvtepu8_epi16(_mm_loadu_si128(at + p)), y));
            }
            for (int p = 0; p < 4; p += 2) {  // pairs: rows 0 1 4 5 2 3 6 7, then in order
                const __m256i mixed = _mm256_hadd_epi32(acc[p], acc[p + 1]);
                _mm256_storeu_si256(reinterpret_cast<__m256i*>(out[r] + p * 4),
                                    _mm256_permute4x64_epi64(mixed, 0xd8));
            }
        }
#else
        for (int r = 0; r < R; ++r, four += c.quads * 4) {
            for (std::size_t i = 0; i < kSketchRows; ++i) out[r][i] = 0;
            for (std::size_t q = 0; q < c.quads; ++q)
                for (std::size_t i = 0; i < kSketchRows; ++i) {
                    const unsigned char* x = codes + q * 64 + i * 4;
                    const std::int16_t* y = four + q * 4;
                    out[r][i] += (x[0] * y[0] + x[1] * y[1]) + (x[2] * y[2] + x[3] * y[3]);
                }
        }
#endif
    }
};

#if defined(PARTITA_AVX512)
#define PARTITA_VNNI __attribute__((target("avx512f,avx512dq,avx512vl,avx512bw,avx512vnni")))
// The same with VNNI instructions.
struct VnniDots {
    template <int R>
    static PARTITA_VNNI void run(const unsigned char* codes, const SketchCandidates& c,
                                 std::size_t first, std::int32_t (*out)[kSketchRows]) {
        __m512i acc[R];
#pragma GCC unroll 8
        for (int r = 0; r < R; ++r) acc[r] = _mm512_setzero_si512();
        const std::int8_t* at = c.bytes + first * c.quads * 4;
        for (std::size_t q = 0; q < c.quads; ++q) {
            const __m512i x = _mm512_loadu_si512(codes + q * 64);
#pragma GCC unroll 8
            for (int r = 0; r < R; ++r) {
                int four;
                __builtin_memcpy(&four, at + (static_cast<std::size_t>(r) * c.quads + q) * 4, 4);
                acc[r] = _mm512_dpbusd_epi32(acc[r], x, _mm512_set1_epi32(four));
            }
        }
#pragma GCC unroll 8
        for (int r = 0; r < R; ++r) _mm512_storeu_si512(out[r], acc[r]);
    }
};
#endif

// Mask of the rows of a panel for which a candidate may be nearer.
PARTITA_INLINE std::uint16_t within_reach(const SketchPanel& panel, std::int32_t constant,
                                          float error, const std::int32_t* dot) {
#if defined(PARTITA_AVX512)
    const __m512i s = _mm512_sub_epi32(
        _mm512_add_epi32(_mm512_loadu_si512(panel.square), _mm512_set1_epi32(constant)),
        _mm512_slli_epi32(_mm512_loadu_si512(dot), 1));
    const __m512 far = _mm512_add_ps(_mm512_loadu_ps(panel.reach), _mm512_set1_ps(error));
    return _mm512_cmp_ps_mask(_mm512_cvtepi32_ps(s), _mm512_mul_ps(far, far), _CMP_NGE_UQ);
#elif defined(PARTITA_AVX2)
    unsigned bits = 0;
    for (unsigned half = 0; half < kSketchRows; half += 8) {
        auto whole = [half](const std::int32_t* p) {
            return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p + half));
        };
        const __m256i s =
            _mm256_sub_epi32(_mm256_add_epi32(whole(panel.square), _mm256_set1_epi32(constant)),
                             _mm256_slli_epi32(whole(dot), 1));
        const __m256 far =
            _mm256_add_ps(_mm256_loadu_ps(panel.reach + half), _mm256_set1_ps(error));
        const __m256 near =
            _mm256_cmp_ps(_mm256_cvtepi32_ps(s), _mm256_mul_ps(far, far), _CMP_NGE_UQ);
        bits |= static_cast<unsigned>(_mm256_movemask_ps(near)) << half;
    }
    return static_cast<std::uint16_t>(bits);
#else
    unsigned bits = 0;
    for (unsigned i = 0; i < kSketchRows; ++i) {
        const float s = static_cast<float>(panel.square[i] + constant - 2 * dot[i]);
        const float far = panel.reach[i] + error;
        bits |= static_cast<unsigned>(!(s >= far * far)) << i;
    }
    return static_cast<std::uint16_t>(bits);
#endif
}

// Panels begin … begin + panels − 1 and R candidates: words of 64 rows, mask[candidate·stride +
// word].
template <class Dots, int R>
void sketch_masks(const SketchView& sketch, std::size_t begin, std::size_t panels,
                  const SketchCandidates& c, std::size_t first, std::size_t d, std::uint64_t* mask,
                  std::size_t stride) {
    alignas(64) std::int32_t dots[R][kSketchRows];
    for (std::size_t p = 0; p < panels; ++p) {
        const SketchPanel panel(sketch, begin + p, d);
        Dots::template run<R>(panel.codes, c, first, dots);
#pragma GCC unroll 8
        for (std::size_t r = 0; r < R; ++r) {
            std::uint64_t& word = mask[(first + r) * stride + p / 4];
            const std::uint64_t hits =
                within_reach(panel, c.constant[first + r], c.error[first + r], dots[r]);
            word = p % 4 ? word | hits << (p % 4 * kSketchRows) : hits;
        }
    }
}

using SketchMasks = void (*)(const SketchView&, std::size_t, std::size_t, const SketchCandidates&,
                             std::size_t, std::size_t, std::uint64_t*, std::size_t);

template <class Dots>
SketchMasks sketch_masks_of(std::size_t count) {
    static constexpr SketchMasks functions[] = {&sketch_masks<Dots, 1>, &sketch_masks<Dots, 2>,
                                                &sketch_masks<Dots, 3>, &sketch_masks<Dots, 4>,
                                                &sketch_masks<Dots, 5>, &sketch_masks<Dots, 6>,
                                                &sketch_masks<Dots, 7>, &sketch_masks<Dots, 8>};
    return functions[count - 1];
}

// The function for `count` candidates, 1 … kSketchBatch.
inline SketchMasks sketch_masks_for(std::size_t count) {
#if defined(PARTITA_AVX512)
    if (__builtin_cpu_supports("avx512vnni")) return sketch_masks_of<VnniDots>(count);
#endif
    return sketch_masks_of<PlainDots>(count);
}

}  // namespace partita::PARTITA_ISA
