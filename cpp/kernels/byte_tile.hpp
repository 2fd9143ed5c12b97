// The register tile over bytes: bounds of the scores of R centers and the rows of a panel. The bounds
// are derived in byte_book.hpp.
#pragma once

#include "byte_rounding.hpp"

namespace partita::PARTITA_ISA {

// centers of a tile: two quads of rows take registers from the sums
constexpr int kByteTileRows = Bytes::max_pair_sum > 0 ? 4 : kTileRows;
constexpr double kMinByteStep = 0x1p-60;  // scaled: so that its float32 has all digits

// The scores of one panel and one center are high − slope·dot from above and low − slope·dot from
// below.
struct ByteLines {
    float *slope, *low, *high;  // (padded)
};

// The products of R centers and the rows of a panel.
template <int R, class B = Bytes>
PARTITA_INLINE void byte_sums(const std::uint8_t* rows,    // in: (quads, kByteWidth, 4)
                              const std::int8_t* centers,  // in: (quads, R, 4)
                              std::size_t quads, const std::int32_t* start,
                              ByteReg (&sum)[R][kTileVectors]) {
    using S = ByteLanes;
    constexpr int V = kTileVectors;
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r)
#pragma GCC unroll 4
        for (int v = 0; v < V; ++v) sum[r][v] = S::set1_int(start[r]);
    auto four = [](const std::int8_t* at) {
        std::int32_t codes;
        __builtin_memcpy(&codes, at, 4);
        return S::set1_int(codes);
    };
    std::size_t q = 0;
    if constexpr (B::max_pair_sum > 0)
        for (; q + 2 <= quads; q += 2) {
            ByteReg x[2][V];
#pragma GCC unroll 4
            for (int v = 0; v < V; ++v) {
                const std::uint8_t* at = rows + static_cast<std::size_t>(v) * S::width * 4;
                x[0][v] = B::load(at);
                x[1][v] = B::load(at + kByteWidth * 4);
            }
#pragma GCC unroll 16
            for (int r = 0; r < R; ++r) {
                const ByteReg c = four(centers + r * 4), next = four(centers + (R + r) * 4);
#pragma GCC unroll 4
                for (int v = 0; v < V; ++v)
                    sum[r][v] = B::dot_pair(sum[r][v], x[0][v], c, x[1][v], next);
            }
            rows += kByteWidth * 8;
            centers += R * 8;
        }
    for (; q < quads; ++q) {
        ByteReg x[V];
#pragma GCC unroll 4
        for (int v = 0; v < V; ++v)
            x[v] = B::load(rows + static_cast<std::size_t>(v) * S::width * 4);
#pragma GCC unroll 16
        for (int r = 0; r < R; ++r) {
            const ByteReg c = four(centers + r * 4);
#pragma GCC unroll 4
            for (int v = 0; v < V; ++v) sum[r][v] = B::dot(sum[r][v], x[v], c);
        }
        rows += kByteWidth * 4;
        centers += R * 4;
    }
}

// Lower bounds (R, kByteWidth) of the scores, and the lowest upper bound of every row.
template <int R>
void byte_tile(const std::uint8_t* rows, const std::int8_t* centers, std::size_t quads,
               const std::int32_t* start, const ByteLines& lines, float* low, float* lowest) {
    using S = ByteLanes;
    constexpr int V = kTileVectors;
    ByteReg sum[R][V];
    byte_sums<R>(rows, centers, quads, start, sum);
    S::Reg least[V];
#pragma GCC unroll 4
    for (int v = 0; v < V; ++v) least[v] = S::load(lowest + v * S::width);
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r) {
        const S::Reg slope = S::set1(lines.slope[r]);
        const S::Reg from = S::set1(lines.low[r]), to = S::set1(lines.high[r]);
#pragma GCC unroll 4
        for (int v = 0; v < V; ++v) {
            const S::Reg dot = S::from_int(sum[r][v]);
            S::store(low + r * kByteWidth + v * S::width, S::fnmadd(slope, dot, from));
            least[v] = S::min(S::fnmadd(slope, dot, to), least[v]);  // NaN is not lower
        }
    }
#pragma GCC unroll 4
    for (int v = 0; v < V; ++v) S::store(lowest + v * S::width, least[v]);
}

PARTITA_INLINE auto byte_tile_of(int centers) {
    return for_centers<kByteTileRows>(centers, []<int R>() { return &byte_tile<R>; });
}

