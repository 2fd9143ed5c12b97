// Centers packed for the fast kernels, and the proof that the labels are those of D64.
//
// The fast score of point y and center c is ½‖c‖² − y·c in T, both relative to a pivot and scaled
// by a power of two. With u the unit roundoff of T and γ = (d + 8)·u, a fused or unfused chain of d
// + 1 terms, the rounding of y, c and ½‖c‖² to T, and the rounding in D64 add up to less than
//
//     E(y, c) = (‖y‖ + drift)·slope(c) + slack(c) + (‖y‖ + drift)²·2η
//     slope(c) = (γ + η)‖c‖ + ε(c)     slack(c) = (γ + η)‖c‖² + ‖c‖·ε(c)     η = (d + 8)·2⁻⁵³
//
// (γ: the score; η: D64, whose error is η(‖y‖ + ‖c‖)²/2), where drift = ‖origin − pivot‖ and ε(c)
// bounds the error of moving c from one frame to the other. The tile computes score − slack −
// slope·norm, a lower bound of the true score for each pair, so that one far center or point does
// not widen the margin of the others. If the second lowest exceeds the lowest by 2E of its center,
// the lowest is the label; otherwise D64 decides.
//
// If the slopes are similar (the usual case), the largest is used for all: slope·norm is then the
// same for every center, and the tile does not compute it.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "aligned_memory.hpp"
#include "views.hpp"

namespace partita {

// A power of two that brings `size` to [½, 1), limited so that T can hold it and its square.
template <class T>
double scale_for(double size) {
    if (!(size > 0) || !std::isfinite(size)) return 1.0;
    int exponent = 0;
    std::frexp(size, &exponent);
    const int most = sizeof(T) == 4 ? 100 : 900;
    return std::ldexp(1.0, std::clamp(-exponent, -most, most));
}

// Folds `term(t)` over t < d in eight lanes, for vectorisation.
template <class Term, class Join>
double fold(std::size_t d, Term term, Join join) {
    double lane[8] = {};
    std::size_t t = 0;
    for (; t + 8 <= d; t += 8)
        for (std::size_t l = 0; l < 8; ++l) lane[l] = join(lane[l], term(t + l));
    for (; t < d; ++t) lane[0] = join(lane[0], term(t));
    double all = lane[0];
    for (std::size_t l = 1; l < 8; ++l) all = join(all, lane[l]);
    return all;
}

inline double larger(double a, double b) { return a > b ? a : b; }
inline double sum(double a, double b) { return a + b; }

// The largest absolute coordinate of a center moved by `sign` times `move`.
inline double largest_of(const double* c, const double* move, std::size_t d, double sign = 1.0) {
    return fold(d, [&](std::size_t t) { return std::abs(c[t] + sign * move[t]); }, larger);
}

// The size of typical centers: the lower median of their largest coordinates, without zeros. The
// maximum would let one far center scale the squares of all others to zero.
inline double typical_of(std::vector<double> sizes) {
    std::erase_if(sizes, [](double size) { return !(size > 0); });
    if (sizes.empty()) return 0.0;
    const auto middle = sizes.begin() + static_cast<std::ptrdiff_t>((sizes.size() - 1) / 2);
    std::nth_element(sizes.begin(), middle, sizes.end());
    return *middle;
}

inline double typical_size(const double* centers, const double* move, std::size_t k,
                           std::size_t d) {
    std::vector<double> sizes(k);
    for (std::size_t j = 0; j < k; ++j) sizes[j] = largest_of(centers + j * d, move, d);
    return typical_of(std::move(sizes));
}

// Scale of D64: 1, unless squares of typical centers would overflow or underflow.
inline double exact_scale(double typical) {
    return typical > 0x1p-400 && typical < 0x1p400 ? 1.0 : scale_for<double>(typical);
}

// D64 decides rows beyond kMaxFastNorm, so a center beyond this is not nearest to any other row.
constexpr double kMaxCenterNorm = 4 * kMaxFastNorm;

template <class T>
struct Margin {
    static constexpr double unit = sizeof(T) == 4 ? 0x1p-24 : 0x1p-53;
    double gamma, exact, tiny;
    // chain: terms in a score; d: terms in D64
    Margin(std::size_t chain, std::size_t d)
        : gamma(1.01 * static_cast<double>(chain + 8) * unit),
          exact(1.01 * static_cast<double>(d + 8) * 0x1p-53),
          tiny(4.0 * static_cast<double>(chain + 8) * (sizeof(T) == 4 ? 0x1p-126 : 0x1p-1000)) {}
    T slope(double norm, double moved) const {
        return static_cast<T>((gamma + exact) * norm + moved + tiny);
    }
    T slack(double norm, double moved) const {
        return static_cast<T>((gamma + exact) * norm * norm + norm * moved + tiny);
    }
    T own_error() const { return static_cast<T>(2 * exact); }
};

// The pivot, which becomes the zero of the fast kernel: the median of a few centers, feature by
// feature. Any value gives the same labels; a median keeps margins small even if one center is far
// away.
template <class T>
std::vector<T> choose_pivot(const double* centers, const double* origin, std::size_t k,
                            std::size_t d) {
    constexpr std::size_t most = 31;
    const std::size_t m = std::min(k, most);
    std::vector<T> pivot(d);
    double sample[most];
    for (std::size_t t = 0; t < d; ++t) {
        for (std::size_t s = 0; s < m; ++s) sample[s] = centers[(s * k / m) * d + t] + origin[t];
        std::nth_element(sample, sample + m / 2, sample + m);
        pivot[t] = static_cast<T>(sample[m / 2]);
    }
    return pivot;
}

// Groups of neighbouring centers: `member` (k) lists the centers group after group.
struct Grouping {
    const std::int32_t* member;
    const std::int32_t* size;
    std::size_t groups;
};

// The order of centers in a book: group after group, each in tiles of nearly equal size, the larger
// ones first.
struct TileLayout {
    std::vector<std::uint32_t> first,
        group;  // place of each tile's first center; each group's tile
    std::vector<std::int32_t> member;

