// The pass over panels of rows of one label. A panel is compared with those centers that may be nearer
// to one of its rows than their own.
//
// A panel keeps a bound for every center (Elkan 2003, for a panel in place of a row): how much its own
// center is nearer to all of its rows than that center, when the two were last compared. No row has to
// be compared with the center again as long as the two centers together have moved less than this.
// So a panel needs one addition and one comparison for each center, those that may be nearer are
// listed, and tiles read them where they are. With u the distance of the farthest row to the own
// center, and e the least s_j − s_a of all rows, the scores of the two centers,
//
//     d_j − d_a = √(d_a² + 2(s_j − s_a)) − d_a ≥ √(u² + 2e) − u
//
// as this grows with the difference of the scores and falls with d_a. Rows are sorted by label and d_a,
// so that the rows of a panel have similar d_a, and their bound is nearly that of the row that has the
// least. Where distances between centers are known, ‖c_j − c_a‖ − 2u is a bound, too: it spares rows
// that were just sorted most of the comparisons.
//
// If the travel of the farthest other center is less than all these bounds were, a single comparison
// skips the panel.
#pragma once

#include "list_tile.hpp"
#include "panel_margins.hpp"

namespace partita::PARTITA_ISA {

constexpr float kGapRounding = 0x1p-17f;  // far more than the rounding of sums of distances

template <class R>
struct NeighbourScratch : Scratch<float, R> {
    std::int32_t* list;  // (k + a vector) centers to compare a panel with
    float* travel;       // (k + a vector) of each, what it moved itself
    float* least;        // (k + a vector) of each, the least that its scores exceed the own ones by
    float* own_score;    // (kPanelWidth) of the own center

    static std::size_t bytes(std::size_t k, std::size_t d) {
        return NeighbourScratch(nullptr, k, d).used;
    }
    NeighbourScratch(unsigned char* memory, std::size_t k, std::size_t d)
        : Scratch<float, R>(memory, d) {
        ScratchArena arena(memory, this->used);
        list = arena.take<std::int32_t>(gap_stride(k) + 16);
        travel = arena.take<float>(gap_stride(k) + 16);
        least = arena.take<float>(gap_stride(k) + 16);
        own_score = arena.take<float>(kPanelWidth<float>);
        this->used = arena.used();
    }
};

template <class R>
class NeighbourPass {
public:
    NeighbourPass(const BookView<float>& book, const Rows<R>& rows, const NeighbourView& view,
                  std::int32_t* label, const SumView* sums, unsigned char* memory)
        : book_(book), rows_(rows), view_(view), label_(label), sums_(sums),
          s_(memory, book.k, book.d), accumulator_(sums ? *sums : none_, s_.sum_scratch),
          margins_(book) {}

    NeighbourCounts run(std::size_t first, std::size_t last) {
        for (std::size_t p = next_open(first, last); p < last;) {
            const std::size_t after = next_open(p + 1, last);
            compare(p, after < last ? after : p);
            p = after;
        }
        if (open_.count) recheck();
        add_moved();
        if (sums_) accumulator_.flush();
        return counts_;
    }

private:
    using S = Simd<float>;
    static constexpr std::size_t W = kPanelWidth<float>;

    std::size_t next_open(std::size_t p, std::size_t last) const {
        while (p < last && (view_.label[p] < 0 ||
                            view_.travel[view_.label[p]] + view_.blur < view_.panel_until[p]))
            ++p;
        return p;
    }

    void compare(std::size_t p, std::size_t next) {
        const std::size_t a = static_cast<std::size_t>(view_.label[p]);
        const bool by_gap = view_.gap != nullptr;
        float far = by_gap ? measure(p, a) : 0;
        if (by_gap) raise_bounds(p, a, far);
        const std::size_t listed = list_open(p, a);
        if (listed == 0) {
            view_.panel_until[p] = lowered(view_.travel[a] + S::lowest(rest_));
            return;
        }
        if (!by_gap) far = measure(p, a);
        const std::size_t panel_size = W * (book_.d + 1);
        Prefetcher fetch(view_.data + next * panel_size, next == p ? 0 : panel_size,
                         (listed + kListCenters - 1) / kListCenters);
        const PanelErrors error(book_, s_.norm, a);
        bool keeps = !(error.norm < static_cast<float>(kMaxFastNorm));
        auto compare_with = [&]<std::size_t Count>(std::size_t at) {
            fetch.step();
            keeps |= tile_of_list<float, Count>(view_.data + p * panel_size, view_.centers,
                                                view_.start, book_.depth, view_.center_stride,
                                                s_.list + at, s_.own_score, error.enough, s_.best,
                                                s_.second, s_.nearest, s_.least + at);
        };
        std::size_t at = 0;
        for (; at + kFewCenters < listed; at += kListCenters)
            compare_with.template operator()<kListCenters>(at);
        if (at < listed) compare_with.template operator()<kFewCenters>(at);
        set_bounds(p, a, far, error, listed);
        counts_.pairs += static_cast<std::int64_t>((listed + 1) * W);
        counts_.rows += static_cast<std::int64_t>(W);
        view_.panel_until[p] = lowered(view_.travel[a] + S::lowest(rest_));
        if (keeps) settle(p, a);
    }

