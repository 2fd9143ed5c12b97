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

#include "panel_margins.hpp"

namespace partita::PARTITA_ISA {

constexpr float kGapRounding = 0x1p-17f;  // far more than the rounding of sums of distances

template <class R>
struct NeighbourScratch : Scratch<float, R> {
    std::int32_t* list;  // (k + a vector) centers to compare a panel with
    float* least;        // (k + a vector) for each the least that its scores exceed the own ones by
    float* own_score;    // (kPanelWidth) of the own center

    static std::size_t bytes(std::size_t k, std::size_t d) {
        return NeighbourScratch(nullptr, k, d).used;
    }
    NeighbourScratch(unsigned char* memory, std::size_t k, std::size_t d)
        : Scratch<float, R>(memory, d) {
        ScratchArena arena(memory, this->used);
        list = arena.take<std::int32_t>(gap_stride(k) + 16);
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
            view_.panel_until[p] = lowered(view_.travel[a] + rest_);
            return;
        }
        if (!by_gap) far = measure(p, a);
        const std::size_t panel_size = W * (book_.d + 1);
        const std::size_t tiles = (listed + kTileRows - 1) / kTileRows;
        Prefetcher fetch(view_.data + next * panel_size, next == p ? 0 : panel_size, tiles);
        for (std::size_t q = 0, at = 0; q < tiles; ++q) {
            fetch.step();
            const std::size_t size = listed / tiles + (q < listed % tiles);
            tile_of_list_of<float>(static_cast<int>(size))(
                view_.data + p * panel_size, view_.centers, book_.start, book_.depth, s_.list + at,
                s_.own_score, s_.best, s_.second, s_.nearest, s_.least + at);
            at += size;
        }
        counts_.pairs += static_cast<std::int64_t>((listed + 1) * W);
        counts_.rows += static_cast<std::int64_t>(W);
        set_bounds(p, a, far, listed);
        settle(p, a);
    }

    // Scores of the own center; returns the distance of the farthest row, from above.
    float measure(std::size_t p, std::size_t a) {
        float* panel = view_.data + p * W * (book_.d + 1);
        set_norms(book_, view_.square + p * W, panel, s_.norm);
        for (std::size_t r = 0; r < W; ++r) {
            s_.best[r] = s_.second[r] = __builtin_inff();
            s_.nearest[r] = static_cast<std::int32_t>(a);
        }
        tile<float, 1>(panel, view_.centers + a * book_.depth, book_.start + a, book_.depth,
                       static_cast<std::int64_t>(a), s_.best, s_.second, s_.nearest);
        __builtin_memcpy(s_.own_score, s_.best, W * sizeof(float));
        margins_.begin(book_, s_, view_.square + p * W);
        float* away = view_.away + p * W;
        S::Reg nearer = S::set1(0);  // −u
        for (std::size_t v = 0; v < W; v += S::width) {
            const S::Reg u = S::load(margins_.nearest() + v);
            S::store(away + v, u);
            nearer = S::min(nearer, S::sub(S::set1(0), u));
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

    // Lists the centers whose bounds for panel p do not hold; keeps the least that is left of the
    // others.
    std::size_t list_open(std::size_t p, std::size_t a) {
        const float* until = view_.until + p * view_.stride;
        const S::Reg own = S::set1(view_.own[a] + view_.blur), none = S::set1(0);
        S::Reg rest = S::set1(__builtin_inff());
        std::size_t listed = 0;
        for (std::size_t j = 0; j < view_.stride; j += S::width) {
            const S::Reg left = S::sub(S::load(until + j), S::add(own, S::load(view_.own + j)));
            const S::Mask holds = S::less(none, left);
            rest = S::min_where(holds, rest, left);
            const std::uint32_t bits = ~S::bits(holds) & first_bits(S::width);
            if (!bits) continue;
            compress_numbers(static_cast<std::int32_t>(j), bits, s_.list + listed);
            listed += static_cast<std::size_t>(__builtin_popcount(bits));
        }
        rest_ = S::lowest(rest);
        return listed;
    }

    // Sets the bounds of panel p to the listed centers by their scores.
    void set_bounds(std::size_t p, std::size_t a, float far, std::size_t listed) {
        float norm = 0;
        for (std::size_t r = 0; r < W; ++r) norm = s_.norm[r] > norm ? s_.norm[r] : norm;
        // scores are off by up to 2E each: see panel_margins.hpp
        auto error_of = [&](std::size_t j) {
            return norm * book_.slope[j] + book_.slack[j] + norm * norm * book_.own_error;
        };
        const float own_error = error_of(a);
        for (std::size_t e = 0; e < listed; ++e)
            s_.least[e] -= 4 * (own_error + error_of(static_cast<std::size_t>(s_.list[e])));
        const S::Reg none = S::set1(0);
        const S::Reg u = S::set1(far * (1 + kGapRounding)), square = S::set1(far * far);
        for (std::size_t e = 0; e < listed; e += S::width) {
            const S::Reg gain = S::load(s_.least + e);
            const S::Reg far_square = S::max(S::add(square, S::add(gain, gain)), none);  // NaN: 0
            const S::Reg margin = S::sub(S::mul(S::sqrt(far_square), S::set1(1 - kGapRounding)), u);
            S::store(s_.least + e, margin);
        }
        float* until = view_.until + p * view_.stride;
        for (std::size_t e = 0; e < listed; ++e) {
            const std::size_t j = static_cast<std::size_t>(s_.list[e]);
            // NaN: none
            const float margin = s_.least[e] > 0 ? s_.least[e] : -__builtin_inff();
            until[j] = lowered(view_.own[a] + view_.own[j] + margin);
            rest_ = margin < rest_ ? margin : rest_;
        }
        view_.panel_until[p] = lowered(view_.travel[a] + rest_);
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
    float rest_ = 0;  // what is left of the margins of the present panel to other centers
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
inline void center_gaps(const BookView<float>& book, const float* centers, std::size_t first,
                        float* gap, std::size_t stride, unsigned char* memory) {
    using S = Simd<float>;
    constexpr std::size_t W = kPanelWidth<float>;
    const GapScratch s(memory, book.d);
    const std::size_t rows = book.k - first < W ? book.k - first : W;
    for (std::size_t r = 0; r < W; ++r) {
        const float* c = centers + (first + (r < rows ? r : 0)) * book.depth;
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
