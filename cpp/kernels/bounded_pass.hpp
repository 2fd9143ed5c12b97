// The pass with bounds (Hamerly, Yinyang): rows whose bounds prove their label are skipped. The
// others are compared, in dense tiles, with the groups of centers that may be nearer than their
// own.
//
// Every row has an upper bound of the distance to its own center and, for each group of centers, a
// lower bound of the distance to all others there. Bounds are integer multiples of a quantum,
// rounded outwards. They are not rewritten when centers move; the travel of the centers
// (MotionView) is added in the comparison. A label is proved if upper + 1 < lower; the quantum is
// so wide that this one step covers the rounding of D64 itself.
//
// The tiles are those of a filter (float_filter.hpp, byte_filter.hpp): a center that it cannot prove
// to be farther than the own one is a candidate. Candidates are measured in double, near ties by
// D64.
#pragma once

#include "exact_sums.hpp"
#include "narrow_rows.hpp"
#include "quick_distance.hpp"

namespace partita::PARTITA_ISA {

// A scaled distance in whole quanta, from below. Centers beyond kMaxFastNorm have no score; they are
// farther than this.
PARTITA_INLINE std::int32_t whole_quanta(float far, float per_scaled) {
    constexpr float most = static_cast<float>(kMaxFastNorm);
    float q = (far < most ? far : most) * per_scaled;
    q = q > 0 ? q : 0;
    return q < 65535 ? static_cast<std::int32_t>(q) : 65535;
}

// Rows of one call whose bounds do not prove their label.
struct OpenRows {
    std::int32_t* row;
    std::uint32_t* groups;  // that may hold a nearer center
    double* own;            // squared distance to the own center, by quick_distance
    std::int32_t* order;    // indices sorted by the place of the own center
    std::int32_t* count;    // (k + 1)
};

constexpr std::size_t kMaxPairs = 1024;  // stored candidates of one panel

// Candidates of one panel. They are measured after the last tile: their rows have arrived by then.
struct CandidatePairs {
    std::int32_t lane[kMaxPairs], center[kMaxPairs];
    double square[kMaxPairs];
    std::size_t count;
    std::uint32_t overflowed;  // groups with candidates that are stored no longer
};

struct BoundScratch {
    OpenRows open_rows;
    CandidatePairs* pairs;
    unsigned char *filter, *sums, *wide;
    std::size_t used;

    BoundScratch(unsigned char* memory, std::size_t n, std::size_t k, std::size_t filter_bytes,
                 std::size_t sum_bytes, std::size_t wide_bytes) {
        ScratchArena arena(memory);
        open_rows.row = arena.take<std::int32_t>(n);
        open_rows.groups = arena.take<std::uint32_t>(n);
        open_rows.own = arena.take<double>(n);
        open_rows.order = arena.take<std::int32_t>(n);
        open_rows.count = arena.take<std::int32_t>(k + 1);
        pairs = arena.take<CandidatePairs>(1);
        filter = arena.take<unsigned char>(filter_bytes);
        sums = arena.take<unsigned char>(sum_bytes);
        wide = arena.take<unsigned char>(wide_bytes);  // a narrow row
        used = arena.used();
    }
};

PARTITA_INLINE std::int32_t quanta_up(double distance, double per_quantum) {
    const double q = distance * per_quantum * (1 + 0x1p-40) + 1.0;
    return q < kUnbounded ? static_cast<std::int32_t>(q) : kUnbounded;  // NaN is unbounded
}

PARTITA_INLINE std::int32_t quanta_down(double distance, double per_quantum) {
    const double q = distance * per_quantum * (1 - 0x1p-40);
    if (!(q > 0)) return 0;  // NaN too
    return q < 65535.0 ? static_cast<std::int32_t>(q) : 65535;
}

PARTITA_INLINE std::uint16_t to16(std::int32_t v) {
    return static_cast<std::uint16_t>(v < 0 ? 0 : (v > 65535 ? 65535 : v));
}

// The rows of one call. R: type of the data.
template <class R, class Filter>
class BoundedPass {
public:
    BoundedPass(Filter& filter, const ExactView& exact, const RowReader<R>& rows,
                const MotionView& motion, const BoundView& bounds, std::int32_t* label,
                const SumView* sums, const BoundScratch& scratch)
        : filter_(filter), exact_(exact), rows_(rows), motion_(motion), bounds_(bounds),
          label_(label), sums_(sums), s_(scratch), accumulator_(sums ? *sums : none_, s_.sums),
          tie_share_(tie_share(exact.d)), quantum_(motion.quantum * exact.scale),
          per_exact_(1.0 / quantum_) {}

