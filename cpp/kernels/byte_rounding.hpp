// Rows rounded to bytes: panels of rows of similar size, which share a pivot and a step. The bounds
// that follow from it are derived in byte_book.hpp.
#pragma once

#include "byte_simd.hpp"
#include "packing.hpp"

namespace partita::PARTITA_ISA {

constexpr std::size_t kByteWidth = kTileVectors * ByteLanes::width;  // rows of a panel
constexpr float kRowCode = Bytes::row_code;
constexpr std::size_t kSegmentRows = 256;  // rows that are put in order of size

// A vector of values of a row relative to a pivot.
PARTITA_INLINE ByteLanes::Reg gap_to_pivot(const ByteRowsView& rows, std::size_t pivot,
                                           const float* x, std::size_t t) {
    using S = ByteLanes;
    return S::sub(S::load_any(x + t), S::load_any(rows.pivot_single + pivot * rows.d + t));
}
PARTITA_INLINE Simd<double>::Reg gap_to_pivot(const ByteRowsView& rows, std::size_t pivot,
                                              const double* x, std::size_t t) {
    using D = Simd<double>;
    return D::sub(D::sub(D::widen(x + t), D::widen(rows.origin + t)),
                  D::widen(rows.pivot + pivot * rows.d + t));
}

// A vector of values of a row relative to a pivot, times `fine`. Float rows are subtracted in
// float: their pivot is a float, too.
PARTITA_INLINE ByteLanes::Reg near_pivot(const ByteRowsView& rows, std::size_t pivot,
                                         const float* x, std::size_t t, double fine) {
    using S = ByteLanes;
    return S::mul(gap_to_pivot(rows, pivot, x, t), S::set1(static_cast<float>(fine)));
}
PARTITA_INLINE ByteLanes::Reg near_pivot(const ByteRowsView& rows, std::size_t pivot,
                                         const double* x, std::size_t t, double fine) {
    using D = Simd<double>;
    static_assert(ByteLanes::width == 2 * D::width);
    const D::Reg by = D::set1(fine);
    return round_to_floats(D::mul(gap_to_pivot(rows, pivot, x, t), by),
                           D::mul(gap_to_pivot(rows, pivot, x, t + D::width), by));
}

// The same for the last features, padded with zeros.
template <class R>
PARTITA_INLINE ByteLanes::Reg near_pivot_rest(const ByteRowsView& rows, std::size_t pivot,
                                              const R* x, std::size_t t, double fine) {
    alignas(64) float z[ByteLanes::width] = {};
    for (std::size_t l = 0; t + l < rows.d; ++l) {
        const std::size_t at = pivot * rows.d + t + l;
        if constexpr (sizeof(R) == 4)
            z[l] = (x[t + l] - rows.pivot_single[at]) * static_cast<float>(fine);
        else
            z[l] = static_cast<float>(((x[t + l] - rows.origin[t + l]) - rows.pivot[at]) * fine);
    }
    return ByteLanes::load(z);
}

// The largest |y_t|·fine of a row: rounding keeps the order, so only that value is scaled.
template <class R>
float largest_value(const ByteRowsView& rows, std::size_t pivot, const R* x, double fine) {
    using S = Simd<R>;
    constexpr std::size_t W = S::width;
    R largest = 0;
    std::size_t t = 0;
    if (rows.d >= W) {
        typename S::Reg most = S::set1(0);
        auto raise = [&](std::size_t at) {
            const typename S::Reg gap = gap_to_pivot(rows, pivot, x, at);
            most = S::max(most, S::max(gap, S::sub(S::set1(0), gap)));
        };
        for (; t + W <= rows.d; t += W) raise(t);
        if (t < rows.d) raise(rows.d - W);
        t = rows.d;
        alignas(64) R lane[W];
        S::store(lane, most);
        for (std::size_t l = 0; l < W; ++l) largest = lane[l] > largest ? lane[l] : largest;
    }
    for (; t < rows.d; ++t) {
        const std::size_t at = pivot * rows.d + t;
        R gap;
        if constexpr (sizeof(R) == 4)
            gap = x[t] - rows.pivot_single[at];
        else
            gap = (x[t] - rows.origin[t]) - rows.pivot[at];
        gap = gap < 0 ? -gap : gap;
        largest = gap > largest ? gap : largest;
    }
    return static_cast<float>(largest * static_cast<R>(fine));
}

// The relative error of a sum of d squares in the lanes of a vector of floats.
constexpr double lane_sum_error(std::size_t d) { return static_cast<double>(d + 16) * 0x1p-23; }

struct RoundedRow {
    double lost, kept;  // squared lengths of z − q and q, from above
    double square;      // ‖z‖², up to lane_sum_error
};

PARTITA_INLINE double sum_in_double(ByteLanes::Reg v) {
    alignas(64) float lane[ByteLanes::width];
    ByteLanes::store(lane, v);
    double sum = 0;
    for (std::size_t l = 0; l < ByteLanes::width; ++l) sum += static_cast<double>(lane[l]);
    return sum;
}

constexpr std::size_t kRoundedTogether = 4;  // rows, whose codes share cache lines

// Writes the codes of N rows that are neighbours in a panel, four features at a time `stride` bytes
// apart.
template <std::size_t N, class R>
void round_together(const ByteRowsView& rows, std::size_t pivot, const R* const (&x)[N],
                    double fine, std::uint8_t* codes, std::size_t stride, RoundedRow* out) {
    using S = ByteLanes;
    const S::Reg most = S::set1(kRowCode), least = S::set1(-kRowCode);
    S::Reg lost[N], kept[N], square[N];
    for (std::size_t r = 0; r < N; ++r) lost[r] = kept[r] = square[r] = S::set1(0);
    alignas(64) std::uint8_t code[N][64];
    auto round = [&](std::size_t r, S::Reg z) {
        const S::Reg whole = S::from_int(S::to_int(S::min(S::max(z, least), most)));
        const S::Reg gap = S::sub(z, whole);
        lost[r] = S::add(lost[r], S::mul(gap, gap));
        kept[r] = S::add(kept[r], S::mul(whole, whole));
        square[r] = S::add(square[r], S::mul(z, z));
        store_bytes(code[r], S::to_int(S::add(whole, S::set1(Bytes::row_offset))));
    };
    auto put = [&](std::size_t t, std::size_t count) {
        std::uint8_t* quad = codes + t / 4 * stride;
        for (std::size_t l = 0; l < count; l += 4, quad += stride)
            for (std::size_t r = 0; r < N; ++r) __builtin_memcpy(quad + 4 * r, code[r] + l, 4);
    };
    std::size_t t = 0;
    for (; t + S::width <= rows.d; t += S::width) {
#pragma GCC unroll 4
        for (std::size_t r = 0; r < N; ++r) round(r, near_pivot(rows, pivot, x[r], t, fine));
        put(t, S::width);
    }
    if (t < rows.d) {
        for (std::size_t r = 0; r < N; ++r) round(r, near_pivot_rest(rows, pivot, x[r], t, fine));
        put(t, rows.d - t);
    }
    const double up = 1 + lane_sum_error(rows.d);
    for (std::size_t r = 0; r < N; ++r)
        out[r] = {up * sum_in_double(lost[r]), up * sum_in_double(kept[r]),
                  sum_in_double(square[r])};
}

// Rounds the rows of one panel, whose order is set; `fine_all` brings values into the range of
// float, `largest` is the largest of them then.
template <class R>
void round_panel(const ByteRowsView& rows, std::size_t p, const R* data, std::size_t base,
                 std::int32_t pivot, double fine_all, double largest) {
    const std::size_t d = rows.d, quads = (d + 3) / 4, at = static_cast<std::size_t>(pivot);
    const std::int32_t* order = rows.order + p * kByteWidth;
    std::uint8_t* codes = rows.codes + p * quads * 4 * kByteWidth;
    // float rows are multiplied by `fine` in float: those that are denormal leave its range
    const bool known = largest > 0x1p-100 && largest < 0x1p100 &&
                       (sizeof(R) == 8 || kRowCode * fine_all < 0x1p120 * largest);
    const double fine = known ? kRowCode * fine_all / largest : 0.0;
    double lost = 0, kept = 0;
    auto values = [&](std::size_t r) {
        return data + (static_cast<std::size_t>(order[r]) - base) * d;
    };
    auto note = [&](std::size_t place, const RoundedRow& row) {
        lost = row.lost > lost ? row.lost : lost;
        kept = row.kept > kept ? row.kept : kept;
        rows.square[place] = static_cast<float>(row.square);
    };
    constexpr std::size_t few = kRoundedTogether;
    std::size_t count = 0;
    for (; count < kByteWidth && order[count] >= 0; ++count)
        rows.place[order[count]] = static_cast<std::int32_t>(p * kByteWidth + count);
    if (!known) count = 0;
    std::size_t r = 0;
    RoundedRow rounded[few];
    for (; r + few <= count; r += few) {
        const R* const x[few] = {values(r), values(r + 1), values(r + 2), values(r + 3)};
        round_together<few>(rows, at, x, fine, codes + r * 4, kByteWidth * 4, rounded);
        for (std::size_t e = 0; e < few; ++e) note(p * kByteWidth + r + e, rounded[e]);
    }
    for (; r < count; ++r) {
        const R* const x[1] = {values(r)};
        round_together<1>(rows, at, x, fine, codes + r * 4, kByteWidth * 4, rounded);
        note(p * kByteWidth + r, rounded[0]);
    }
    for (; r < kByteWidth; ++r) {
        for (std::size_t q = 0; q < quads; ++q)
            __builtin_memset(codes + (q * kByteWidth + r) * 4, Bytes::row_offset, 4);
        rows.square[p * kByteWidth + r] = 0;
    }
    BytePanel& panel = rows.panel[p];
    panel.pivot = pivot;
    panel.step = known ? 1.0 / fine : 1.0;
    // z = y·fine is off by two roundings in float, of values up to kRowCode
    const double blur = 0x1p-21 * kRowCode * __builtin_sqrt(static_cast<double>(d));
    panel.error = known ? (__builtin_sqrt(lost) + blur) * panel.step * (1 + 0x1p-20) : 0.0;
    panel.reach = known ? __builtin_sqrt(kept) * panel.step * (1 + 0x1p-20) : 0.0;
    if (!known && largest != 0) panel.reach = __builtin_inf();  // D64 decides
}

// Puts rows i … i + m − 1, of these sizes, in order of size, roughly: by the leading bits of their
// floats, so that the sizes of one panel are similar.
inline void order_by_size(const float* size, std::size_t m, std::int32_t i, std::int32_t* order,
                          float* ordered) {
    constexpr std::size_t buckets = 64;
    std::uint32_t key[kSegmentRows], low = ~0u, high = 0;
    __builtin_memcpy(key, size, m * sizeof(float));  // floats that are not negative ascend so
    for (std::size_t r = 0; r < m; ++r) {
        low = key[r] < low ? key[r] : low;
        high = key[r] > high ? key[r] : high;
    }
    unsigned shift = 0;
    while ((high - low) >> shift >= buckets) ++shift;
    std::size_t begin[buckets + 1] = {};
    for (std::size_t r = 0; r < m; ++r) ++begin[((key[r] - low) >> shift) + 1];
    for (std::size_t b = 0; b < buckets; ++b) begin[b + 1] += begin[b];
    for (std::size_t r = 0; r < m; ++r) {
        const std::size_t at = begin[(key[r] - low) >> shift]++;
        order[at] = i + static_cast<std::int32_t>(r);
        ordered[at] = size[r];
    }
}

// Rounds the rows of panels first … last − 1, of which `data` has those from row `base` on. If
// `sort`, the order is set too. Values times `fine` are within the range of float.
template <class R>
void round_rows(const ByteRowsView& rows, const R* data, std::size_t base, std::size_t first,
                std::size_t last, bool sort, double fine) {
    if constexpr (sizeof(R) == 4)  // as floats are scaled in float
        fine = fine > 0x1p100 ? 0x1p100 : (fine < 0x1p-100 ? 0x1p-100 : fine);
    for (std::size_t p0 = first; p0 < last; p0 += kSegmentRows / kByteWidth) {
        const std::size_t i = p0 * kByteWidth;
        const std::size_t m = rows.n - i < kSegmentRows ? rows.n - i : kSegmentRows;
        float size[kSegmentRows], ordered[kSegmentRows];
        std::int32_t* order = rows.order + i;
        for (std::size_t r = 0; r < m; ++r) {
            const std::size_t row = sort ? i + r : static_cast<std::size_t>(order[r]);
            const std::size_t pivot =
                sort ? 0 : static_cast<std::size_t>(rows.panel[(i + r) / kByteWidth].pivot);
            size[r] = largest_value(rows, pivot, data + (row - base) * rows.d, fine);
        }
        if (sort) order_by_size(size, m, static_cast<std::int32_t>(i), order, ordered);
        for (std::size_t r = 0, p = p0; r < m && p < last; r += kByteWidth, ++p) {
            float largest = 0;
            for (std::size_t e = r; e < m && e < r + kByteWidth; ++e) {
                const float now = sort ? ordered[e] : size[e];
                largest = now > largest ? now : largest;
            }
            round_panel(rows, p, data, base, sort ? 0 : rows.panel[p].pivot, fine,
                        static_cast<double>(largest));
        }
    }
}

// Lays out the codes of panels first … last − 1 row after row, or, if they are so, in the order of
// the tiles: four features of every row after the other. `scratch`: the codes of a panel.
inline void turn_codes(const ByteRowsView& rows, std::size_t first, std::size_t last, bool by_row,
                       unsigned char* scratch) {
    const std::size_t quads = (rows.d + 3) / 4;
    for (std::size_t p = first; p < last; ++p) {
        std::uint8_t* codes = rows.codes + p * quads * 4 * kByteWidth;
        __builtin_memcpy(scratch, codes, quads * 4 * kByteWidth);
        for (std::size_t r = 0; r < kByteWidth; ++r)
            for (std::size_t q = 0; q < quads; ++q) {
                const std::size_t in_row = (r * quads + q) * 4, in_tile = (q * kByteWidth + r) * 4;
                __builtin_memcpy(codes + (by_row ? in_row : in_tile),
                                 scratch + (by_row ? in_tile : in_row), 4);
            }
    }
}

}  // namespace partita::PARTITA_ISA
