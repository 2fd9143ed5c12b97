// Exact sums of rows that join clusters, as all do in the first pass. Rows of the same cluster are
// added together, a vector of features at a time, in registers: the terms are those of
// exact_sums.hpp, and sums of integers have no order.
#pragma once

#include "exact_sums.hpp"

namespace partita::PARTITA_ISA {

// Terms of some vectors of values, without weights, added up as the bits of to_grid: its constant is
// taken off at the end. Squares of all vectors are added together.
template <int V>
class TermSums {
public:
    using S = Simd<double>;
    using Reg = S::Reg;
    typedef std::uint64_t Whole __attribute__((vector_size(sizeof(Reg)), may_alias));

    TermSums(double limb, double square_up)
        : limb_(S::set1(limb)), square_up_(S::set1(square_up)) {}

    // Adds a value y to vector v.
    PARTITA_INLINE void add(int v, Reg y, Reg up) {
        const Reg square = S::mul(y, y);
        put(S::mul(y, up), S::set1(0), hi[v], lo[v]);
        put(S::mul(square, square_up_), S::mul(product_error(y, square), square_up_), square_hi,
            square_lo);
    }

    Whole hi[V] = {}, lo[V] = {}, square_hi{}, square_lo{};

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
// fill vectors; of long rows, a strip of a few vectors is added at a time. What is read later is
// fetched: strips are too far apart for the hardware to foresee.
template <class T>
class JoinedSums {
public:
    static constexpr std::size_t kListedRows = 1024, kCopiedValues = 2048;
    static constexpr std::size_t kMinWide = 16, kShortRow = 128;  // values
    static constexpr std::size_t kMaxClusters = 256;

    static bool suit(const SumView& sums) { return !sums.weight && !sums.times; }
    // Whether rows may be listed: with more clusters, few of them are of the same.
    static bool suit_lists(const SumView& sums) {
        return suit(sums) && sums.k <= kMaxClusters && 2 * sums.k <= listed_rows(sums.d);
    }
    static std::size_t bytes(std::size_t d) { return JoinedSums(d).used_; }

    // Without sums nothing may be added.
    JoinedSums(const SumView* given, std::size_t d, unsigned char* memory) : JoinedSums(d, memory) {
        if (!given) return;
        const SumView& sums = *(sums_ = given);
        for (std::size_t r = 0; merged_ > 1 && r < merged_; ++r)
            for (std::size_t t = 0; t < d; ++t) {
                repeated_origin_[r * d + t] = sums.origin[t];
                repeated_up_[r * d + t] = sums.up[t];
            }
        origin_ = merged_ > 1 ? repeated_origin_ : sums.origin;
        up_ = merged_ > 1 ? repeated_up_ : sums.up;
        // the last vector ends where the row ends: values that it repeats become zero
        for (std::size_t e = 0; e < W; ++e) last_scale_[e] = e < W - wide_ % W ? 0.0 : sums.scale;
    }

    // Rows one after the other. Fetches as many rows after them.
    void add(const T* rows, std::size_t m, std::size_t cluster) {
        const std::size_t groups = m / merged_;
        clear_first(*sums_, cluster);
        sums_->hi[cluster * (sums_->d + 2) + sums_->d] += static_cast<std::int64_t>(m);
        add_groups(
            groups, [&](std::size_t g) { return rows + g * wide_; },
            [&](std::size_t g) { return rows + m * sums_->d + g * wide_; }, cluster);
        add_rest(rows + groups * wide_, m - groups * merged_, cluster);
    }

    // One row, which stays where it is until `flush`. Long rows are added when as many have followed,
    // which are fetched meanwhile.
    PARTITA_INLINE void list(const T* x, std::int32_t cluster) {
        List& now = list_[turn_];
        now.row[now.count] = x;
        now.label[now.count] = cluster;
        if (++now.count < most_listed_) return;
        if (wide_ > kShortRow)
            add_list(list_[turn_ ^= 1], now);
        else
            add_list(now, now);
    }

