// Exact sums of rows that join clusters, as all do in the first pass. Rows of the same cluster are
// added together, a vector of features at a time, in registers: the terms are those of
// exact_sums.hpp, and sums of integers have no order.
#pragma once

#include "exact_sums.hpp"

namespace partita::PARTITA_ISA {

// Terms of a vector of values, without weights, added up as the bits of to_grid: its constant is
// taken off at the end.
class TermSums {
public:
    using S = Simd<double>;
    using Reg = S::Reg;
    typedef std::uint64_t Whole __attribute__((vector_size(sizeof(Reg)), may_alias));

    TermSums(double limb, double square_up)
        : limb_(S::set1(limb)), square_up_(S::set1(square_up)) {}

    PARTITA_INLINE void add(Reg y, Reg up) {
        const Reg square = S::mul(y, y);
        put(S::mul(y, up), S::set1(0), hi, lo);
        put(S::mul(square, square_up_), S::mul(product_error(y, square), square_up_), square_hi,
            square_lo);
    }

    Whole hi{}, lo{}, square_hi{}, square_lo{};

private:
    PARTITA_INLINE void put(Reg v, Reg rest, Whole& high, Whole& low) const {
        const Reg shift = S::set1(kRoundingShift), h = S::add(v, shift);
        const Reg left = S::add(S::sub(v, S::sub(h, shift)), rest);
        high += (Whole)h;
        low += (Whole)S::add(S::mul(left, limb_), shift);
    }
    // y·y − square, exactly
    static PARTITA_INLINE Reg product_error(Reg y, Reg square) {
#if defined(__FMA__)
        return S::sub(S::set1(0), S::fnmadd(y, y, square));
#else
        const Reg cut = S::mul(S::set1(134217729.0), y);  // 2^27 + 1
        const Reg high = S::sub(cut, S::sub(cut, y)), low = S::sub(y, high);
        const Reg cross = S::mul(high, low);
        return S::sub(S::mul(low, low),
                      S::sub(S::sub(S::sub(square, S::mul(high, high)), cross), cross));
#endif
    }

    Reg limb_, square_up_;
};

// Adds rows without weights to clusters. Rows with few features are put side by side, so that they
// fill vectors.
template <class T>
class JoinedSums {
public:
    static constexpr std::size_t kListedRows = 1024, kCopiedValues = 2048;
    static constexpr std::size_t kMinWide = 16, kMaxListedFeatures = 128, kMaxClusters = 256;

    static bool suit(const SumView& sums) { return !sums.weight && !sums.times; }
    // Whether rows may be listed: with more clusters, few of them are of the same.
    static bool suit_lists(const SumView& sums) {
        return suit(sums) && sums.d <= kMaxListedFeatures && sums.k <= kMaxClusters;
    }
    static std::size_t bytes(std::size_t d) { return JoinedSums(d).used_; }

    // Without sums nothing may be added.
    JoinedSums(const SumView* given, std::size_t d, unsigned char* memory) : JoinedSums(d, memory) {
        if (!given) return;
        const SumView& sums = *(sums_ = given);
        for (std::size_t e = 0; e < wide_; ++e) {
            origin_[e] = sums.origin[e % sums.d];
            up_[e] = sums.up[e % sums.d];
            scale_[e] = sums.scale;
        }
        // the last vector begins where a whole one ends: values that it repeats become zero
        for (std::size_t e = 0; e < W; ++e) last_scale_[e] = e < W - wide_ % W ? 0.0 : sums.scale;
    }

    // Rows one after the other.
    void add(const T* rows, std::size_t m, std::size_t cluster) {
        const std::size_t groups = m / merged_;
        clear_first(*sums_, cluster);
        sums_->hi[cluster * (sums_->d + 2) + sums_->d] += static_cast<std::int64_t>(m);
        add_groups(groups, [&](std::size_t g) { return rows + g * wide_; }, cluster);
        add_rest(rows + groups * wide_, m - groups * merged_, cluster);
    }

    // One row, which stays where it is until `flush`.
    PARTITA_INLINE void list(const T* x, std::int32_t cluster) {
        row_[listed_] = x;
        label_[listed_] = cluster;
        if (++listed_ == kListedRows) flush();
    }

    void flush() {
        std::size_t begin[kMaxClusters + 1] = {};
        for (std::size_t r = 0; r < listed_; ++r) ++begin[label_[r] + 1];
        for (std::size_t j = 0; j < sums_->k; ++j) begin[j + 1] += begin[j];
        for (std::size_t r = 0; r < listed_; ++r) sorted_[begin[label_[r]]++] = row_[r];
        listed_ = 0;
        for (std::size_t j = 0, first = 0; j < sums_->k; first = begin[j++])
            if (begin[j] > first) add_sorted(sorted_ + first, begin[j] - first, j);
    }

private:
    using S = Simd<double>;
    static constexpr std::size_t W = S::width;