    // Errors of scores with the rows of a panel; scores are off by up to 2E: see panel_margins.hpp.
    struct PanelErrors {
        float norm = 0;  // the largest of the rows
        float own;       // E of the own center
        float enough;    // a score that exceeds the own one by more is not of the nearest
        PanelErrors(const BookView<float>& book, const float* norms, std::size_t a) {
            for (std::size_t r = 0; r < W; ++r) norm = norms[r] > norm ? norms[r] : norm;
            own = norm * book.slope[a] + book.slack[a] + norm * norm * book.own_error;
            // far more than the rounding of this, and of the same in is_settled() and label_rows()
            enough = norm < static_cast<float>(kMaxFastNorm) ? 2 * own * (1 + kGapRounding)
                                                             : __builtin_inff();
        }
    };

    // Scores of the own center; returns the distance of the farthest row, from above.
    float measure(std::size_t p, std::size_t a) {
        float* panel = view_.data + p * W * (book_.d + 1);
        set_norms(book_, view_.square + p * W, panel, s_.norm);
        const float* center = view_.centers + a * view_.center_stride;
        for (std::size_t v = 0; v < W; v += S::width) {
            S::Reg score = S::set1(book_.start[a]);
            for (std::size_t t = 0; t < book_.depth; ++t)
                score = S::fnmadd(S::set1(center[t]), S::load(panel + t * W + v), score);
            S::store(s_.own_score + v, score);
            S::store(s_.best + v, score);
            S::store(s_.second + v, S::set1(__builtin_inff()));
            S::store_int(s_.nearest + v, S::set1_int(static_cast<std::int32_t>(a)));
        }
        margins_.begin(book_, s_, view_.square + p * W);
        S::Reg nearer = S::set1(0);  // −u
        for (std::size_t v = 0; v < W; v += S::width) {
            const S::Reg away = S::load(margins_.nearest() + v);
            S::store(view_.away + p * W + v, away);
            nearer = S::min(nearer, S::sub(S::set1(0), away));
        }
        return -S::lowest(nearer);
    }

    // Raises the bounds of panel p by the distances between centers.
    void raise_bounds(std::size_t p, std::size_t a, float far) {
        const float* gap = view_.gap + a * view_.stride;
        float* until = view_.until + p * view_.stride;
        const S::Reg own = S::set1(view_.own[a] - 2 * far * (1 + kGapRounding));
        const S::Reg share = S::set1(1 - kGapRounding);
        for (std::size_t j = 0; j < view_.stride; j += S::width) {
            const S::Reg bound =
                S::add(S::mul(S::load(gap + j), share), S::add(own, S::load(view_.own + j)));
            const S::Reg size = S::max(bound, S::sub(S::set1(0), bound));
            const S::Reg low = S::sub(bound, S::mul(size, S::set1(2 * kTravelRounding)));
            S::store(until + j, S::max(low, S::load(until + j)));  // NaN: as it was
        }
    }

    // Lists the centers whose bounds for panel p do not hold, and the one far away to fill a tile; keeps
    // the least that is left of the others.
    std::size_t list_open(std::size_t p, std::size_t a) {
        const float* until = view_.until + p * view_.stride;
        const S::Reg own = S::set1(view_.own[a] + view_.blur), none = S::set1(0);
        rest_ = S::set1(__builtin_inff());
        std::size_t listed = 0;
        for (std::size_t j = 0; j < view_.stride; j += S::width) {
            const S::Reg travel = S::load(view_.own + j);
            const S::Reg left = S::sub(S::load(until + j), S::add(own, travel));
            const S::Mask holds = S::less(none, left);
            rest_ = S::min_where(holds, rest_, left);
            const std::uint32_t bits = ~S::bits(holds) & first_bits(S::width);
            if (!bits) continue;
            compress_numbers(static_cast<std::int32_t>(j), bits, s_.list + listed);
            compress(view_.own + j, bits, s_.travel + listed);
            listed += static_cast<std::size_t>(__builtin_popcount(bits));
        }
        for (std::size_t e = listed; e < listed + S::width; ++e) {
            s_.list[e] = static_cast<std::int32_t>(book_.k);
            s_.travel[e] = 0;
        }
        return listed;
    }