    void flush() {
        add_list(list_[turn_ ^ 1], list_[turn_]);
        add_list(list_[turn_], list_[turn_]);
    }

private:
    using S = Simd<double>;
    static constexpr std::size_t W = S::width;
    static constexpr int kStrip = 4;                                     // vectors
    static constexpr std::size_t kListedBytes = 1 << 18, kFewRows = 16;  // of long rows

    // Rows, and the clusters that they join.
    struct List {
        const T** row;
        std::int32_t* label;
        std::size_t count;
    };

    explicit JoinedSums(std::size_t d, unsigned char* memory = nullptr)
        : merged_(d >= kMinWide || d == 0 ? 1 : side_by_side(d)), wide_(d * merged_),
          most_listed_(listed_rows(d)) {
        ScratchArena arena(memory);
        repeated_origin_ = arena.take<double>(merged_ > 1 ? wide_ : 0);
        repeated_up_ = arena.take<double>(merged_ > 1 ? wide_ : 0);
        last_scale_ = arena.take<double>(W);
        copied_ = arena.take<T>(kCopiedValues + wide_);
        sorted_ = arena.take<const T*>(kListedRows);
        for (List& list : list_)
            list = {arena.take<const T*>(kListedRows), arena.take<std::int32_t>(kListedRows), 0};
        used_ = arena.used();
    }
    // Rows of a list: long ones stay in the second cache.
    static std::size_t listed_rows(std::size_t d) {
        if (d <= kShortRow) return kListedRows;
        const std::size_t most = kListedBytes / (d * sizeof(T));
        return most < kFewRows ? kFewRows : (most < kListedRows ? most : kListedRows);
    }
    // The fewest rows whose values fill whole vectors.
    static std::size_t side_by_side(std::size_t d) {
        std::size_t rows = 1;
        while (rows * d % 8) rows *= 2;
        return rows;
    }

    // Adds the rows of a list, which becomes empty, and fetches those of another one as long.
    void add_list(List& list, const List& next) {
        if (list.count == 0) return;
        const T* const* fetched = next.count == list.count ? next.row : list.row;
        std::size_t begin[kMaxClusters + 1] = {};
        for (std::size_t r = 0; r < list.count; ++r) ++begin[list.label[r] + 1];
        for (std::size_t j = 0; j < sums_->k; ++j) begin[j + 1] += begin[j];
        for (std::size_t r = 0; r < list.count; ++r) sorted_[begin[list.label[r]]++] = list.row[r];
        list.count = 0;
        for (std::size_t j = 0, first = 0; j < sums_->k; first = begin[j++])
            if (begin[j] > first) add_sorted(first, begin[j] - first, fetched, j);
    }

    void add_sorted(std::size_t first, std::size_t m, const T* const* fetched,
                    std::size_t cluster) {
        const T* const* row = sorted_ + first;
        clear_first(*sums_, cluster);
        sums_->hi[cluster * (sums_->d + 2) + sums_->d] += static_cast<std::int64_t>(m);
        if (merged_ == 1)
            return add_groups(
                m, [&](std::size_t r) { return row[r]; },
                [&](std::size_t r) { return fetched[first + r]; }, cluster);
        const std::size_t most = kCopiedValues / sums_->d;
        for (std::size_t r = 0; r < m; r += most)
            add_copied(row + r, m - r < most ? m - r : most, cluster);
    }