    // `whole`: there are no bounds yet, so every row is compared with every group.
    PrunedCounts run(bool whole) {
        const std::size_t open_rows = find_open_rows(whole);
        if (whole)
            for (std::size_t e = 0; e < open_rows; ++e)
                s_.open_rows.order[e] = static_cast<std::int32_t>(e);
        else
            sort_by_center(open_rows);
        counts_.scanned_rows = static_cast<std::int64_t>(open_rows);
        for (std::size_t e = 0; e < open_rows; e += W) {
            for (std::size_t next = e + W; next < e + 2 * W && next < open_rows; ++next)
                filter_.fetch(static_cast<std::size_t>(s_.open_rows.row[s_.open_rows.order[next]]));
            panel(s_.open_rows.order + e, open_rows - e < W ? open_rows - e : W);
        }
        if (sums_) accumulator_.flush();
        return counts_;
    }

private:
    static constexpr std::size_t W = kPanelWidth<float>;

    const R* row(std::size_t i) const { return rows_.row(i); }

    // Groups that may hold a center as near as `upper`, and the lowest bound of all groups.
    PARTITA_INLINE static BoundTest test_groups(const BoundView& bounds, const MotionView& motion,
                                                std::size_t groups, std::size_t i,
                                                std::int32_t upper) {
        BoundTest test =
            test_bounds(bounds.lower + i * bounds.stride, motion.group_up, groups, to16(upper + 1));
        test.open_groups &= first_bits(groups);
        return test;
    }

    // Groups with a center at most twice as far from center a as the row is, plus one step for
    // rounding. Centers of other groups cannot be nearer to the row.
    PARTITA_INLINE static std::uint32_t groups_within_reach(const MotionView& motion,
                                                            std::size_t stride, std::size_t groups,
                                                            std::size_t a, std::int32_t upper) {
        alignas(16) static constexpr std::uint16_t zeros[32] = {};
        const std::int32_t twice = upper < 32767 ? 2 * upper + 1 : 65535;
        return test_bounds(motion.near + a * stride, zeros, groups, to16(twice)).open_groups;
    }

    // Lists the rows that their bounds leave open, with the distance to their own center. Appends
    // without branches, which the processor could not predict.
    std::size_t find_open_rows(bool whole) {
        const BoundView bounds = bounds_;  // copies, kept in registers
        const MotionView motion = motion_;
        const std::int32_t* const label = label_;
        const std::size_t n = rows_.count();
        const std::uint32_t every = first_bits(groups());
        const OpenRows list = s_.open_rows;
        std::size_t listed = 0;
        if (whole) {
            for (; listed < n; ++listed) list.row[listed] = static_cast<std::int32_t>(listed);
        } else {
            for (std::size_t i = 0; i < n; ++i) {  // by the two bounds of the row itself
                const std::int32_t upper = bounds.upper[i] + motion.up[label[i]];
                list.row[listed] = static_cast<std::int32_t>(i);
                listed += (upper + 1 >= bounds.other[i] - motion.all_up) &
                          (upper > motion.safe_upper[label[i]]);
            }
            listed = filter_by_groups(listed, motion.up);
        }
        counts_.measured += static_cast<std::int64_t>(listed);
        for (std::size_t e = 0; e < listed; ++e) {
            if (e + Filter::kFetchAhead < listed)
                filter_.fetch(static_cast<std::size_t>(list.row[e + Filter::kFetchAhead]));
            const std::size_t i = static_cast<std::size_t>(list.row[e]);
            list.own[e] = filter_.own_square(i, static_cast<std::size_t>(label[i]));
            list.groups[e] = every;
        }
        lower_upper_bounds(listed, whole);
        return whole ? listed : filter_by_groups(listed, motion.down);
    }

