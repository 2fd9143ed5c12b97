// Rows rounded to bytes: panels of rows of similar size, which share a pivot and a step. The bounds
// that follow from it are derived in byte_book.hpp.
#pragma once

#include "byte_simd.hpp"
#include "packing.hpp"

namespace partita::PARTITA_ISA {

constexpr std::size_t kByteWidth = kTileVectors * ByteLanes::width;  // rows of a panel
constexpr float kRowCode = Bytes::row_code;
constexpr std::size_t kSegmentRows = 256;  // rows that are put in order of size

// A vector of values of a row relative to a pivot, times `fine`. Float rows are subtracted in
// float: their pivot is a float, too.
PARTITA_INLINE ByteLanes::Reg near_pivot(const ByteRowsView& rows, std::size_t pivot,
                                         const float* x, std::size_t t, double fine) {
    using S = ByteLanes;
    const S::Reg gap =
        S::sub(S::load_any(x + t), S::load_any(rows.pivot_single + pivot * rows.d + t));
    return S::mul(gap, S::set1(static_cast<float>(fine)));
}
PARTITA_INLINE ByteLanes::Reg near_pivot(const ByteRowsView& rows, std::size_t pivot,
                                         const double* x, std::size_t t, double fine) {
    using D = Simd<double>;
    alignas(64) double wide[ByteLanes::width];
    alignas(64) float z[ByteLanes::width];
    const double *at = rows.pivot + pivot * rows.d + t, *origin = rows.origin + t;
    for (std::size_t l = 0; l < ByteLanes::width; l += D::width) {
        const D::Reg gap =
            D::sub(D::sub(D::widen(x + t + l), D::widen(origin + l)), D::widen(at + l));
        D::store(wide + l, D::mul(gap, D::set1(fine)));
    }
    for (std::size_t l = 0; l < ByteLanes::width; ++l) z[l] = static_cast<float>(wide[l]);
    return ByteLanes::load(z);
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

// Calls run(t, z) for a vector of features at a time.
template <class R, class Run>
PARTITA_INLINE void each_vector(const ByteRowsView& rows, std::size_t pivot, const R* x,
                                double fine, Run run) {
    std::size_t t = 0;
    for (; t + ByteLanes::width <= rows.d; t += ByteLanes::width)
        run(t, near_pivot(rows, pivot, x, t, fine));
    if (t < rows.d) run(t, near_pivot_rest(rows, pivot, x, t, fine));
}

// The largest |y_t|·fine of a row.
template <class R>
float largest_value(const ByteRowsView& rows, std::size_t pivot, const R* x, double fine) {
    using S = ByteLanes;
    S::Reg most = S::set1(0);
    each_vector(rows, pivot, x, fine, [&](std::size_t, S::Reg z) {
        most = S::max(most, S::max(z, S::sub(S::set1(0), z)));
    });
    alignas(64) float lane[S::width];
    S::store(lane, most);
    for (std::size_t l = 1; l < S::width; ++l) lane[0] = lane[l] > lane[0] ? lane[l] : lane[0];
    return lane[0];
}

// The relative error of a sum of d squares in the lanes of a vector of floats.
constexpr double lane_sum_error(std::size_t d) { return static_cast<double>(d + 16) * 0x1p-23; }

struct RoundedRow {
    double lost, kept;  // squared lengths of z − q and q, from above
    double square;      // ‖z‖², up to lane_sum_error
};

// Writes the codes of one row, four at a time `stride` bytes apart.
template <class R>
RoundedRow round_row(const ByteRowsView& rows, std::size_t pivot, const R* x, double fine,
                     std::uint8_t* codes, std::size_t stride) {
    using S = ByteLanes;
    S::Reg lost = S::set1(0), kept = S::set1(0), square = S::set1(0);
    const S::Reg most = S::set1(kRowCode), least = S::set1(-kRowCode);
    each_vector(rows, pivot, x, fine, [&](std::size_t t, S::Reg z) {
        alignas(64) std::uint8_t code[S::width];
        const S::Reg whole = S::from_int(S::to_int(S::min(S::max(z, least), most)));
        const S::Reg gap = S::sub(z, whole);
        lost = S::add(lost, S::mul(gap, gap));
        kept = S::add(kept, S::mul(whole, whole));
        square = S::add(square, S::mul(z, z));
        store_bytes(code, S::to_int(S::add(whole, S::set1(Bytes::row_offset))));
        const std::size_t left = rows.d - t < S::width ? rows.d - t : S::width;
        for (std::size_t l = 0; l < left; l += 4)
            __builtin_memcpy(codes + (t + l) / 4 * stride, code + l, 4);
    });
    alignas(64) float lane[3][S::width];
    S::store(lane[0], lost);
    S::store(lane[1], kept);
    S::store(lane[2], square);
    RoundedRow out{0, 0, 0};
    for (std::size_t l = 0; l < S::width; ++l) {
        out.lost += static_cast<double>(lane[0][l]);
        out.kept += static_cast<double>(lane[1][l]);
        out.square += static_cast<double>(lane[2][l]);
    }
    const double up = 1 + lane_sum_error(rows.d);
    return {out.lost * up, out.kept * up, out.square};
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
    for (std::size_t r = 0, place = p * kByteWidth; r < kByteWidth; ++r, ++place) {
        if (order[r] >= 0) rows.place[order[r]] = static_cast<std::int32_t>(place);
        if (order[r] < 0 || !known) {
            for (std::size_t q = 0; q < quads; ++q)
                __builtin_memset(codes + (q * kByteWidth + r) * 4, Bytes::row_offset, 4);
            rows.square[place] = 0;
            continue;
        }
        const RoundedRow row =
            round_row(rows, at, data + (static_cast<std::size_t>(order[r]) - base) * d, fine,
                      codes + r * 4, kByteWidth * 4);
        lost = row.lost > lost ? row.lost : lost;
        kept = row.kept > kept ? row.kept : kept;
        rows.square[place] = static_cast<float>(row.square);
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