    explicit JoinedSums(std::size_t d, unsigned char* memory = nullptr)
        : merged_(d >= kMinWide || d == 0 ? 1 : side_by_side(d)), wide_(d * merged_) {
        ScratchArena arena(memory);
        origin_ = arena.take<double>(wide_);
        up_ = arena.take<double>(wide_);
        scale_ = arena.take<double>(wide_);
        last_scale_ = arena.take<double>(W);
        copied_ = arena.take<T>(kCopiedValues + wide_);
        row_ = arena.take<const T*>(kListedRows);
        sorted_ = arena.take<const T*>(kListedRows);
        label_ = arena.take<std::int32_t>(kListedRows);
        used_ = arena.used();
    }
    // The fewest rows whose values fill whole vectors.
    static std::size_t side_by_side(std::size_t d) {
        std::size_t rows = 1;
        while (rows * d % 8) rows *= 2;
        return rows;
    }

    void add_sorted(const T* const* row, std::size_t m, std::size_t cluster) {
        clear_first(*sums_, cluster);
        sums_->hi[cluster * (sums_->d + 2) + sums_->d] += static_cast<std::int64_t>(m);
        if (merged_ == 1) return add_groups(m, [&](std::size_t r) { return row[r]; }, cluster);
        const std::size_t most = kCopiedValues / sums_->d;
        for (std::size_t r = 0; r < m; r += most)
            add_copied(row + r, m - r < most ? m - r : most, cluster);
    }

    // Rows that are copied, so that they are side by side.
    void add_copied(const T* const* row, std::size_t m, std::size_t cluster) {
        const std::size_t d = sums_->d, whole = m / merged_;
        for (std::size_t r = 0; r < m; ++r)
            for (std::size_t t = 0; t < d; ++t) copied_[r * d + t] = row[r][t];
        add_groups(whole, [&](std::size_t g) { return copied_ + g * wide_; }, cluster);
        add_rest(copied_ + whole * wide_, m - whole * merged_, cluster);
    }

    // Fewer rows than are put side by side, value by value.
    void add_rest(const T* rows, std::size_t m, std::size_t cluster) {
        const std::size_t d = sums_->d, at = cluster * (d + 2);
        Limbs squares{0, 0};
        for (std::size_t e = 0; e < m * d; ++e) {
            Limbs term, square;
            value_terms<false>((static_cast<double>(rows[e]) - origin_[e]) * sums_->scale, up_[e],
                               sums_->up[d + 1], 1.0, sums_->limb, term, square);
            sums_->hi[at + e % d] += term.hi;
            sums_->lo[at + e % d] += term.lo;
            squares.hi += square.hi;
            squares.lo += square.lo;
        }
        sums_->hi[at + d + 1] += squares.hi;
        sums_->lo[at + d + 1] += squares.lo;
    }

    // Groups of `wide_` values, group(g) being the first of the g-th.
    template <class Group>
    void add_groups(std::size_t groups, Group group, std::size_t cluster) {
        if (groups == 0) return;
        for (std::size_t e = 0; e + W <= wide_; e += W)
            add_vectors(groups, group, e, scale_ + e, cluster);
        if (wide_ % W) add_vectors(groups, group, wide_ - W, last_scale_, cluster);
    }

    template <class Group>
    PARTITA_INLINE void add_vectors(std::size_t groups, Group group, std::size_t e,
                                    const double* scales, std::size_t cluster) {
        const S::Reg origin = S::widen(origin_ + e), up = S::widen(up_ + e);
        const S::Reg scale = S::widen(scales);
        TermSums sums(sums_->limb, sums_->up[sums_->d + 1]);
        for (std::size_t g = 0; g < groups; ++g)
            sums.add(S::mul(S::sub(S::widen(group(g) + e), origin), scale), up);
        const std::size_t d = sums_->d, at = cluster * (d + 2);
        const std::uint64_t shifts = groups * static_cast<std::uint64_t>(kRoundingShiftBits);
        for (std::size_t l = 0; l < W; ++l) {
            const std::size_t t = (e + l) % d;
            sums_->hi[at + t] += static_cast<std::int64_t>(sums.hi[l] - shifts);
            sums_->lo[at + t] += static_cast<std::int64_t>(sums.lo[l] - shifts);
            sums_->hi[at + d + 1] += static_cast<std::int64_t>(sums.square_hi[l] - shifts);
            sums_->lo[at + d + 1] += static_cast<std::int64_t>(sums.square_lo[l] - shifts);
        }
    }

    std::size_t merged_, wide_, used_ = 0, listed_ = 0;
    const SumView* sums_ = nullptr;
    double *origin_, *up_, *scale_, *last_scale_;
    T* copied_;
    const T **row_, **sorted_;
    std::int32_t* label_;
};

}  // namespace partita::PARTITA_ISA