    // Lowers the upper bounds of the listed rows to the distances to their own centers, and squares
    // that are bounds themselves to the upper bounds.
    void lower_upper_bounds(std::size_t listed, bool whole) {
        const BoundView bounds = bounds_;
        const MotionView motion = motion_;
        const OpenRows list = s_.open_rows;
        std::int32_t* const quanta = list.order;  // not in use yet
        for (std::size_t e = 0; e < listed; ++e)
            quanta[e] = quanta_up(__builtin_sqrt(list.own[e]), per_exact_);
        const double quantum = quantum_ * (1 + 0x1p-40);
        const bool is_bound = !Filter::kOwnIsExact && !whole;
        for (std::size_t e = 0; e < listed; ++e) {
            const std::int32_t i = list.row[e], a = label_[i];
            const std::int32_t kept = bounds.upper[i], before = kept + motion.up[a];
            const double far = static_cast<double>(before) * quantum, square = far * far;
            const bool holds = before < kUnbounded && before <= quanta[e] && is_bound;
            list.own[e] = holds && square < list.own[e] ? square : list.own[e];
            bounds.upper[i] = holds ? kept : quanta[e] - motion.down[a];
        }
    }

    // Keeps the listed rows with a group that may hold a nearer center. `travel` is added to the
    // upper bounds.
    std::size_t filter_by_groups(std::size_t listed, const std::int32_t* travel) {
        const BoundView bounds = bounds_;
        const MotionView motion = motion_;
        const std::int32_t* const label = label_;
        const std::size_t groups = this->groups();
        const OpenRows list = s_.open_rows;
        std::size_t kept = 0;
        for (std::size_t e = 0; e < listed; ++e) {
            const std::int32_t i = list.row[e];
            const std::int32_t upper = bounds.upper[i] + travel[label[i]];
            BoundTest test =
                test_groups(bounds, motion, groups, static_cast<std::size_t>(i), upper);
            if (motion.near)
                test.open_groups &= groups_within_reach(motion, bounds.stride, groups,
                                                        static_cast<std::size_t>(label[i]), upper);
            const std::uint16_t other =
                to16(static_cast<std::int32_t>(test.least) + motion.all_down);
            bounds.other[i] = test.open_groups ? bounds.other[i] : other;
            list.row[kept] = i;
            list.own[kept] = list.own[e];
            list.groups[kept] = test.open_groups;
            kept += test.open_groups != 0;
        }
        return kept;
    }

    // Sorts by the place of the own center: neighbouring rows need the same groups.
    void sort_by_center(std::size_t open_rows) {
        std::int32_t* count = s_.open_rows.count;
        for (std::size_t j = 0; j <= exact_.k; ++j) count[j] = 0;
        auto place = [&](std::size_t e) { return motion_.place[label_[s_.open_rows.row[e]]]; };
        for (std::size_t e = 0; e < open_rows; ++e) ++count[place(e) + 1];
        for (std::size_t j = 0; j < exact_.k; ++j) count[j + 1] += count[j];
        for (std::size_t e = 0; e < open_rows; ++e)
            s_.open_rows.order[count[place(e)]++] = static_cast<std::int32_t>(e);
    }