// Bit r of hits[c] is set if the lower bound of the score of center c does not exceed the threshold
// of row r; `low`: the lowest of the other bounds. Returns true if there is any. Every row has a
// step of its own.
template <int R>
bool byte_tile_filter(const std::uint8_t* rows, const std::int8_t* centers, std::size_t quads,
                      const std::int32_t* start,
                      const float* center_step,            // in: (R)
                      const float* line,                   // in: (R) lower bound at product 0
                      const float* row_step,               // in: (kByteWidth)
                      const float* threshold, float* low,  // in, inout: (kByteWidth)
                      std::uint32_t* hits) {               // out: (R)
    using S = ByteLanes;
    constexpr int V = kTileVectors;
    ByteReg sum[R][V];
    byte_sums<R>(rows, centers, quads, start, sum);
    S::Reg over[V], least[V], step[V];
#pragma GCC unroll 4
    for (int v = 0; v < V; ++v) {
        over[v] = S::load(threshold + v * S::width);
        least[v] = S::load(low + v * S::width);
        step[v] = S::load(row_step + v * S::width);
    }
    std::uint32_t any = 0;
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r) {
        const S::Reg slope = S::set1(center_step[r]), from = S::set1(line[r]);
        std::uint32_t beyond = 0;
#pragma GCC unroll 4
        for (int v = 0; v < V; ++v) {
            const S::Reg product = S::mul(step[v], S::from_int(sum[r][v]));
            const S::Reg score = S::fnmadd(slope, product, from);
            const S::Mask safe = S::less(over[v], score);  // false for NaN
            least[v] = S::min_where(safe, least[v], score);
            beyond |= S::bits(safe) << (static_cast<unsigned>(v) * S::width);
        }
        hits[r] = ~beyond & first_bits(kByteWidth);
        any |= hits[r];
    }
#pragma GCC unroll 4
    for (int v = 0; v < V; ++v) S::store(low + v * S::width, least[v]);
    return any != 0;
}

PARTITA_INLINE auto byte_tile_filter_of(int centers) {
    return for_centers<kByteTileRows>(centers, []<int R>() { return &byte_tile_filter<R>; });
}

// Puts the codes of a panel's rows, of which row(r) is the r-th, in the order of the tiles: four
// features of every row after the other.
template <class Row>
PARTITA_INLINE void transpose_codes(Row row, std::size_t quads, std::uint8_t* out) {
    using S = ByteLanes;  // a float holds four codes
    for (std::size_t v = 0; v < static_cast<std::size_t>(kTileVectors); ++v)
        columns_of<float>(
            [&](std::size_t l) { return reinterpret_cast<const float*>(row(v * S::width + l)); },
            quads,
            [&](std::size_t t, S::Reg x) {
                S::store(reinterpret_cast<float*>(out) + t * kByteWidth + v * S::width, x);
            });
}

// ‖x − origin‖ of the rows of a panel, from above, for either origin.
PARTITA_INLINE double row_size(const ByteRowsView& rows, const ByteBookView& book,
                               const BytePanel& panel) {
    return rows.pivot_norm[panel.pivot] + panel.reach + panel.error + book.drift;
}

// True if float32 can hold the lines of a panel: then no bound is infinite or no number.
PARTITA_INLINE bool bytes_decide(const ByteRowsView& rows, const ByteBookView& book,
                                 const BytePanel& panel) {
    const double away = book.away[panel.pivot] + panel.reach * book.scale;
    const double size = row_size(rows, book, panel);
    return away < kMaxFastNorm && book.d64_error * size * size < kMaxFastNorm &&
           (panel.reach == 0 || panel.step * book.scale >= kMinByteStep);
}

// The errors E of the scores of all centers, for rows of these lengths.
struct ByteErrors {
    double reach, error, own;

    ByteErrors(const ByteBookView& book, double row_reach, double row_error, double size)
        : reach(row_reach * book.scale * kUp),
          error((row_error * kUp + 0x1p-50 * size) * book.scale),
          own(book.d64_error * size * size * kUp) {}

    // Of a vector of centers from place j on; `at`: what comes before those of their pivot.
    PARTITA_INLINE ByteLanes::Reg of(const ByteBookView& book, std::size_t at,
                                     std::size_t j) const {
        using S = ByteLanes;
        const S::Reg lost = S::mul(S::set1(static_cast<float>(reach)), S::load(book.lost + j));
        const S::Reg blur =
            S::mul(S::set1(static_cast<float>(error)), S::load(book.apart + at + j));
        const S::Reg both = S::add(S::add(lost, blur), S::set1(static_cast<float>(own)));
        return S::mul(both, S::set1(1 + 0x1p-20f));
    }
    // Of one center.
    PARTITA_INLINE double of_one(const ByteBookView& book, std::size_t at, std::size_t j) const {
        return (reach * static_cast<double>(book.lost[j]) +
                error * static_cast<double>(book.apart[at + j]) + own) *
               kUp;
    }

private:
    static constexpr double kUp = 1 + 0x1p-20;
};

}  // namespace partita::PARTITA_ISA
