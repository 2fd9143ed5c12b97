// Rows and centers rounded to bytes, and the proof that filtering by them loses no label.
//
// A panel of rows has a pivot p and a step s; a center has a step of its own. With y = x − p and
// centers relative to a middle m,
//
//     y = s·q + e            c − m = t·r + f         q, r: vectors of bytes
//     ½‖x − c‖² = ½‖c − p‖² − y·(c − m) + terms that are the same for every center
//     y·(c − m) = s·t·(q·r) + s·q·f + e·(c − p) + a term that is the same for every center,
//
// so that score(c) = ½‖c − p‖² − s·t·(q·r), whose product of bytes is an exact integer, differs
// from ½‖x − c‖², up to such terms, by at most
//
//     E(c) = reach·‖f‖ + error·‖c − p‖        reach ≥ ‖s·q‖, error ≥ ‖e‖ for all rows of the panel
//
// A center whose score − E exceeds the lowest score + E of another is not nearest to the row. The
// rest are candidates, which double decides. To E are added, with room:
//
//     2⁻²⁰·(½‖c − p‖² + reach·‖t·r‖)    products, sums and conversions in float32: fewer than 8 of
//                                       them, each off by 2⁻²⁴ of these two terms or of E itself
//     η·(‖x − o‖² + ‖c‖²)               D64, which defines the label: η = 4(d + 8)·2⁻⁵³
//     2⁻⁵⁰·(sizes of what is rounded)   y, c − m and c − p in double; origins that differ
//
// All lengths are scaled by a power of two, so that typical centers have size 1 in float32.
//
// A book with groups of centers serves bounds, which need distances: its middle m is the pivot p.
// Then the terms that are the same for every center are ½‖y‖² alone, and
//
//     |½‖x − c‖² − (score(c) + ½‖y‖²)| ≤ E(c).
#pragma once

#include "codebook.hpp"

namespace partita {

// Sums of d products of bytes stay within 32 bits.
constexpr std::size_t kMaxByteFeatures = std::size_t{1} << 16;

constexpr std::size_t byte_quads(std::size_t d) { return (d + 3) / 4; }

// All rows as bytes, in panels of `width` rows; place p holds row order[p] (−1: none). Plain passes
// read codes in the order of their tiles, passes with bounds row after row: see turn_codes().
class ByteRows {
public:
    // pivots: (count, d) relative to origin (d)
    ByteRows(std::size_t n, std::size_t d, std::size_t width, const double* origin,
             const double* pivots, std::size_t count)
        : n_(n), d_(d), width_(width), panels_((n + width - 1) / width), pivots_(count),
          origin_(origin, origin + d), pivot_(pivots, pivots + count * d),
          codes_(make_aligned<std::uint8_t>(panels_ * byte_quads(d) * 4 * width + kReadAhead)),
          order_(panels_ * width, -1), place_(n, -1), square_(panels_ * width), panel_(panels_) {
        std::fill_n(codes_.get() + panels_ * byte_quads(d) * 4 * width, kReadAhead, 0);
        for (std::size_t e = 0; e < count * d; ++e) {
            const float near = static_cast<float>(origin[e % d] + pivot_[e]);
            pivot_single_.push_back(near);
            if (std::isfinite(near)) pivot_[e] = static_cast<double>(near) - origin[e % d];
        }
        for (std::size_t p = 0; p < count; ++p)
            pivot_norm_.push_back(std::sqrt(fold(
                d, [&](std::size_t t) { return pivot_[p * d + t] * pivot_[p * d + t]; }, sum)));
    }
    std::size_t n() const { return n_; }
    std::size_t d() const { return d_; }
    std::size_t width() const { return width_; }
    std::size_t panels() const { return panels_; }
    std::size_t pivots() const { return pivots_; }
    bool by_row = false;  // the codes are laid out row after row
    const double* origin() const { return origin_.data(); }
    const double* pivot(std::size_t p) const { return pivot_.data() + p * d_; }
    ByteRowsView view() {
        return {n_,
                d_,
                panels_,
                pivots_,
                codes_.get(),
                order_.data(),
                place_.data(),
                square_.data(),
                panel_.data(),
                origin_.data(),
                pivot_.data(),
                pivot_single_.data(),
                pivot_norm_.data()};
    }

private:
    static constexpr std::size_t kReadAhead = 64;  // bytes behind the last row, as vectors are read