    // Sets the bounds of panel p to the listed centers by their scores.
    void set_bounds(std::size_t p, std::size_t a, float far, const PanelErrors& error,
                    std::size_t listed) {
        alignas(64) float bounds[S::width];
        const S::Reg none = S::set1(0), own = S::set1(view_.own[a]), square = S::set1(far * far);
        const S::Reg u = S::set1(far * (1 + kGapRounding)), down = S::set1(1 - kGapRounding);
        const S::Reg shared = S::set1(error.own + error.norm * error.norm * book_.own_error);
        float* until = view_.until + p * view_.stride;
        for (std::size_t at = 0; at < listed; at += S::width) {
            const std::size_t count = listed - at < S::width ? listed - at : S::width;
            const S::Reg errors = S::add(shared, errors_of_list(error.norm, at, count));
            const S::Reg gain = S::sub(S::load(s_.least + at), S::mul(S::set1(4), errors));
            // NaN: 0, and a bound of no more than the present travel does not hold
            const S::Reg far_square = S::max(S::add(square, S::add(gain, gain)), none);
            const S::Reg margin = S::max(S::sub(S::mul(S::sqrt(far_square), down), u), none);
            rest_ = S::min(rest_, margin);
            const S::Reg bound = S::add(S::add(own, S::load(s_.travel + at)), margin);
            S::store(bounds, S::sub(bound, S::mul(bound, S::set1(kTravelRounding))));
            for (std::size_t e = 0; e < count; ++e) until[s_.list[at + e]] = bounds[e];
        }
    }

    // Errors E of a vector of listed centers, but for the part that is the same for all.
    S::Reg errors_of_list(float norm, std::size_t at, std::size_t count) const {
        if (book_.depth == book_.d) return S::set1(norm * book_.max_slope + book_.max_slack);
        alignas(64) float error[S::width] = {};
        for (std::size_t e = 0; e < count; ++e) {
            const std::size_t j = static_cast<std::size_t>(s_.list[at + e]);
            error[e] = norm * book_.slope[j] + book_.slack[j];
        }
        return S::load(error);
    }

    // Labels the rows of panel p by the scores.
    void settle(std::size_t p, std::size_t a) {
        alignas(64) std::int32_t place[W];
        for (std::size_t r = 0; r < W; ++r) place[r] = static_cast<std::int32_t>(a);
        bool settled = true;
        for (std::size_t v = 0; v < W; v += S::width)
            settled &= is_settled(book_, s_, v, place + v);
        if (!settled) label_rows(p);
    }

    void label_rows(std::size_t p) {
        const std::int32_t* order = view_.order + p * W;
        for (std::size_t r = 0; r < W; ++r) {
            if (order[r] < 0) continue;
            const std::size_t i = static_cast<std::size_t>(order[r]);
            const std::size_t at = static_cast<std::size_t>(s_.nearest[r]);
            const float norm = s_.norm[r], limit = static_cast<float>(kMaxFastNorm);
            const float error =
                2 * (norm * book_.slope[at] + book_.slack[at] + norm * norm * book_.own_error);
            if (norm < limit && s_.second[r] - s_.best[r] > error) {
                set_label(p, i, static_cast<std::int32_t>(at), kMoved);
                continue;
            }
            panel_[open_.count] = p;
            open_.push(i, norm < limit ? s_.best[r] + error : __builtin_inff());
            if (open_.count == W) recheck();
        }
    }

    void recheck() {
        decide_by_d64(book_, rows_.data, open_, s_.gathered, s_.padded, s_.panel, s_.exact);
        for (std::size_t r = 0; r < open_.count; ++r)
            set_label(panel_[r], open_.row[r], open_.label[r], kMovedByD64);
        counts_.rechecked += static_cast<std::int64_t>(open_.count);
        open_.count = 0;
    }

    void set_label(std::size_t p, std::size_t i, std::int32_t now, PanelChange change) {
        const std::int32_t before = label_[i];
        if (before == now) return;
        label_[i] = now;
        if (view_.changed[p] < change) view_.changed[p] = change;
        ++counts_.moved;
        if (!sums_) return;
        // rows are not in the order of memory: they are added when they have arrived
        prefetch_row(rows_.data + i * rows_.d, rows_.d);
        moved_[waiting_++] = {i, before, now};
        if (waiting_ == kMaxWaiting) add_moved();
    }

    void add_moved() {
        for (std::size_t e = 0; e < waiting_; ++e)
            accumulator_.push(rows_.data + moved_[e].row * rows_.d, moved_[e].row, moved_[e].from,
                              moved_[e].to);
        waiting_ = 0;
    }

    struct Move {
        std::size_t row;
        std::int32_t from, to;
    };
    static constexpr std::size_t kMaxWaiting = 16;