    // All centers are one group if `grouping` is null.
    TileLayout(std::size_t k, std::size_t tile_rows, const Grouping* grouping) : member(k) {
        for (std::size_t p = 0; p < k; ++p)
            member[p] = grouping ? grouping->member[p] : static_cast<std::int32_t>(p);
        std::size_t at = 0;
        for (std::size_t g = 0; g < (grouping ? grouping->groups : 1); ++g) {
            group.push_back(static_cast<std::uint32_t>(first.size()));
            const std::size_t size = grouping ? static_cast<std::size_t>(grouping->size[g]) : k;
            const std::size_t tiles = (size + tile_rows - 1) / tile_rows;
            for (std::size_t q = 0; q < tiles; ++q) {
                first.push_back(static_cast<std::uint32_t>(at));
                at += size / tiles + (q < size % tiles);
            }
        }
        group.push_back(static_cast<std::uint32_t>(first.size()));
        first.push_back(static_cast<std::uint32_t>(at));
    }
};

// Zero and scale of a book, which other books may share.
struct Frame {
    const double* zero;  // (d)
    double scale;
};

template <class T>
class Codebook {
public:
    // centers: (k, d) relative to origin (d). tile_rows: centers per tile of the kernel in use. The
    // book chooses its own frame if `frame` is null. share(n, f) calls f(first, last) for parts of
    // 0…n.
    template <class Share>
    Codebook(const double* centers, const double* origin, std::size_t k, std::size_t d,
             std::size_t tile_rows, const Grouping* grouping, const Frame* frame, Share share)
        : d_(d), layout_(k, tile_rows, grouping) {
        const Margin<T> margin(d, d);
        std::vector<T> pivot;
        if (!frame) pivot = choose_pivot<T>(centers, origin, k, d);
        // In double, the frame of D64 is also that of the fast kernel: moving to another would cost
        // more rounding than it saves.
        std::vector<double> move(d);
        zero_.resize(d);
        double drift = 0;
        for (std::size_t t = 0; t < d; ++t) {
            zero_[t] = frame ? frame->zero[t]
                             : (sizeof(T) == 4 ? static_cast<double>(pivot[t]) : origin[t]);
            move[t] = origin[t] - zero_[t];
            drift += move[t] * move[t];
        }
        drift = std::sqrt(drift);
        std::vector<double> sizes(k), plain_sizes(k);
        const std::vector<double> zeros(d, 0.0);
        share(k, [&](std::size_t first, std::size_t last) {
            for (std::size_t j = first; j < last; ++j) {
                const double* c = centers + j * d;
                sizes[j] = largest_of(c, move.data(), d);
                plain_sizes[j] = largest_of(c, zeros.data(), d);
            }
        });
        // Another frame can be used while the centers are about as large: see kMaxCenterNorm.
        const double typical = typical_of(std::move(sizes));
        const double scale =
            frame && fits(typical * frame->scale) ? frame->scale : scale_for<T>(typical);
        const double d64_scale = exact_scale(typical_of(std::move(plain_sizes)));

        origin_.assign(origin, origin + d);
        pivot_.resize(d);
        for (std::size_t t = 0; t < d; ++t) pivot_[t] = static_cast<T>(zero_[t] * scale);
        start_ = make_aligned<T>(k);
        slope_ = make_aligned<T>(k);
        slack_ = make_aligned<T>(k);
        centers_ = make_aligned<double>(k * d);
        share(k, [&](std::size_t first, std::size_t last) {
            for (std::size_t p = first; p < last; ++p) {
                const std::size_t at = static_cast<std::size_t>(layout_.member[p]) * d;
                for (std::size_t e = at; e < at + d; ++e) centers_[e] = centers[e] * d64_scale;
                bound(p, centers + at, move.data(), scale, drift * scale, margin);
            }
        });
        double max_slope = 0, mean = 0;
        for (std::size_t p = 0; p < k; ++p) {
            max_slope = std::max(max_slope, static_cast<double>(slope_[p]));
            mean += static_cast<double>(slope_[p]) / static_cast<double>(k);
        }
        const bool uniform_slope = max_slope <= 4 * mean;
        if (uniform_slope) std::fill_n(slope_.get(), k, static_cast<T>(max_slope));
        const std::size_t depth = uniform_slope ? d : d + 1;
        packed_ = make_aligned<T>(k * depth);
        share(layout_.first.size() - 1, [&](std::size_t first, std::size_t last) {
            for (std::size_t q = first; q < last; ++q) pack(q, depth, centers, move.data(), scale);
        });
        view_ = {k,
                 d,
                 depth,
                 layout_.first.size() - 1,
                 layout_.group.size() - 1,
                 layout_.first.data(),
                 layout_.group.data(),
                 layout_.member.data(),
                 packed_.get(),
                 start_.get(),
                 slope_.get(),
                 slack_.get(),
                 pivot_.data(),
                 zero_.data(),
                 static_cast<T>(scale),
                 static_cast<T>(1.01 * drift * scale),
                 margin.own_error(),
                 static_cast<T>(1 + margin.gamma),
                 static_cast<T>(max_slope),
                 *std::max_element(slack_.get(), slack_.get() + k),
                 {k, d, centers_.get(), origin_.data(), d64_scale}};
    }
    const BookView<T>& view() const { return view_; }

private:
    static bool fits(double typical) {
        return typical == 0 || (typical > 0x1p-30 && typical < 0x1p30);
    }