    std::size_t n_, d_, width_, panels_, pivots_;
    std::vector<double> origin_, pivot_, pivot_norm_;
    std::vector<float> pivot_single_;
    Aligned<std::uint8_t> codes_;
    std::vector<std::int32_t> order_, place_;
    std::vector<float> square_;
    std::vector<BytePanel> panel_;
};

// Centers rounded to bytes, for the rows of one ByteRows.
class ByteBook {
public:
    // centers: (k, d) relative to origin (d). With groups, rows have one pivot.
    template <class Share>
    ByteBook(const ByteRowsView& rows, const double* centers, const double* origin, std::size_t k,
             std::size_t tile_rows, const ByteCodes& limits, const Grouping* grouping, Share share)
        : exact_(centers, origin, k, rows.d), layout_(k, tile_rows, grouping), own_(k) {
        const std::size_t d = rows.d, quads = byte_quads(d), padded = (k + 15) / 16 * 16;
        std::vector<double> move(d);
        double drift = 0;
        for (std::size_t t = 0; t < d; ++t) {
            move[t] = origin[t] - rows.origin[t];
            drift += move[t] * move[t];
        }
        drift = std::sqrt(drift) * (1 + 0x1p-40);
        std::vector<double> middle(rows.pivot, rows.pivot + d);
        if (!grouping) middle = choose_pivot<double>(centers, move.data(), k, d);
        std::vector<double> sizes(k), back(d);
        for (std::size_t t = 0; t < d; ++t) back[t] = move[t] - middle[t];
        share(k, [&](std::size_t first, std::size_t last) {
            for (std::size_t j = first; j < last; ++j)
                sizes[j] = largest_of(centers + j * d, back.data(), d);
        });
        const double scale = scale_for<float>(typical_of(sizes));
        const std::vector<std::uint32_t>& places = layout_.first;
        const std::size_t tiles = places.size() - 1;
        codes_ = make_aligned<std::int8_t>(k * quads * 4);
        if (grouping) {
            flat_ = make_aligned<std::int8_t>(k * flat_codes(d));
            std::fill_n(flat_.get(), k * flat_codes(d), 0);
        }
        start_ = make_aligned<std::int32_t>(padded);
        step_ = make_aligned<float>(padded);
        lost_ = make_aligned<float>(padded);
        for (Aligned<float>* table : {&low_, &high_, &apart_})
            *table = make_aligned<float>(rows.pivots * padded);
        std::fill_n(start_.get(), padded, 0);
        std::fill_n(step_.get(), padded, 0.0f);
        std::fill_n(lost_.get(), padded, 0.0f);
        for (std::size_t p = 0; p < rows.pivots; ++p) {
            const double* pivot = rows.pivot + p * d;
            away_.push_back(largest_of(pivot, middle.data(), d, -1.0) * scale *
                            std::sqrt(static_cast<double>(d)));
        }
        const double d64_error = 4.04 * static_cast<double>(d + 8) * 0x1p-53 * scale * scale;
        share(tiles, [&](std::size_t begin, std::size_t end) {
            std::vector<double> scratch(d + kOctet);
            for (std::size_t q = begin; q < end; ++q)
                for (std::size_t at = places[q]; at < places[q + 1]; ++at) {
                    const std::size_t j = static_cast<std::size_t>(layout_.member[at]);
                    const Center center{centers + j * d, back.data(), sizes[j] * scale};
                    std::int8_t* code = codes_.get() + (places[q] * quads + (at - places[q])) * 4;
                    round(at, center, d, scale, drift, limits, scratch.data(), code,
                          (places[q + 1] - places[q]) * 4);
                    for (std::size_t p = 0; p < rows.pivots; ++p)
                        bound(at, p * padded + at, center.values, move.data(), rows.pivot + p * d,
                              d, scale, drift, d64_error);
                }
            for (std::size_t p = 0; end == tiles && p < rows.pivots; ++p)
                for (std::size_t e = p * padded + k; e < (p + 1) * padded; ++e) set_far(e);
        });
        view_ = {k,
                 d,
                 padded,
                 tiles,
                 layout_.group.size() - 1,
                 places.data(),
                 layout_.group.data(),
                 layout_.member.data(),
                 codes_.get(),
                 flat_.get(),
                 start_.get(),
                 step_.get(),
                 lost_.get(),
                 low_.get(),
                 high_.get(),
                 apart_.get(),
                 away_.data(),
                 scale,
                 drift,
                 d64_error,
                 exact_.view()};
    }
    const ByteBookView& view() const { return view_; }

private:
    struct Center {
        const double *values, *back;  // relative to the origin; what moves it to the middle
        double size;                  // largest coordinate relative to the middle, scaled
    };

    static constexpr std::size_t kOctet = 8;

    static float up(double v) { return static_cast<float>(v * (1 + 0x1p-20)); }

    // A center relative to the middle, times `factor`, filled up with zeros to whole octets.
    static void place(const Center& center, std::size_t d, double factor, double* out) {
        for (std::size_t t = 0; t < d; ++t) out[t] = (center.values[t] + center.back[t]) * factor;
        for (std::size_t t = d; t % kOctet; ++t) out[t] = 0.0;
    }

