// The pass over panels of rows with similar margins. A panel is compared with all centers, in the
// tiles of a plain pass, unless no label in it can have changed.
//
// The margin of a row is what its nearest center is nearer than all others: d₂ − d₁. If the own
// center has moved by p and no other by more than q since, the label is the same as long as
// p + q is less than the margin (Hamerly 2010). Rows are sorted by label and margin, so that those
// with little margin share panels, and a panel needs one comparison: of the travel of its label,
// the sum of all p + q, with the travel at which the first of its rows loses its margin.
//
// Margins are lower bounds. With E the error of a score (codebook.hpp), s₁ and s₂ the two lowest,
//
//     d₁² ≤ ‖y‖² + 2(s₁ + 2E)        d₂² ≥ ‖y‖² + 2(s₂ − E)
//
// and the rounding of D64, which defines labels, is covered by 8ε(d₂ + ‖y‖), ε = (d + 8)·2⁻⁵².
// (D64 of a center at distance d is off by at most ε(d² + 2d‖y‖). So labels agree while d₂ − d₁
// exceeds ε(d₁ + d₂ + 2‖y‖): a farther center has a larger error, but a gap that grows faster.)
#pragma once

#include "dense_pass.hpp"

namespace partita::PARTITA_ISA {

// Packs rows to be kept in an order.
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
            if (order[r] < 0) {
                for (std::size_t t = 0; t < d; ++t) s.gathered[r * d + t] = R(0);
                continue;
            }
            const R* x = rows.data + static_cast<std::size_t>(order[r]) * d;
            for (std::size_t t = 0; t < d; ++t) s.gathered[r * d + t] = x[t];
        }
        pack_panel(book, s.gathered, s.padded, packed + p * W * (d + 1), square + p * W, s.norm);
    }
}

template <class R>
class PanelPass {
public:
    PanelPass(const BookView<float>& book, const Rows<R>& rows, const MarginView& view,
              const TravelView& travel, std::int32_t* label, const SumView* sums,
              unsigned char* memory)
        : book_(book), rows_(rows), view_(view), travel_(travel), label_(label), sums_(sums),
          s_(memory, book.d), accumulator_(sums ? *sums : none_, s_.sum_scratch),
          d64_error_(static_cast<float>(margin_error(book.d))),
          norm_error_(2 * static_cast<float>(static_cast<double>(book.norm_up) - 1.0) + 0x1p-20f) {}

    PanelCounts run(std::size_t first, std::size_t last) {
        const std::size_t most = block_points<float>(book_.d) / W;
        std::size_t listed = 0;
        for (std::size_t p = first; p < last; ++p) {
            if (is_safe(p)) continue;
            list_[listed++] = p;
            if (listed < most && listed < kMaxListed) continue;
            scan(listed);
            listed = 0;
        }
        if (listed) scan(listed);
        if (open_.count) recheck();
        add_moved();
        if (sums_) accumulator_.flush();
        return counts_;
    }

private:
    static constexpr std::size_t W = kPanelWidth<float>;
    static constexpr std::size_t kMaxListed = kMaxBlockPoints / W;

    float travel_of(std::int32_t label) const {
        return label < 0 ? travel_.all : travel_.of[label];
    }

    bool is_safe(std::size_t p) const {
        return travel_of(view_.panel_label[p]) + travel_.blur < view_.panel_until[p];
    }

    // Compares the listed panels with all centers.
    void scan(std::size_t listed) {
        const std::size_t stride = W * (book_.d + 1);
        counts_.scanned += static_cast<std::int64_t>(listed);
        auto panel_at = [&](std::size_t e) { return view_.data + list_[e] * stride; };
        for (std::size_t e = 0; e < listed; ++e)
            set_norms(book_, view_.square + list_[e] * W, panel_at(e), s_.norm + e * W);
        sweep_centers(book_, listed, s_, panel_at, [&](std::size_t e, std::size_t tiles) {
            const bool more = e + 1 < listed;
            return Prefetcher(panel_at(more ? e + 1 : e), more ? stride : 0, tiles);
        });
        for (std::size_t e = 0; e < listed; ++e) settle(list_[e], e * W);
    }

