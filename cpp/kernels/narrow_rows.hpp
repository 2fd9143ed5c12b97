// Rows whose values take one or two bytes, and are read as floats: a float holds all of them.
#pragma once

#include "packing.hpp"

namespace partita::PARTITA_ISA {

// The float that the 16 bits of a half stand for. Infinities and NaN keep their kind.
PARTITA_INLINE float float_of_half(std::uint16_t half) {
    const std::uint32_t bits = half, size = (bits & 0x7fffu) << 13;
    // the exponents differ by 112: a product also makes a half below 2⁻¹⁴ a normal number
    const float value = __builtin_bit_cast(float, size) * 0x1p112f;
    const std::uint32_t beyond = size >= 0x0f800000u ? 0x7f800000u : 0u;
    return __builtin_bit_cast(
        float, __builtin_bit_cast(std::uint32_t, value) | beyond | (bits & 0x8000u) << 16);
}

inline void widen_halves(const std::uint16_t* __restrict bits, std::size_t count,
                         float* __restrict out) {
    for (std::size_t i = 0; i < count; ++i) out[i] = float_of_half(bits[i]);
}

// Row i as floats.
inline void widen_row(const NarrowRows& rows, std::size_t i, std::size_t d, float* __restrict out) {
    if (rows.halves) return widen_halves(rows.halves + i * d, d, out);
    const std::uint8_t* x = rows.bytes + i * d;
    for (std::size_t t = 0; t < d; ++t) out[t] = static_cast<float>(x[t]);
}

PARTITA_INLINE void prefetch_narrow_row(const NarrowRows& rows, std::size_t i, std::size_t d) {
    if (rows.halves)
        prefetch_row(rows.halves + i * d, d);
    else
        prefetch_row(rows.bytes + i * d, d);
}

// Rows by their number: in place, or, if they have no values, widened one at a time.
template <class R>
class RowReader {
public:
    // wide: (d) for narrow rows
    RowReader(const Rows<R>& rows, const NarrowRows& narrow, R* wide)
        : rows_(rows), narrow_(narrow), wide_(wide) {}

    std::size_t count() const { return rows_.n; }

    // The values of row i; of narrow rows, until the next call.
    PARTITA_INLINE const R* row(std::size_t i) const {
        if constexpr (sizeof(R) == 4)
            if (!rows_.data) {
                widen_row(narrow_, i, rows_.d, wide_);
                return wide_;
            }
        return rows_.data + i * rows_.d;
    }

    PARTITA_INLINE void prefetch(std::size_t i) const {
        if (rows_.data)
            prefetch_row(rows_.data + i * rows_.d, rows_.d);
        else
            prefetch_narrow_row(narrow_, i, rows_.d);
    }

private:
    Rows<R> rows_;
    NarrowRows narrow_;
    R* wide_;
};

}  // namespace partita::PARTITA_ISA