    // Rows that are copied, so that they are side by side.
    void add_copied(const T* const* row, std::size_t m, std::size_t cluster) {
        const std::size_t d = sums_->d, whole = m / merged_;
        for (std::size_t r = 0; r < m; ++r)
            for (std::size_t t = 0; t < d; ++t) copied_[r * d + t] = row[r][t];
        const auto group = [&](std::size_t g) { return copied_ + g * wide_; };
        add_groups(whole, group, group, cluster);
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

    // Groups of `wide_` values, group(g) being the first of the g-th. Fetches those from ahead(g) on.
    template <class Group, class Ahead>
    void add_groups(std::size_t groups, Group group, Ahead ahead, std::size_t cluster) {
        if (groups == 0) return;
        constexpr std::size_t strip = kStrip * W;
        const S::Reg scale = S::set1(sums_->scale);
        std::size_t e = 0;
        for (; e + strip <= wide_; e += strip)
            add_vectors<kStrip>(groups, group, e, ahead, scale, cluster);
        for (; e + W <= wide_; e += W) add_vectors<1>(groups, group, e, ahead, scale, cluster);
        if (e < wide_)
            add_vectors<1>(groups, group, wide_ - W, ahead, S::widen(last_scale_), cluster);
    }

    template <int V, class Group, class Ahead>
    PARTITA_INLINE void add_vectors(std::size_t groups, Group group, std::size_t e, Ahead ahead,
                                    S::Reg scale, std::size_t cluster) {
        S::Reg origin[V], up[V];
#pragma GCC unroll 4
        for (int v = 0; v < V; ++v) {
            origin[v] = S::widen(origin_ + e + static_cast<std::size_t>(v) * W);
            up[v] = S::widen(up_ + e + static_cast<std::size_t>(v) * W);
        }
        TermSums<V> sums(sums_->limb, sums_->up[sums_->d + 1]);
        for (std::size_t g = 0; g < groups; ++g) {
            const T* x = group(g) + e;
            for (std::size_t t = 0; t < V * W; t += 64 / sizeof(T))
                __builtin_prefetch(ahead(g) + e + t, 0, 2);
#pragma GCC unroll 4
            for (int v = 0; v < V; ++v)
                sums.add(
                    v,
                    S::mul(S::sub(S::widen(x + static_cast<std::size_t>(v) * W), origin[v]), scale),
                    up[v]);
        }
        take(sums, groups, e, cluster);
    }

    template <int V>
    void take(const TermSums<V>& sums, std::size_t groups, std::size_t e, std::size_t cluster) {
        const std::size_t d = sums_->d;
        const std::uint64_t shifts = groups * static_cast<std::uint64_t>(kRoundingShiftBits);
        std::int64_t* hi = sums_->hi + cluster * (d + 2);
        std::int64_t* lo = sums_->lo + cluster * (d + 2);
        std::size_t t = merged_ > 1 ? e % d : e;
        for (int v = 0; v < V; ++v) {
            alignas(64) std::uint64_t high[W], low[W];
            __builtin_memcpy(high, &sums.hi[v], sizeof(high));
            __builtin_memcpy(low, &sums.lo[v], sizeof(low));
            if (merged_ == 1) {  // a loop without a condition
                for (std::size_t l = 0; l < W; ++l)
                    hi[t + l] += static_cast<std::int64_t>(high[l] - shifts);
                for (std::size_t l = 0; l < W; ++l)
                    lo[t + l] += static_cast<std::int64_t>(low[l] - shifts);
                t += W;
                continue;
            }
            for (std::size_t l = 0; l < W; ++l) {
                hi[t] += static_cast<std::int64_t>(high[l] - shifts);
                lo[t] += static_cast<std::int64_t>(low[l] - shifts);
                if (++t == d) t = 0;
            }
        }
        std::uint64_t square_hi = 0, square_lo = 0;
        for (std::size_t l = 0; l < W; ++l) square_hi += sums.square_hi[l];
        for (std::size_t l = 0; l < W; ++l) square_lo += sums.square_lo[l];
        hi[d + 1] += static_cast<std::int64_t>(square_hi - V * W * shifts);
        lo[d + 1] += static_cast<std::int64_t>(square_lo - V * W * shifts);
    }

    std::size_t merged_, wide_, most_listed_, used_ = 0, turn_ = 0;
    const SumView* sums_ = nullptr;
    const double *origin_ = nullptr, *up_ = nullptr;
    double *repeated_origin_, *repeated_up_, *last_scale_;
    T* copied_;
    const T** sorted_;
    List list_[2];
};

}  // namespace partita::PARTITA_ISA
