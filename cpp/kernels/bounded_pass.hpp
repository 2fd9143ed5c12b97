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
// The tiles take filter rows: the rows in float32, or fewer features whose distances are never
// larger (a rotated prefix and the length of the rest). A center whose filter distance does not
// exceed the distance to the own center is a candidate. Candidates are measured in double, near
// ties by D64.
#pragma once

#include "exact_sums.hpp"
#include "packing.hpp"
#include "quick_distance.hpp"

namespace partita::PARTITA_ISA {

// Rows of one call whose bounds do not prove their label.
struct OpenRows {
    std::int32_t* row;
    std::uint32_t* groups;  // that may hold a nearer center
    double* own;            // squared distance to the own center, by quick_distance
    std::int32_t* order;    // indices sorted by the place of the own center
    std::int32_t* count;    // (k + 1)
};

constexpr std::size_t kPrefetchRows = 6;  // distance between prefetching a row and reading it
constexpr std::size_t kMaxPairs = 1024;   // stored candidates of one panel

struct CandidatePairs {
    std::int32_t lane[kMaxPairs], center[kMaxPairs];
    double square[kMaxPairs];
    std::size_t count;
    std::uint32_t overflowed;  // groups with candidates that were not stored
};

template <class F>
struct BoundScratch {
    OpenRows open_rows;
    CandidatePairs* pairs;
    float *padded, *panel;
    F* gathered;
    unsigned char* sum_scratch;
    std::size_t used;

    BoundScratch(unsigned char* memory, std::size_t n, std::size_t k, std::size_t depth,
                 std::size_t fold_bytes) {
        constexpr std::size_t W = kPanelWidth<float>;
        ScratchArena arena(memory);
        open_rows.row = arena.take<std::int32_t>(n);
        open_rows.groups = arena.take<std::uint32_t>(n);
        open_rows.own = arena.take<double>(n);
        open_rows.order = arena.take<std::int32_t>(n);
        open_rows.count = arena.take<std::int32_t>(k + 1);
        pairs = arena.take<CandidatePairs>(1);
        padded = arena.take<float>(W * depth);
        panel = arena.take<float>(W * (depth + 1));
        gathered = arena.take<F>(W * depth);
        sum_scratch = arena.take<unsigned char>(fold_bytes);
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

// The rows of one call. F: type of the filter rows; R: type of the data.
template <class R, class F>
class BoundedPass {
public:
    BoundedPass(const BookView<float>& filter, const ExactView& exact, const Rows<R>& rows,
                const F* filter_rows, const MotionView& motion, const BoundView& bounds,
                std::int32_t* label, const SumView* sums, unsigned char* memory)
        : filter_(filter), exact_(exact), rows_(rows), filter_rows_(filter_rows), motion_(motion),
          bounds_(bounds), label_(label), sums_(sums), s_(memory, rows.n, exact.k, filter.d, 0),
          accumulator_(sums ? *sums : none_, s_.sum_scratch), tie_share_(tie_share(exact.d)),
          per_exact_(1.0 / (motion.quantum * exact.scale)) {}

    static std::size_t bytes(std::size_t n, std::size_t k, std::size_t d, std::size_t depth) {
        return BoundScratch<F>(nullptr, n, k, depth, RowAccumulator<R>::bytes(d)).used;
    }

    // `whole`: there are no bounds yet, so every row is compared with every group.
    PrunedCounts run(bool whole) {
        const std::size_t open_rows = find_open_rows(whole);
        if (whole)
            for (std::size_t e = 0; e < open_rows; ++e)
                s_.open_rows.order[e] = static_cast<std::int32_t>(e);
        else
            sort_by_center(open_rows);
        counts_.scanned_rows = static_cast<std::int64_t>(open_rows);
        for (std::size_t e = 0; e < open_rows; e += W)
            panel(s_.open_rows.order + e, open_rows - e < W ? open_rows - e : W);
        if (sums_) accumulator_.flush();
        return counts_;
    }

private:
    static constexpr std::size_t W = kPanelWidth<float>;

    const R* row(std::size_t i) const { return rows_.data + i * rows_.d; }

    PARTITA_INLINE void fetch(std::size_t i) const { prefetch_row(row(i), rows_.d); }

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
        const std::size_t n = rows_.n;
        const std::uint32_t every = first_bits(filter_.groups);
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
            if (e + kPrefetchRows < listed)
                fetch(static_cast<std::size_t>(list.row[e + kPrefetchRows]));
            const std::size_t i = static_cast<std::size_t>(list.row[e]);
            const std::size_t a = static_cast<std::size_t>(label[i]);
            const double own = quick_distance(exact_, row(i), a, __builtin_inf());
            list.own[e] = own;
            list.groups[e] = every;
            bounds.upper[i] = quanta_up(__builtin_sqrt(own), per_exact_) - motion.down[a];
        }
        return whole ? listed : filter_by_groups(listed, motion.down);
    }