    // Compares one panel of open rows with every group that one of them needs.
    void panel(const std::int32_t* listed, std::size_t count) {
        std::uint32_t open = 0;
        open_.count = count;
        for (std::size_t g = 0; g < groups(); ++g) open_.needed_by[g] = 0;
        for (std::size_t r = 0; r < count; ++r) {
            const std::size_t e = static_cast<std::size_t>(listed[r]);
            open_.at[r] = s_.open_rows.row[e];
            open_.best[r] = s_.open_rows.own[e];
            open_.nearest[r] = label_[open_.at[r]];
            const std::uint32_t needed = open_.needs[r] = s_.open_rows.groups[e];
            for (std::uint32_t rest = needed; rest; rest &= rest - 1)
                open_.needed_by[__builtin_ctz(rest)] |= 1u << r;
            open |= needed;
        }
        open_.measured = Filter::kOwnIsExact ? ~0u : 0;
        filter_.begin(open_.at, count, open_.best);
        CandidatePairs& pairs = *s_.pairs;
        pairs.count = pairs.overflowed = 0;
        for (std::uint32_t rest = open; rest; rest &= rest - 1) {
            const std::size_t g = static_cast<std::size_t>(__builtin_ctz(rest));
            filter_.begin_group(g);
            keep_distances(g, scan_group(g));
        }
        measure_candidates();
        store_bounds(open);
        set_labels();
    }

    // Lists the candidates of rows that need the group. Returns the other rows that have some: they
    // keep their bounds.
    std::uint32_t scan_group(std::size_t g) {
        const auto& book = filter_.book();
        const std::uint32_t needed = open_.needed_by[g];
        std::uint32_t kept = 0;
        std::uint32_t hits[kTileRows];  // of each center: the rows that it may be nearest to
        for (std::size_t q = book.group[g]; q < book.group[g + 1]; ++q) {
            const std::size_t first = book.first[q];
            const int rows = tile_rows(book, q);
            counts_.scanned_pairs += static_cast<std::int64_t>(open_.count) * rows;
            if (!filter_.scan(q, hits)) continue;
            for (int r = 0; r < rows; ++r) {
                const std::int32_t j = book.member[first + static_cast<std::size_t>(r)];
                kept |= hits[r] & ~needed;
                for (std::uint32_t lanes = hits[r] & needed; lanes; lanes &= lanes - 1)
                    list_candidate(__builtin_ctz(lanes), j);
            }
        }
        return kept;
    }

    PARTITA_INLINE void list_candidate(std::int32_t lane, std::int32_t j) {
        CandidatePairs& pairs = *s_.pairs;
        if (j == label_[open_.at[lane]]) return;
        rows_.prefetch(static_cast<std::size_t>(open_.at[lane]));
        if (pairs.count == kMaxPairs) {
            measure_candidates();
            for (std::size_t p = 0; p < kMaxPairs; ++p)
                pairs.overflowed |= 1u << motion_.group[pairs.center[p]];
            pairs.count = 0;
        }
        pairs.lane[pairs.count] = lane;
        pairs.center[pairs.count++] = j;
    }

    void measure_candidates() {
        CandidatePairs& pairs = *s_.pairs;
        for (std::size_t p = 0; p < pairs.count; ++p)
            pairs.square[p] = measure_candidate(pairs.lane[p], pairs.center[p]);
    }

    // Measures a candidate. All but the nearest become lower bounds of their groups.
    double measure_candidate(std::int32_t lane, std::int32_t j) {
        ++counts_.candidates;
        double& best = open_.best[lane];
        std::int32_t& nearest = open_.nearest[lane];
        const R* x = row(static_cast<std::size_t>(open_.at[lane]));
        double square, enough;
        if (open_.measured >> lane & 1) {
            enough = best * (1 + tie_share_);
            square = quick_distance(exact_, x, static_cast<std::size_t>(j), enough);
        } else {
            const TwoSquares both = quick_distances(exact_, x, static_cast<std::size_t>(nearest),
                                                    static_cast<std::size_t>(j));
            best = both.first;
            square = both.second;
            enough = best * (1 + tie_share_);
            open_.measured |= 1u << lane;
        }
        if (square > enough) return square;
        if (!(square < best * (1 - tie_share_))) {
            const double here = exact_distance(exact_, x, static_cast<std::size_t>(j));
            const double there = exact_distance(exact_, x, static_cast<std::size_t>(nearest));
            if (there < here || (there == here && nearest < j)) return square;
        }
        best = square;
        nearest = j;
        return square;
    }