    // Labels the rows of a panel, whose scores are in place `at`, and sets their bounds.
    void settle(std::size_t p, std::size_t at) {
        alignas(64) float margin[W];
        alignas(64) std::int32_t own[W];
        const std::int32_t* order = view_.order + p * W;
        float* until = view_.until + p * W;
        alignas(64) float travel[W];
        __builtin_memcpy(own, view_.own + p * W, sizeof(own));
        const float now = travel_of(view_.panel_label[p]);
        for (std::size_t r = 0; r < W; ++r) travel[r] = now;
        if (view_.panel_label[p] < 0)
            for (std::size_t r = 0; r < W; ++r) travel[r] = travel_of(own[r]);
        std::int32_t open = 0;
        for (std::size_t r = 0; r < W; ++r) open += travel[r] + travel_.blur >= until[r];
        counts_.open += open;
        bool settled = true;
        for (std::size_t v = 0; v < W; v += Simd<float>::width)
            settled &= is_settled(book_, s_, at + v, own + v);
        set_margins(p, at, margin);
        if (!settled) {
            label_rows(p, at, order, margin);
            __builtin_memcpy(own, view_.own + p * W, sizeof(own));
            for (std::size_t r = 0; r < W; ++r) travel[r] = travel_of(own[r]);
        }
        // places without a row have the label of the first, and no end to their margin
        float least = __builtin_inff();
        std::int32_t other = 0;
        for (std::size_t r = 0; r < W; ++r) {
            const bool used = order[r] >= 0;
            least = used && margin[r] < least ? margin[r] : least;
            other |= used ? own[r] ^ own[0] : 0;
            until[r] = used ? down(travel[r] + margin[r]) : __builtin_inff();
        }
        view_.panel_label[p] = other ? -1 : own[0];
        view_.panel_until[p] = down((other ? travel_.all : travel[0]) + least);
    }

    static float down(float v) { return v - __builtin_fabsf(v) * 0x1p-22f; }

    void set_margins(std::size_t p, std::size_t at, float* margin) const {
        const float slope = book_.max_slope, slack = book_.max_slack, exact = book_.own_error;
        const float d64 = d64_error_, loose = norm_error_;
        const float far = static_cast<float>(kMaxFastNorm);
        alignas(64) float norm[W], square[W], best[W], second[W];
        __builtin_memcpy(norm, s_.norm + at, sizeof(norm));
        __builtin_memcpy(square, view_.square + p * W, sizeof(square));
        __builtin_memcpy(best, s_.best + at, sizeof(best));
        __builtin_memcpy(second, s_.second + at, sizeof(second));
        for (std::size_t r = 0; r < W; ++r) {
            const float n = norm[r], blur = square[r] * loose;
            const float error = n * slope + slack + n * n * exact;
            float near = square[r] + 2 * (best[r] + 2 * error) + blur;
            near += __builtin_fabsf(best[r]) * 0x1p-20f;
            float next = square[r] + 2 * (second[r] - error) - blur;
            next -= __builtin_fabsf(second[r]) * 0x1p-20f;
            near = near > 0 ? near : 0;
            next = next > 0 ? next : 0;
            next = next < far * far ? next : far * far;  // centers without a score are farther
            const float d1 = __builtin_sqrtf(near) * (1 + 0x1p-21f);
            const float d2 = __builtin_sqrtf(next) * (1 - 0x1p-21f);
            margin[r] = (d2 - d1) - (d64 * (d2 + n) + (d2 + d1) * 0x1p-22f);
        }
    }

    // Labels each row by its scores, or hands it to D64: such a row has no margin.
    void label_rows(std::size_t p, std::size_t at, const std::int32_t* order, float* margin) {
        for (std::size_t r = 0; r < W && order[r] >= 0; ++r) {
            const std::size_t i = static_cast<std::size_t>(order[r]);
            const std::size_t j = static_cast<std::size_t>(s_.nearest[at + r]);
            const float norm = s_.norm[at + r], limit = static_cast<float>(kMaxFastNorm);
            const float error =
                2 * (norm * book_.slope[j] + book_.slack[j] + norm * norm * book_.own_error);
            if (norm < limit && s_.second[at + r] - s_.best[at + r] > error) {
                set_label(p * W + r, i, static_cast<std::int32_t>(j));
                continue;
            }
            margin[r] = -__builtin_inff();
            place_[open_.count] = p * W + r;
            open_.push(i, norm < limit ? s_.best[at + r] + error : __builtin_inff());
            if (open_.count == W) recheck();
        }
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
    Scratch<float, R> s_;
    RowAccumulator<R> accumulator_;
    float d64_error_, norm_error_;
    std::size_t list_[kMaxListed];
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
