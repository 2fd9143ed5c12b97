// The pass over panels of rows with similar margins. A panel is compared, in the tiles of a plain
// pass, with those groups of centers that may hold a nearer one for any of its rows.
//
// The margin of a row to a group of centers is what its nearest center is nearer than all others of
// the group: d₂ − d₁. If the own center has moved by p and none of the group by more than q since,
// no center of the group is nearer as long as p + q is less than the margin (Hamerly 2010, with one
// group; Ding et al. 2015). Rows are sorted by label and margin, so that those with little margin
// share panels. A panel then needs one comparison for each group: of p + q, added over all passes
// (the travel), with the travel at which the first of its rows loses its margin. If the travel of
// the farthest other center is less than all these, a single comparison skips the panel.
//
// A row that gets another label keeps its margins to groups that were not compared: the new center
// is nearer than the old one was. That is not certain if D64 decided, so such a row has no margin.
#pragma once

#include "panel_margins.hpp"

namespace partita::PARTITA_ISA {

// Packs rows to be kept in an order. The first row of the last panel fills its unused places: their
// margins then need no care.
template <class R>
void keep_in_order(const BookView<float>& book, const Rows<R>& rows, const std::int32_t* order,
                   std::size_t panels, float* packed, float* square, unsigned char* memory) {
    constexpr std::size_t W = kPanelWidth<float>, kAhead = 2;  // panels to prefetch
    const Scratch<float, R> s(memory, rows.d);
    const std::size_t d = rows.d;
    for (std::size_t p = 0; p < panels; ++p, order += W) {
        for (std::size_t r = 0; r < W; ++r) {
            if (p + kAhead < panels && order[kAhead * W + r] >= 0)
                prefetch_row(rows.data + static_cast<std::size_t>(order[kAhead * W + r]) * d, d);
            const std::int32_t i = order[r] < 0 ? order[0] : order[r];
            const R* x = rows.data + static_cast<std::size_t>(i) * d;
            for (std::size_t t = 0; t < d; ++t) s.gathered[r * d + t] = x[t];
        }
        pack_panel(book, s.gathered, s.padded, packed + p * W * (d + 1), square + p * W, s.norm);
    }
}

// Memory of a pass: that of plain passes, and that of one panel's groups.
template <class R>
struct PanelScratch : Scratch<float, R> {
    float* group_low;            // (groups, kPanelWidth) lowest score of each row there
    float* left;                 // (groups) what is left of the panel's margin
    std::uint32_t* open_groups;  // (groups) those that it is compared with
    std::uint32_t* slot;         // (groups) place of such a group in the list

    static std::size_t bytes(std::size_t d, std::size_t groups) {
        return PanelScratch(nullptr, d, groups).used;
    }

    PanelScratch(unsigned char* memory, std::size_t d, std::size_t groups)
        : Scratch<float, R>(memory, d) {
        ScratchArena arena(memory, this->used);
        group_low = arena.take<float>(groups * kPanelWidth<float>);
        left = arena.take<float>(margin_stride(groups));
        open_groups = arena.take<std::uint32_t>(groups);
        slot = arena.take<std::uint32_t>(groups);
        this->used = arena.used();
    }
};

template <class R>
class PanelPass {
public:
    PanelPass(const BookView<float>& book, const Rows<R>& rows, const MarginView& view,
              const TravelView& travel, std::int32_t* label, const SumView* sums,
              unsigned char* memory)
        : book_(book), rows_(rows), view_(view), travel_(travel), label_(label), sums_(sums),
          s_(memory, book.d, book.groups), accumulator_(sums ? *sums : none_, s_.sum_scratch),
          margins_(book) {}