    // Keeps what the filter tells of the distances of a group, of all rows but the `kept`.
    void keep_distances(std::size_t g, std::uint32_t kept) {
        alignas(64) std::int32_t quanta[W];
        filter_.low_quanta(quanta);
        const std::int32_t down = motion_.group_down[g];
        for (std::size_t r = 0; r < W; ++r)
            open_.far[r][g] = kept >> r & 1 ? 0 : to16(quanta[r] + down);
    }

    // Sets the bounds of the `scanned` groups that a row needs, and raises those of the others.
    void store_bounds(std::uint32_t scanned) {
        for (std::size_t r = 0; r < open_.count; ++r) {
            std::uint16_t* bound =
                bounds_.lower + static_cast<std::size_t>(open_.at[r]) * bounds_.stride;
            renew_bounds(bound, open_.far[r], groups(), scanned, open_.needs[r]);
        }
    }

    void lower_to(std::size_t i, std::size_t j, double square) {
        const std::size_t g = static_cast<std::size_t>(motion_.group[j]);
        std::uint16_t& bound = bounds_.lower[i * bounds_.stride + g];
        const std::uint16_t now =
            to16(quanta_down(__builtin_sqrt(square), per_exact_) + motion_.group_down[g]);
        if (now < bound) bound = now;
    }

    void set_labels() {
        const CandidatePairs& pairs = *s_.pairs;
        for (std::size_t p = 0; p < pairs.count; ++p)
            if (pairs.center[p] != open_.nearest[pairs.lane[p]])
                lower_to(static_cast<std::size_t>(open_.at[pairs.lane[p]]),
                         static_cast<std::size_t>(pairs.center[p]), pairs.square[p]);
        for (std::size_t r = 0; r < open_.count; ++r) {
            const std::size_t i = static_cast<std::size_t>(open_.at[r]);
            for (std::uint32_t rest = pairs.overflowed; rest; rest &= rest - 1)
                bounds_.lower[i * bounds_.stride + static_cast<std::size_t>(__builtin_ctz(rest))] =
                    0;
            const std::int32_t before = label_[i], now = open_.nearest[r];
            const bool is_measured = !Filter::kOwnIsExact && (open_.measured >> r & 1);
            if (now != before || is_measured)
                bounds_.upper[i] =
                    quanta_up(__builtin_sqrt(open_.best[r]), per_exact_) - motion_.down[now];
            if (now != before) {
                lower_to(i, static_cast<std::size_t>(before),
                         quick_distance(exact_, row(i), static_cast<std::size_t>(before),
                                        __builtin_inf()));
                if (sums_) accumulator_.push(row(i), i, before, now);
                label_[i] = now;
                ++counts_.moved;
            }
            const std::uint32_t least = test_groups(bounds_, motion_, groups(), i, 0).least;
            bounds_.other[i] = to16(static_cast<std::int32_t>(least) + motion_.all_down);
        }
    }

    std::size_t groups() const { return filter_.book().groups; }

    // The open rows of the present panel.
    struct OpenPanel {
        std::size_t count;
        std::int32_t at[W], nearest[W];
        double best[W];               // squared distance to `nearest`, by quick_distance
        std::uint32_t needs[W];       // groups that the bounds of a row leave open
        std::uint32_t measured;       // rows of which it is that; a bound of others, from above
        std::uint32_t needed_by[32];  // the same by group
        alignas(64) std::uint16_t far[W][32];  // bounds of scanned groups
    };

    Filter& filter_;
    const ExactView& exact_;
    const RowReader<R>& rows_;
    const MotionView& motion_;
    const BoundView& bounds_;
    std::int32_t* label_;
    const SumView* sums_;
    const SumView none_{};
    BoundScratch s_;
    RowAccumulator<R> accumulator_;
    double tie_share_, quantum_, per_exact_;  // the quantum in the units of D64
    OpenPanel open_{};
    PrunedCounts counts_{};
};

}  // namespace partita::PARTITA_ISA