    // Bounds of the rounding of scores with the center in place p.
    void bound(std::size_t p, const double* c, const double* move, double scale, double drift,
               const Margin<T>& margin) {
        const double square = fold(
            d_,
            [&](std::size_t t) {
                const double v = (c[t] + move[t]) * scale;
                return v * v;
            },
            sum);
        const double size = fold(
            d_,
            [&](std::size_t t) {
                const double v = c[t] * scale;
                return v * v;
            },
            sum);
        const double norm = std::sqrt(square) * (1 + 1e-9);
        if (!(norm < kMaxCenterNorm)) {  // not nearest to any row that the fast scores decide
            start_[p] = std::numeric_limits<T>::infinity();
            slope_[p] = slack_[p] = 0;
            return;
        }
        const double moved = 0x1p-51 * (std::sqrt(size) + drift);
        slope_[p] = margin.slope(norm, moved);
        slack_[p] = margin.slack(norm, moved);
        start_[p] = static_cast<T>(0.5 * square - static_cast<double>(slack_[p]));
    }

    void pack(std::size_t q, std::size_t depth, const double* centers, const double* move,
              double scale) {
        const std::size_t at = layout_.first[q], rows = layout_.first[q + 1] - at;
        T* tile = packed_.get() + at * depth;
        for (std::size_t r = 0; r < rows; ++r) {
            const double* c = centers + static_cast<std::size_t>(layout_.member[at + r]) * d_;
            const bool near = start_[at + r] < std::numeric_limits<T>::infinity();
            for (std::size_t t = 0; t < d_; ++t)
                tile[t * rows + r] = near ? static_cast<T>((c[t] + move[t]) * scale) : T(0);
            if (depth > d_) tile[d_ * rows + r] = slope_[at + r];
        }
    }