    PanelCounts run(std::size_t first, std::size_t last) {
        for (std::size_t p = next_open(first, last); p < last;) {
            const std::size_t after = next_open(p + 1, last);
            if (choose_groups(p)) {
                compare(p, after < last ? after : p);
                settle(p);
            }
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

    static constexpr float kChosen = 0x1p100f;  // beyond all margins

    float travel_of(std::int32_t label) const {
        return label < 0 ? travel_.all : travel_.of[label];
    }
    float own_travel_of(std::int32_t label) const {
        return label < 0 ? travel_.own_all : travel_.own[label];
    }

    std::size_t next_open(std::size_t p, std::size_t last) const {
        while (p < last && travel_of(view_.panel_label[p]) + travel_.blur < view_.panel_until[p])
            ++p;
        return p;
    }

    // Lists the groups to compare panel p with: none, if no margin is used up.
    bool choose_groups(std::size_t p) {
        rest_ = __builtin_inff();
        chosen_ = 0;
        const std::size_t groups = book_.groups;
        if (groups == 1) {
            s_.open_groups[chosen_++] = 0;
            return true;
        }
        const std::size_t stride = margin_stride(groups);
        const std::int32_t label = view_.panel_label[p];
        const S::Reg own = S::set1(own_travel_of(label) + travel_.blur), none = S::set1(0);
        const float *until = view_.group_until + p * stride, *travel = travel_.group;
        S::Reg rest = S::set1(rest_);
        std::uint32_t any = 0;
        for (std::size_t g = 0; g < stride; g += S::width) {
            const S::Reg left =
                S::sub(S::load_any(until + g), S::add(S::load_any(travel + g), own));
            const S::Mask holds = S::less(none, left);
            rest = S::min_where(holds, rest, left);
            any |= ~S::bits(holds) & groups_from(g);
            S::store(s_.left + g, left);
        }
        rest_ = S::lowest(rest);
        if (!any) {
            view_.panel_until[p] = lowered(travel_of(label) + rest_);
            return false;
        }
        // the groups of own centers come first: the tiles of the others are quicker then
        const std::int32_t* owns = view_.own + p * W;
        for (std::size_t r = 0; r < (label < 0 ? W : 1); ++r) {
            const std::int32_t g = owns[r] < 0 ? -1 : view_.group[owns[r]];
            if (g < 0 || s_.left[g] == kChosen) continue;
            s_.left[g] = kChosen;
            choose(static_cast<std::size_t>(g));
        }
        for (std::size_t g = 0; g < stride; g += S::width) {
            std::uint32_t open = ~S::bits(S::less(none, S::load(s_.left + g))) & groups_from(g);
            for (; open; open &= open - 1)
                choose(g + static_cast<std::size_t>(__builtin_ctz(open)));
        }
        return true;
    }

    // One bit for each group from g on that is in a vector: travel may be NaN in the padding.
    std::uint32_t groups_from(std::size_t g) const {
        const std::size_t more = g < book_.groups ? book_.groups - g : 0;
        return first_bits(more < S::width ? more : S::width);
    }

    void choose(std::size_t g) {
        s_.slot[g] = static_cast<std::uint32_t>(chosen_);
        s_.open_groups[chosen_++] = static_cast<std::uint32_t>(g);
    }

    // Scores of the chosen groups. `next`: the panel after this, or this if it is the last.
    void compare(std::size_t p, std::size_t next) {
        const std::size_t stride = W * (book_.d + 1), depth = book_.depth;
        float* panel = view_.data + p * stride;
        set_norms(book_, view_.square + p * W, panel, s_.norm);
        for (std::size_t r = 0; r < W; ++r) {
            s_.best[r] = s_.second[r] = __builtin_inff();
            s_.nearest[r] = 0;
        }
        const std::size_t tiles = book_.groups == 1 ? book_.tiles : chosen_;
        Prefetcher fetch(view_.data + next * stride, next == p ? 0 : stride, tiles);
        prefetch_bounds(next);
        std::size_t centers = 0;
        for (std::size_t e = 0; e < chosen_; ++e) {
            const std::size_t g = s_.open_groups[e];
            float* low = s_.group_low + e * W;
            for (std::size_t r = 0; r < W; ++r) low[r] = __builtin_inff();
            for (std::size_t q = book_.group[g]; q < book_.group[g + 1]; ++q) {
                fetch.step();
                const std::size_t first = book_.first[q], size = book_.first[q + 1] - first;
                const float *packed = book_.packed + first * depth, *start = book_.start + first;
                const std::int64_t place = static_cast<std::int64_t>(first);
                if (book_.groups == 1)
                    tile_of<float>(static_cast<int>(size))(panel, packed, start, depth, place,
                                                           s_.best, s_.second, s_.nearest);
                else
                    tile_with_low_of<float>(static_cast<int>(size))(
                        panel, packed, start, depth, place, s_.best, s_.second, s_.nearest, low);
                centers += size;
            }
        }
        pairs_ = static_cast<std::int64_t>(centers);
        counts_.pairs += pairs_ * static_cast<std::int64_t>(W);
    }

    void prefetch_bounds(std::size_t p) const {
        __builtin_prefetch(view_.square + p * W);
        __builtin_prefetch(view_.own + p * W);
        __builtin_prefetch(view_.until + p * W, 1);
        const std::size_t groups = book_.groups == 1 ? 0 : margin_stride(book_.groups);
        for (std::size_t g = 0; g < groups; g += 16)
            __builtin_prefetch(view_.group_until + p * groups + g, 1);
    }

    // Labels the rows of panel p by the scores, and sets its bounds.
    void settle(std::size_t p) {
        alignas(64) float margin[W], travel[W];
        const std::int32_t before = view_.panel_label[p];
        set_travel(p, travel);
        if (book_.groups == 1) count_open(p, travel);
        margins_.begin(book_, s_, view_.square + p * W);
        margins_.set(s_.second, margin);
        bool certain = true;
        const bool settled = is_settled(p);
        if (!settled) {
            certain = label_rows(p, margin);
            view_.panel_label[p] = common_label(view_.order + p * W, view_.own + p * W);
            set_travel(p, travel);
        }
        S::Reg least = S::set1(rest_);
        for (std::size_t v = 0; v < W; v += S::width) {
            const S::Reg left = S::min(S::load(margin + v), S::set1(rest_));
            const S::Reg until = S::add(S::load(travel + v), left);
            const S::Reg size = S::max(until, S::sub(S::set1(0), until));
            S::store(margin + v, S::sub(until, S::mul(size, S::set1(kTravelRounding))));
            least = S::min(least, left);
        }
        __builtin_memcpy(view_.until + p * W, margin, sizeof(margin));
        view_.panel_until[p] = lowered(travel_of(view_.panel_label[p]) + S::lowest(least));
        if (book_.groups > 1) set_group_bounds(p, before, settled, certain);
    }

    // True if the scores prove that every row keeps its label.
    bool is_settled(std::size_t p) const {
        const std::int32_t label = view_.panel_label[p], *own = view_.own + p * W;
        alignas(64) std::int32_t place[W];
        for (std::size_t r = 0; r < W; ++r) {
            const std::int32_t now = label < 0 ? own[r] : label;
            place[r] = now < 0 ? -1 : view_.place[now];
        }
        for (std::size_t r = rows_in(p); r < W; ++r) place[r] = s_.nearest[r];
        bool settled = true;
        for (std::size_t v = 0; v < W; v += S::width)
            settled &= PARTITA_ISA::is_settled(book_, s_, v, place + v);
        return settled;
    }

    std::size_t rows_in(std::size_t p) const { return p + 1 < view_.panels ? W : view_.last_rows; }

    // The label of all rows of a panel; −1 if they differ.
    static std::int32_t common_label(const std::int32_t* order, const std::int32_t* own) {
        bool same = true;
        for (std::size_t r = 1; r < W; ++r) same &= order[r] < 0 || own[r] == own[0];
        return same ? own[0] : -1;
    }

    void set_travel(std::size_t p, float* travel) const {
        const std::int32_t label = view_.panel_label[p], *own = view_.own + p * W;
        for (std::size_t r = 0; r < W; ++r) travel[r] = travel_of(label);
        if (label < 0)
            for (std::size_t r = 0; r < W; ++r) travel[r] = travel_of(own[r]);
    }

    void count_open(std::size_t p, const float* travel) {
        int held = 0;
        for (std::size_t v = 0; v < W; v += S::width) {
            const S::Reg now = S::add(S::load(travel + v), S::set1(travel_.blur));
            held += __builtin_popcount(S::bits(S::less(now, S::load_any(view_.until + p * W + v))));
        }
        counts_.open_pairs += (static_cast<std::int64_t>(W) - held) * pairs_;
    }

    // settled: no label has changed; certain: none was left to D64
    void set_group_bounds(std::size_t p, std::int32_t before, bool settled, bool certain) {
        const std::size_t stride = margin_stride(book_.groups);
        const std::int32_t now = view_.panel_label[p];
        float* until = view_.group_until + p * stride;
        if (!certain) {
            for (std::size_t g = 0; g < book_.groups; ++g) until[g] = -__builtin_inff();
            return;
        }
        const float travel = own_travel_of(now);
        if (now != before) {  // bounds of the other groups follow the travel of another label
            const float was = own_travel_of(before);
            for (std::size_t g = 0; g < book_.groups; ++g)
                until[g] =
                    lowered(travel_.group[g] + travel + (until[g] - (travel_.group[g] + was)));
        }
        // in the group of the nearest center, the second lowest score counts
        if (settled && now >= 0) {
            float* low = s_.group_low + s_.slot[view_.group[now]] * W;
            for (std::size_t r = 0; r < W; ++r) low[r] = s_.second[r];
        } else {
            for (std::size_t r = 0; r < rows_in(p); ++r) {
                const std::int32_t g = view_.group[book_.member[s_.nearest[r]]];
                s_.group_low[s_.slot[g] * W + r] = s_.second[r];
            }
        }
        for (std::size_t e = 0; e < chosen_; ++e) {
            const std::size_t g = s_.open_groups[e];
            float* low = s_.group_low + e * W;
            until[g] = lowered(travel + travel_.group[g] + margins_.set(low, low));
        }
    }

    // Labels each row by its scores, or hands it to D64: such a row has no margin. Returns true if
    // there is none.
    bool label_rows(std::size_t p, float* margin) {
        const std::int32_t* order = view_.order + p * W;
        bool certain = true;
        for (std::size_t r = 0; r < W && order[r] >= 0; ++r) {
            const std::size_t i = static_cast<std::size_t>(order[r]);
            const std::size_t at = static_cast<std::size_t>(s_.nearest[r]);
            const float norm = s_.norm[r], limit = static_cast<float>(kMaxFastNorm);
            const float error =
                2 * (norm * book_.slope[at] + book_.slack[at] + norm * norm * book_.own_error);
            if (norm < limit && s_.second[r] - s_.best[r] > error) {
                set_label(p * W + r, i, book_.member[at]);
                continue;
            }
            certain = false;
            margin[r] = -__builtin_inff();
            place_[open_.count] = p * W + r;
            open_.push(i, norm < limit ? s_.best[r] + error : __builtin_inff());
            if (open_.count == W) recheck();
        }
        return certain;
    }

    void recheck() {
        decide_by_d64(book_, rows_.data, open_, s_.gathered, s_.padded, s_.panel, s_.exact);
        for (std::size_t r = 0; r < open_.count; ++r)
            set_label(place_[r], open_.row[r], open_.label[r]);
        counts_.rechecked += static_cast<std::int64_t>(open_.count);
        open_.count = 0;
    }

    void set_label(std::size_t place, std::size_t i, std::int32_t now) {
        const std::int32_t before = view_.own[place];
        if (before == now) return;
        view_.own[place] = label_[i] = now;
        view_.panel_label[place / W] = -1;  // D64 may decide after the panel was settled
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
    MarginView view_;
    TravelView travel_;
    std::int32_t* label_;
    const SumView* sums_;
    const SumView none_{};
    PanelScratch<R> s_;
    RowAccumulator<R> accumulator_;
    PanelMargins margins_;
    std::size_t chosen_ = 0;  // groups that the present panel is compared with
    float rest_ = 0;          // what is left of its margins to the others
    std::int64_t pairs_ = 0;  // centers in the chosen groups
    RecheckPanel<float> open_;
    std::size_t place_[W];  // of the rows in open_
    Move moved_[kMaxWaiting];
    std::size_t waiting_ = 0;
    PanelCounts counts_{};
};

// Labels the rows of panels first … last − 1.
template <class R>
PanelCounts assign_panels(const BookView<float>& book, const Rows<R>& rows, const MarginView& view,
                          const TravelView& travel, std::size_t first, std::size_t last,
                          std::int32_t* label, const SumView* sums, unsigned char* memory) {
    return PanelPass<R>(book, rows, view, travel, label, sums, memory).run(first, last);
}

}  // namespace partita::PARTITA_ISA