    // The largest sum of positive, or of negative coordinates, of four that are added in 16 bits:
    // two neighbours, and those four places on.
    static double largest_pair_sum(const double* y, std::size_t d) {
        double most = 0;
        for (std::size_t t = 0; t < d; t += kOctet)
            for (std::size_t lane = t; lane < t + 4; lane += 2) {
                const double a = y[lane], b = y[lane + 1], c = y[lane + 4], e = y[lane + 5];
                const double above = (larger(a, 0) + larger(b, 0)) + (larger(c, 0) + larger(e, 0));
                most = larger(most, larger(above, above - ((a + b) + (c + e))));
            }
        return most * (1 + 0x1p-40);
    }

    // A center that is nearest to no row that bytes decide, or none at all.
    void set_far(std::size_t at) {
        low_[at] = high_[at] = std::numeric_limits<float>::infinity();
        apart_[at] = 0;
    }

    // j: place of the center; y: scratch of whole octets
    void round(std::size_t j, const Center& center, std::size_t d, double scale, double drift,
               const ByteCodes& limits, double* y, std::int8_t* code, std::size_t stride) {
        place(center, d, scale, y);
        const double length = fold(d, [&](std::size_t t) { return y[t] * y[t]; }, sum);
        const bool far = !(length < kMaxCenterNorm * kMaxCenterNorm);
        double step = center.size / limits.max_code;
        if (limits.max_pair_sum)  // two less, as rounding adds up to ½ to each of four
            step = std::max(step, largest_pair_sum(y, d) / (limits.max_pair_sum - 2));
        if (!(step > 0) || far) step = 1.0;
        place(center, d, scale / step, y);
        if (far) std::fill_n(y, (d + kOctet - 1) / kOctet * kOctet, 0.0);
        constexpr double shift = 0x1.8p52;  // its last place is 1: adding it rounds to nearest
        double lost[kOctet] = {}, kept[kOctet] = {}, total[kOctet] = {};
        for (std::size_t t = 0; t < d; t += kOctet) {
            double q[kOctet];
            for (std::size_t l = 0; l < kOctet; ++l) {
                q[l] = (y[t + l] + shift) - shift;
                lost[l] += (y[t + l] - q[l]) * (y[t + l] - q[l]);
                kept[l] += q[l] * q[l];
                total[l] += q[l];
            }
            const std::size_t quads = t + 4 < d ? 2 : 1;
            for (std::size_t l = 0; l < 4 * quads; ++l)
                code[(t + l) / 4 * stride + l % 4] = static_cast<std::int8_t>(q[l]);
            for (std::size_t l = 0; flat_ && l < 4 * quads; ++l)
                flat_[j * flat_codes(d) + t + l] = static_cast<std::int8_t>(q[l]);
        }
        const double norm =
            fold(d, [&](std::size_t t) { return center.values[t] * center.values[t]; }, sum);
        auto all = [](const double* lanes) {
            return fold(kOctet, [&](std::size_t l) { return lanes[l]; }, sum);
        };
        own_[j] = far ? std::numeric_limits<double>::infinity() : std::sqrt(norm);
        start_[j] = -limits.offset * static_cast<std::int32_t>(all(total));
        step_[j] = static_cast<float>(step);
        const double blur = 0x1p-50 * (own_[j] + drift) * scale;
        lost_[j] =
            far ? 0 : up(step * (std::sqrt(all(lost)) + 0x1p-20 * std::sqrt(all(kept))) + blur);
    }

    // Half the squared distance to a pivot from below and from above, and the distance itself.
    void bound(std::size_t j, std::size_t at, const double* c, const double* move,
               const double* pivot, std::size_t d, double scale, double drift, double d64_error) {
        if (!(own_[j] < std::numeric_limits<double>::infinity())) return set_far(at);
        const double square = fold(
            d,
            [&](std::size_t t) {
                const double gap = ((c[t] + move[t]) - pivot[t]) * scale;
                return gap * gap;
            },
            sum);
        const double apart = std::sqrt(square), half = 0.5 * square, own = own_[j] + drift;
        const double blur = 0x1p-50 * own * scale;
        const double error = half * 0x1p-20 + 2 * apart * blur + d64_error * own * own + 0x1p-100;
        low_[at] = static_cast<float>(half - error);
        high_[at] = static_cast<float>(half + error);
        apart_[at] = up(apart + 2 * blur);
    }

    ExactCenters exact_;
    TileLayout layout_;
    std::vector<double> own_, away_;  // (k) ‖c‖ in the frame of D64; (pivots) from the middle
    Aligned<std::int8_t> codes_, flat_;
    Aligned<std::int32_t> start_;
    Aligned<float> step_, lost_, low_, high_, apart_;
    ByteBookView view_;
};

}  // namespace partita