    // Keeps the listed rows with a group that may hold a nearer center. `travel` is added to the
    // upper bounds.
    std::size_t filter_by_groups(std::size_t listed, const std::int32_t* travel) {
        const BoundView bounds = bounds_;
        const MotionView motion = motion_;
        const std::int32_t* const label = label_;
        const std::size_t groups = filter_.groups;
        const OpenRows list = s_.open_rows;
        std::size_t kept = 0;
        for (std::size_t e = 0; e < listed; ++e) {
            const std::int32_t i = list.row[e];
            const std::int32_t upper = bounds.upper[i] + travel[label[i]];
            BoundTest test =
                test_groups(bounds, motion, groups, static_cast<std::size_t>(i), upper);
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
        alignas(64) float threshold[W], low[W], shared[W], square[W], blur[W], norm[W];
        alignas(64) double best[W];
        std::int32_t at[W], nearest[W];
        std::uint32_t open = 0;
        for (std::size_t r = 0; r < count; ++r) {
            const std::size_t e = static_cast<std::size_t>(listed[r]);
            at[r] = s_.open_rows.row[e];
            best[r] = s_.open_rows.own[e];
            nearest[r] = label_[at[r]];
            open |= s_.open_rows.groups[e];
        }
        pack(at, count, square, norm);
        const double scale = static_cast<double>(filter_.fast_scale);
        const double unit = scale / exact_.scale;
        for (std::size_t r = 0; r < W; ++r) {
            if (r >= count) {
                threshold[r] = -static_cast<float>(__builtin_inf());
                shared[r] = blur[r] = 0;
                continue;
            }
            // A nearer center's score is at most (own² − ‖y‖²) / 2, plus rounding errors.
            const double length = static_cast<double>(norm[r]);
            const double y2 = static_cast<double>(square[r]);
            const double fuzz = motion_.blur * length;
            const double own = __builtin_sqrt(best[r]) * unit * (1 + tie_share_) + fuzz;
            shared[r] = filter_.depth > filter_.d ? 0.0f : norm[r] * filter_.slope[0];
            blur[r] = static_cast<float>(fuzz);
            const double margin =
                length * length * (static_cast<double>(filter_.own_error) + own_gamma()) +
                static_cast<double>(shared[r]);
            const double test_groups = 0.5 * (own * own - y2) + margin;
            threshold[r] =
                static_cast<float>(test_groups + __builtin_fabs(test_groups) * 0x1p-22 + 0x1p-100);
            if (!(length < kMaxFastNorm)) threshold[r] = static_cast<float>(__builtin_inf());
        }
        CandidatePairs& pairs = *s_.pairs;
        pairs.count = pairs.overflowed = 0;
        for (std::uint32_t rest = open; rest; rest &= rest - 1) {
            const std::size_t g = static_cast<std::size_t>(__builtin_ctz(rest));
            scan_group(g, count, threshold, low, at, nearest, best, pairs);
            store_group(g, count, at, low, shared, square, norm, blur);
        }
        set_label(at, count, nearest, best, pairs);
    }

    // Relative error of the float32 ‖y‖².
    double own_gamma() const { return static_cast<double>(filter_.norm_up) - 1.0; }

    void pack(const std::int32_t* at, std::size_t count, float* square, float* norm) {
        const std::size_t d = filter_.d;
        for (std::size_t r = 0; r < W; ++r) {
            const F* x = filter_rows_ + static_cast<std::size_t>(at[r < count ? r : 0]) * d;
            for (std::size_t t = 0; t < d; ++t) s_.gathered[r * d + t] = x[t];
        }
        pack_panel(filter_, s_.gathered, s_.padded, s_.panel, square, norm);
    }

    void scan_group(std::size_t g, std::size_t count, const float* threshold, float* low,
                    const std::int32_t* at, std::int32_t* nearest, double* best,
                    CandidatePairs& pairs) {
        std::uint32_t hits[kTileRows];
        for (std::size_t r = 0; r < W; ++r) low[r] = static_cast<float>(__builtin_inf());
        const std::uint32_t used = first_bits(count);
        for (std::size_t q = filter_.group[g]; q < filter_.group[g + 1]; ++q) {
            const std::size_t first = filter_.first[q];
            const int rows = tile_rows(filter_, q);
            counts_.scanned_pairs += static_cast<std::int64_t>(count) * rows;
            if (!tile_filter_of<float>(rows)(s_.panel, filter_.packed + first * filter_.depth,
                                             filter_.start + first, filter_.depth, threshold, low,
                                             hits))
                continue;
            std::uint32_t hit_lanes = 0;
            for (int r = 0; r < rows; ++r) hit_lanes |= hits[r];
            for (hit_lanes &= used; hit_lanes; hit_lanes &= hit_lanes - 1)
                fetch(static_cast<std::size_t>(at[__builtin_ctz(hit_lanes)]));
            for (int r = 0; r < rows; ++r)
                for (std::uint32_t lanes = hits[r] & used; lanes; lanes &= lanes - 1) {
                    const std::int32_t lane = __builtin_ctz(lanes);
                    const std::int32_t j = filter_.member[first + static_cast<std::size_t>(r)];
                    if (j == label_[at[lane]]) continue;
                    measure_candidate(lane, j, at, nearest, best, pairs);
                }
        }
    }

    // Measures a candidate. All but the nearest become lower bounds of their groups.
    void measure_candidate(std::int32_t lane, std::int32_t j, const std::int32_t* at,
                           std::int32_t* nearest, double* best, CandidatePairs& pairs) {
        ++counts_.candidates;
        const R* x = row(static_cast<std::size_t>(at[lane]));
        const double enough = best[lane] * (1 + tie_share_);
        const double square = quick_distance(exact_, x, static_cast<std::size_t>(j), enough);
        if (pairs.count < kMaxPairs) {
            pairs.lane[pairs.count] = lane;
            pairs.center[pairs.count] = j;
            pairs.square[pairs.count++] = square;
        } else {
            pairs.overflowed |= 1u << motion_.group[j];
        }
        if (square > enough) return;
        if (!(square < best[lane] * (1 - tie_share_))) {
            const double here = exact_distance(exact_, x, static_cast<std::size_t>(j));
            const double there = exact_distance(exact_, x, static_cast<std::size_t>(nearest[lane]));
            if (there < here || (there == here && nearest[lane] < j)) return;
        }
        best[lane] = square;
        nearest[lane] = j;
    }

    void store_group(std::size_t g, std::size_t count, const std::int32_t* at, const float* low,
                     const float* shared, const float* square, const float* norm,
                     const float* blur) {
        const float per =
            static_cast<float>(1.0 / (motion_.quantum * static_cast<double>(filter_.fast_scale))) *
            (1 - 0x1p-20f);
        const float loose = static_cast<float>(own_gamma()) + 0x1p-21f;
        alignas(64) std::int32_t quanta[W];
        for (std::size_t r = 0; r < W; ++r) {
            const float score = low[r] - shared[r];
            const float size = __builtin_fabsf(score);
            float v = square[r] + 2 * score - (norm[r] * norm[r] * loose + size * 0x1p-21f);
            v = v > 0 ? v : 0;
            float far = __builtin_sqrtf(v) - blur[r];
            // centers beyond kMaxFastNorm have no score; they are farther than this
            far = far < static_cast<float>(kMaxFastNorm) ? far : static_cast<float>(kMaxFastNorm);
            float q = far * per;
            q = q > 0 ? q : 0;
            quanta[r] = q < 65535 ? static_cast<std::int32_t>(q) : 65535;
        }
        const std::int32_t down = motion_.group_down[g];
        for (std::size_t r = 0; r < count; ++r)
            bounds_.lower[static_cast<std::size_t>(at[r]) * bounds_.stride + g] =
                to16(quanta[r] + down);
    }

    void lower_to(std::size_t i, std::size_t j, double square) {
        const std::size_t g = static_cast<std::size_t>(motion_.group[j]);
        std::uint16_t& bound = bounds_.lower[i * bounds_.stride + g];
        const std::uint16_t now =
            to16(quanta_down(__builtin_sqrt(square), per_exact_) + motion_.group_down[g]);
        if (now < bound) bound = now;
    }

    void set_label(const std::int32_t* at, std::size_t count, const std::int32_t* nearest,
                   const double* best, const CandidatePairs& pairs) {
        for (std::size_t p = 0; p < pairs.count; ++p)
            if (pairs.center[p] != nearest[pairs.lane[p]])
                lower_to(static_cast<std::size_t>(at[pairs.lane[p]]),
                         static_cast<std::size_t>(pairs.center[p]), pairs.square[p]);
        for (std::size_t r = 0; r < count; ++r) {
            const std::size_t i = static_cast<std::size_t>(at[r]);
            for (std::uint32_t rest = pairs.overflowed; rest; rest &= rest - 1)
                bounds_.lower[i * bounds_.stride + static_cast<std::size_t>(__builtin_ctz(rest))] =
                    0;
            const std::int32_t before = label_[i], now = nearest[r];
            if (now != before) {
                lower_to(i, static_cast<std::size_t>(before),
                         quick_distance(exact_, row(i), static_cast<std::size_t>(before),
                                        __builtin_inf()));
                bounds_.upper[i] =
                    quanta_up(__builtin_sqrt(best[r]), per_exact_) - motion_.down[now];
                if (sums_) accumulator_.push(row(i), i, before, now);
                label_[i] = now;
                ++counts_.moved;
            }
            const std::uint32_t least = test_groups(bounds_, motion_, filter_.groups, i, 0).least;
            bounds_.other[i] = to16(static_cast<std::int32_t>(least) + motion_.all_down);
        }
    }

    const BookView<float>& filter_;
    const ExactView& exact_;
    const Rows<R>& rows_;
    const F* filter_rows_;
    const MotionView& motion_;
    const BoundView& bounds_;
    std::int32_t* label_;
    const SumView* sums_;
    const SumView none_{};
    BoundScratch<F> s_;
    RowAccumulator<R> accumulator_;
    double tie_share_, per_exact_;
    PrunedCounts counts_{};
};

template <class R, class F>
PrunedCounts assign_bounded(const BookView<float>& filter, const ExactView& exact,
                            const Rows<R>& rows, const F* filter_rows, const MotionView& motion,
                            const BoundView& bounds, std::int32_t* label, bool whole,
                            const SumView* sums, unsigned char* memory) {
    return BoundedPass<R, F>(filter, exact, rows, filter_rows, motion, bounds, label, sums, memory)
        .run(whole);
}

}  // namespace partita::PARTITA_ISA