    std::size_t d_;
    Aligned<T> packed_, start_, slope_, slack_;
    Aligned<double> centers_;
    TileLayout layout_;
    std::vector<double> origin_, zero_;
    std::vector<T> pivot_;
    BookView<T> view_;
};

// Centers for D64 only.
class ExactCenters {
public:
    ExactCenters(const double* centers, const double* origin, std::size_t k, std::size_t d)
        : origin_(origin, origin + d), centers_(k * d) {
        const std::vector<double> zeros(d, 0.0);
        const double d64_scale = exact_scale(typical_size(centers, zeros.data(), k, d));
        for (std::size_t e = 0; e < k * d; ++e) centers_[e] = centers[e] * d64_scale;
        view_ = {k, d, centers_.data(), origin_.data(), d64_scale};
    }
    const ExactView& view() const { return view_; }

private:
    std::vector<double> origin_, centers_;
    ExactView view_;
};

template <class T>
class SparseCodebook {
public:
    // longest: the largest number of stored values in a row
    SparseCodebook(const double* centers, std::size_t k, std::size_t d, std::size_t longest) {
        const Margin<T> margin(longest, d);
        const std::size_t padded = (k + 15) / 16 * 16;  // whole vectors for every instruction set
        const std::vector<double> zeros(d, 0.0);
        const double typical = typical_size(centers, zeros.data(), k, d);
        const double scale = scale_for<T>(typical), d64_scale = exact_scale(typical);
        by_feature_ = make_aligned<T>(d * padded);
        start_ = make_aligned<T>(padded);
        slope_ = make_aligned<T>(padded);
        slack_ = make_aligned<T>(padded);
        centers_ = make_aligned<double>(k * d);
        std::fill_n(by_feature_.get(), d * padded, T(0));
        for (std::size_t j = 0; j < padded; ++j) {
            start_[j] = std::numeric_limits<T>::infinity();
            slope_[j] = slack_[j] = 0;
        }
        for (std::size_t j = 0; j < k; ++j) {
            const double* c = centers + j * d;
            const double square = fold(
                d,
                [&](std::size_t t) {
                    const double v = c[t] * scale;
                    return v * v;
                },
                sum);
            for (std::size_t t = 0; t < d; ++t) centers_[j * d + t] = c[t] * d64_scale;
            if (!(square < kMaxCenterNorm * kMaxCenterNorm)) continue;  // its start stays infinite
            const double norm = std::sqrt(square) * (1 + 1e-9), moved = 0x1p-51 * norm;
            slope_[j] = margin.slope(norm, moved);
            slack_[j] = margin.slack(norm, moved);
            start_[j] = static_cast<T>(0.5 * square - static_cast<double>(slack_[j]));
        }
        for (std::size_t t = 0; t < d; ++t)
            for (std::size_t j = 0; j < k; ++j)
                if (start_[j] < std::numeric_limits<T>::infinity())
                    by_feature_[t * padded + j] = static_cast<T>(centers[j * d + t] * scale);
        list_used(centers, k, d);
        view_ = {k,
                 d,
                 padded,
                 by_feature_.get(),
                 start_.get(),
                 slope_.get(),
                 slack_.get(),
                 static_cast<T>(scale),
                 margin.own_error(),
                 static_cast<T>(1 + margin.gamma),
                 centers_.get(),
                 d64_scale,
                 used_from_.data(),
                 used_.data()};
    }
    const SparseBookView<T>& view() const { return view_; }

private:
    // Lists the nonzero features of sparse centers. Initial centers are often rows, hence sparse.
    void list_used(const double* centers, std::size_t k, std::size_t d) {
        used_from_.assign(1, 0);
        for (std::size_t j = 0; j < k; ++j) {
            for (std::size_t t = 0; t < d && used_.size() - used_from_[j] <= d / 8; ++t)
                if (centers[j * d + t] != 0) used_.push_back(static_cast<std::int32_t>(t));
            if (used_.size() - used_from_[j] > d / 8) used_.resize(used_from_[j]);
            used_from_.push_back(used_.size());
        }
    }

    std::vector<std::size_t> used_from_;
    std::vector<std::int32_t> used_;
    Aligned<T> by_feature_, start_, slope_, slack_;
    Aligned<double> centers_;
    SparseBookView<T> view_;
};

}  // namespace partita