    const BookView<float>& book_;
    const Rows<R>& rows_;
    NeighbourView view_;
    std::int32_t* label_;
    const SumView* sums_;
    const SumView none_{};
    NeighbourScratch<R> s_;
    RowAccumulator<R> accumulator_;
    PanelMargins margins_;
    S::Reg rest_;  // what is left of the margins of the present panel to other centers
    RecheckPanel<float> open_;
    std::size_t panel_[W];  // of the rows in open_
    Move moved_[kMaxWaiting];
    std::size_t waiting_ = 0;
    NeighbourCounts counts_{};
};

// Labels the rows of panels first … last − 1.
template <class R>
NeighbourCounts assign_neighbours(const BookView<float>& book, const Rows<R>& rows,
                                  const NeighbourView& view, std::size_t first, std::size_t last,
                                  std::int32_t* label, const SumView* sums, unsigned char* memory) {
    return NeighbourPass<R>(book, rows, view, label, sums, memory).run(first, last);
}

// Lowers bounds (stride) of a panel to those of a row from another, whose own center moved `way` more
// or less. Where they are NaN, they stay as they are.
inline void lower_bounds(float* until, const float* theirs, float way, std::size_t stride) {
    using S = Simd<float>;
    for (std::size_t j = 0; j < stride; j += S::width) {
        const S::Reg bound = S::add(S::load(theirs + j), S::set1(way));
        const S::Reg size = S::max(bound, S::sub(S::set1(0), bound));
        const S::Reg low = S::sub(bound, S::mul(size, S::set1(4 * kTravelRounding)));
        S::store(until + j, S::min(low, S::load(until + j)));
    }
}

// Memory of center_gaps.
struct GapScratch {
    float *panel, *square, *norm, *score;
    std::size_t used;

    static std::size_t bytes(std::size_t d) { return GapScratch(nullptr, d).used; }
    GapScratch(unsigned char* memory, std::size_t d) {
        constexpr std::size_t W = kPanelWidth<float>;
        ScratchArena arena(memory);
        panel = arena.take<float>(W * (d + 1));
        square = arena.take<float>(W);
        norm = arena.take<float>(W);
        score = arena.take<float>(kTileRows * W);
        used = arena.used();
    }
};

// Sets columns first … first + kPanelWidth − 1 of gap, (k, stride): the distances between those
// centers and all others, from below; infinity for a center to itself. Centers are compared
// as rows are: see panel_margins.hpp for the error of their scores.
inline void center_gaps(const BookView<float>& book, const float* centers,
                        std::size_t center_stride, std::size_t first, float* gap,
                        std::size_t stride, unsigned char* memory) {
    using S = Simd<float>;
    constexpr std::size_t W = kPanelWidth<float>;
    const GapScratch s(memory, book.d);
    const std::size_t rows = book.k - first < W ? book.k - first : W;
    for (std::size_t r = 0; r < W; ++r) {
        const float* c = centers + (first + (r < rows ? r : 0)) * center_stride;
        float square = 0;
        for (std::size_t t = 0; t < book.d; ++t) {
            s.panel[t * W + r] = c[t];
            square += c[t] * c[t];
        }
        s.square[r] = square;
    }
    set_norms(book, s.square, s.panel, s.norm);
    const bool uniform = book.depth == book.d;  // scores do not include slope·norm
    // twice the errors of panel_margins.hpp, for the rounding of the center that is in place of a row
    const float loose = 4 * (book.norm_up - 1) + 0x1p-19f;
    alignas(64) float base[W];
    for (std::size_t r = 0; r < W; ++r) {
        const float exact = s.norm[r] * s.norm[r] * book.own_error;
        base[r] = r < rows ? s.square[r] * (1 - loose) - 4 * exact : __builtin_inff();
    }
    for (std::size_t q = 0; q < book.tiles; ++q) {
        const std::size_t j = book.first[q], count = book.first[q + 1] - j;
        tile_out_of<float>(static_cast<int>(count))(s.panel, book.packed + j * book.depth,
                                                    book.start + j, book.depth, s.score);
        for (std::size_t r = 0; r < count; ++r) {
            const float slope = (uniform ? 8.0f : 4.0f) * book.slope[j + r];
            const float slack = 4 * book.slack[j + r];
            for (std::size_t v = 0; v < W; v += S::width) {
                const S::Reg score = S::load(s.score + r * W + v), two = S::set1(2);
                const S::Reg size = S::max(score, S::sub(S::set1(0), score));
                const S::Reg error =
                    S::add(S::mul(S::load(s.norm + v), S::set1(slope)), S::set1(slack));
                S::Reg low = S::add(S::sub(S::load(base + v), error), S::mul(two, score));
                low = S::sub(low, S::mul(size, S::set1(loose)));
                S::store(gap + (j + r) * stride + first + v,
                         S::sqrt(S::max(low, S::set1(0))));  // NaN: 0
            }
        }
    }
    for (std::size_t r = 0; r < rows; ++r) gap[(first + r) * stride + first + r] = __builtin_inff();
}

}  // namespace partita::PARTITA_ISA
