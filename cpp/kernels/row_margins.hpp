// The order of rows by their margins, and the bounds of their panels. See panel_pass.hpp.
#pragma once

#include <cstring>
#include <span>

#include "kept_panels.hpp"

namespace partita {

// How far centers have moved since the first call, from above, added over all calls.
class CenterTravel {
public:
    // group: (k) of each center
    CenterTravel(std::vector<std::int32_t> group, std::size_t groups)
        : group_of_(std::move(group)), total_(group_of_.size() + 1, 0.0),
          own_(group_of_.size() + 1, 0.0), group_(groups, 0.0), moved_(group_of_.size()),
          farthest_(groups) {}

    // Adds the way from the last centers to these; false if it cannot be told.
    bool follow(const ExactView& now) {
        const std::size_t k = now.k, d = now.d;
        const bool known = centers_.size() == k * d && scale_ == now.scale;
        if (known) add_way(now);
        centers_.assign(now.centers, now.centers + k * d);
        origin_.assign(now.origin, now.origin + d);
        scale_ = now.scale;
        return known;
    }
    bool is_at(const ExactView& now) const {
        return centers_.size() == now.k * now.d && scale_ == now.scale &&
               std::equal(centers_.begin(), centers_.end(), now.centers) &&
               std::equal(origin_.begin(), origin_.end(), now.origin);
    }
    void reset() {
        for (std::vector<double>* totals : {&total_, &own_, &group_})
            std::fill(totals->begin(), totals->end(), 0.0);
    }

    const std::int32_t* group_of() const { return group_of_.data(); }
    std::size_t groups() const { return group_.size(); }
    // Of each label, what its center moved plus what the farthest other one did; then the largest.
    const std::vector<double>& total() const { return total_; }
    // Of each center; then the largest.
    const std::vector<double>& own() const { return own_; }
    // Of the farthest center of each group.
    const std::vector<double>& group() const { return group_; }

private:
    void add_way(const ExactView& now) {
        const std::size_t k = now.k;
        const bool same = std::equal(origin_.begin(), origin_.end(), now.origin);
        double first = 0, second = 0;
        std::size_t fastest = 0;
        std::fill(farthest_.begin(), farthest_.end(), 0.0);
        for (std::size_t j = 0; j < k; ++j) {
            moved_[j] = distance(j, now, same) * (1 + 0x1p-40);
            double& group = farthest_[static_cast<std::size_t>(group_of_[j])];
            if (!(moved_[j] <= group)) group = moved_[j];
            if (!(moved_[j] <= first)) {
                second = first, first = moved_[j], fastest = j;
            } else {
                second = std::max(second, moved_[j]);
            }
        }
        for (std::size_t j = 0; j < k; ++j) {
            total_[j] += (moved_[j] + (j == fastest ? second : first));
            own_[j] += moved_[j];
        }
        total_[k] += first + second;
        own_[k] += first;
        for (std::size_t g = 0; g < group_.size(); ++g) group_[g] += farthest_[g];
    }

    double distance(std::size_t j, const ExactView& now, bool same_origin) const {
        const std::size_t d = now.d;
        const double *from = centers_.data() + j * d, *to = now.centers + j * d;
        double square = 0, size = 0;
        for (std::size_t t = 0; t < d; ++t) {
            const double way = same_origin ? 0.0 : (now.origin[t] - origin_[t]) * scale_;
            const double gap = (to[t] - from[t]) + way;
            square += gap * gap;
            size += std::abs(to[t]) + std::abs(from[t]);
            if (!same_origin) size += (std::abs(now.origin[t]) + std::abs(origin_[t])) * scale_;
        }
        return (std::sqrt(square) * (1 + static_cast<double>(d) * 0x1p-50) + size * 0x1p-50) /
               scale_;
    }

    std::vector<std::int32_t> group_of_;
    std::vector<double> total_, own_, group_;
    std::vector<double> moved_, farthest_;  // in one call
    std::vector<double> centers_, origin_;  // of the last call
    double scale_ = 0;
};

class RowMargins {
public:
    // For centers in the groups of a book. order: the rows in their order; labels: (n), −1: none.
    // Nothing is known of the margins yet.
    RowMargins(const BookView<float>& book, std::size_t width, std::vector<std::int32_t> order,
               const std::int32_t* labels)
        : n_(order.size()), k_(book.k), width_(width), order_(std::move(order)), place_(k_),
          travel_(group_of(book), book.groups) {
        for (std::size_t p = 0; p < k_; ++p)
            place_[static_cast<std::size_t>(book.member[p])] = static_cast<std::int32_t>(p);
        const std::size_t groups = book.groups;
        const std::size_t places = (n_ + width - 1) / width * width;
        order_.resize(places, -1);
        own_.resize(places, -1);
        for (std::size_t place = 0; place < n_; ++place)
            own_[place] = labels[static_cast<std::size_t>(order_[place])];
        until_.resize(places);
        panel_until_.resize(places / width);
        panel_label_.assign(places / width, -1);
        if (groups > 1) group_until_.resize(places / width * margin_stride(groups), -kNever);
        drop_bounds();
    }

    std::size_t n() const { return n_; }
    std::size_t k() const { return k_; }
    std::size_t panels() const { return panel_until_.size(); }
    const std::int32_t* order() const { return order_.data(); }
    // True if the centers of this book are in the same groups and places.
    bool fit(const BookView<float>& book) const {
        if (book.k != k_ || book.groups != travel_.groups()) return false;
        for (std::size_t p = 0; p < k_; ++p)
            if (place_[static_cast<std::size_t>(book.member[p])] != static_cast<std::int32_t>(p))
                return false;
        const std::vector<std::int32_t> group = group_of(book);
        return std::equal(group.begin(), group.end(), travel_.group_of());
    }
    // With the rows of these panels.
    MarginView view(const KeptPanels& kept) {
        const PanelView<float> packed = kept.view(0);
        return {panels(),
                packed.data,
                packed.square,
                order_.data(),
                own_.data(),
                until_.data(),
                panel_until_.data(),
                panel_label_.data(),
                group_until_.data(),
                travel_.group_of(),
                place_.data(),
                n_ - (panels() - 1) * width_};
    }

    // Accepts the labels of all rows, and drops the bounds of those that differ.
    void relabel(const std::int32_t* labels) {
        for (std::size_t place = 0; place < n_; ++place) {
            const std::int32_t now = labels[static_cast<std::size_t>(order_[place])];
            if (now == own_[place]) continue;
            own_[place] = now;
            const std::size_t panel = place / width_;
            until_[place] = panel_until_[panel] = kNever;
            panel_label_[panel] = -1;
            for (float& until : group_bounds(panel)) until = kNever;
        }
    }

    // Adds the way of the centers since the last pass.
    void follow(const BookView<float>& book) {
        if (!travel_.follow(book.exact)) {
            travel_.reset();
            drop_bounds();
        }
        const double scale = static_cast<double>(book.fast_scale);
        write(travel_.total(), scale, far_);
        write(travel_.own(), scale, own_far_);
        write(travel_.group(), scale, group_far_);
        group_far_.resize(margin_stride(travel_.groups()), 0.0f);
        double origin = 0;
        for (std::size_t t = 0; t < book.d; ++t) {
            const double away = (book.exact.origin[t] - book.zero[t]) * scale;
            origin += away * away;
        }
        blur_ = static_cast<float>(margin_error(book.d) * std::sqrt(origin)) * (1 + 0x1p-22f);
    }
    // True if the last call of follow() had these centers.
    bool follows(const BookView<float>& book) const { return travel_.is_at(book.exact); }
    // Valid until the next call of follow().
    TravelView travel() const {
        return {far_.data(), far_[k_], own_far_.data(), own_far_[k_], group_far_.data(), blur_};
    }

    // The same rows in the order of their labels, those of one label in that of their margins,
    // roughly.
    RowMargins sorted() const {
        RowMargins out = *this;
        if (far_.empty()) return out;  // no pass yet
        const float* travel = far_.data();
        std::vector<std::uint32_t> begin(k_ * kBuckets + 1, 0), key(n_), from(n_);
        for (std::size_t place = 0; place < n_; ++place) {
            const std::size_t label = static_cast<std::size_t>(std::max(own_[place], 0));
            key[place] = static_cast<std::uint32_t>(label * kBuckets) +
                         bucket(until_[place] - travel[label]);
            ++begin[key[place] + 1];
        }
        for (std::size_t b = 0; b + 1 < begin.size(); ++b) begin[b + 1] += begin[b];
        for (std::size_t place = 0; place < n_; ++place) {
            const std::size_t to = begin[key[place]]++;
            out.order_[to] = order_[place];
            out.own_[to] = own_[place];
            out.until_[to] = until_[place];
            from[to] = static_cast<std::uint32_t>(place / width_);
        }
        for (std::size_t p = 0; p < out.panels(); ++p) out.join(p, travel);
        if (!group_until_.empty()) out.join_groups(*this, from);
        return out;
    }

private:
    static constexpr std::size_t kBuckets = 64;  // of margins, √2 apart
    static constexpr float kNever = -std::numeric_limits<float>::infinity();

    static std::vector<std::int32_t> group_of(const BookView<float>& book) {
        std::vector<std::int32_t> group(book.k);
        for (std::size_t g = 0; g < book.groups; ++g)
            for (std::size_t p = book.first[book.group[g]]; p < book.first[book.group[g + 1]]; ++p)
                group[static_cast<std::size_t>(book.member[p])] = static_cast<std::int32_t>(g);
        return group;
    }

    // Rounded up, in units of 1/scale.
    static void write(const std::vector<double>& totals, double scale, std::vector<float>& out) {
        out.resize(totals.size());
        for (std::size_t e = 0; e < out.size(); ++e)
            out[e] = static_cast<float>(totals[e] * scale) * (1 + 0x1p-22f);
    }

    // The bounds of one panel.
    std::span<float> group_bounds(std::size_t panel) {
        if (group_until_.empty()) return {};
        return {group_until_.data() + panel * margin_stride(travel_.groups()), travel_.groups()};
    }

    void drop_bounds() {
        for (std::size_t p = 0; p < panels(); ++p)
            for (float& until : group_bounds(p)) until = kNever;
        std::fill(until_.begin(), until_.end(), kNever);
        std::fill(until_.begin() + static_cast<std::ptrdiff_t>(n_), until_.end(), -kNever);
        std::fill(panel_until_.begin(), panel_until_.end(), kNever);
    }

    // Sets the bound of a panel from those of its rows.
    void join(std::size_t p, const float* travel) {
        const std::size_t first = p * width_, last = std::min(n_, first + width_);
        float least = std::numeric_limits<float>::infinity();
        bool same = true;
        for (std::size_t place = first; place < last; ++place) {
            const std::int32_t label = own_[place];
            const float now = travel[label < 0 ? k_ : static_cast<std::size_t>(label)];
            least = std::min(least, until_[place] - now);
            same &= label == own_[first];
        }
        panel_label_[p] = same ? own_[first] : -1;
        const std::size_t label = panel_label_[p] < 0 ? k_ : static_cast<std::size_t>(own_[first]);
        panel_until_[p] = lowered(travel[label] + least);
    }

    float own_travel(std::int32_t label) const {
        return own_far_[label < 0 ? k_ : static_cast<std::size_t>(label)];
    }

    // Sets the bounds of panels to groups from those of the panels where their rows were, or from
    // those of the rows to all centers.
    void join_groups(const RowMargins& before, const std::vector<std::uint32_t>& from) {
        std::vector<float> left(travel_.groups());
        for (std::size_t p = 0; p < panels(); ++p) {
            const std::size_t first = p * width_, last = std::min(n_, first + width_);
            std::fill(left.begin(), left.end(), std::numeric_limits<float>::infinity());
            for (std::size_t place = first; place < last; ++place) {
                if (place > first && from[place] == from[place - 1]) continue;
                const float own = own_travel(before.panel_label_[from[place]]);
                const float* until = &before.group_until_[from[place] * margin_stride(left.size())];
                for (std::size_t g = 0; g < left.size(); ++g)
                    left[g] = std::min(left[g], until[g] - (own + group_far_[g]));
            }
            const std::int32_t label = panel_label_[p];
            const float least = panel_until_[p] - far_[label < 0 ? k_ : std::size_t(label)];
            const auto until = group_bounds(p);
            for (std::size_t g = 0; g < left.size(); ++g)
                until[g] = lowered(own_travel(label) + group_far_[g] + std::max(left[g], least));
        }
    }

    static std::uint32_t bucket(float margin) {
        if (!(margin > 0)) return 0;
        std::uint32_t bits;
        std::memcpy(&bits, &margin, 4);
        const std::int32_t halves = static_cast<std::int32_t>(bits >> 22) - 2 * 127;  // 2·log₂
        return static_cast<std::uint32_t>(
            std::clamp(halves + 48, 1, static_cast<int>(kBuckets) - 1));
    }

    std::size_t n_, k_, width_;
    std::vector<std::int32_t> order_, own_;
    std::vector<std::int32_t> place_;  // of each center in the book
    std::vector<float> until_, panel_until_;
    std::vector<std::int32_t> panel_label_;
    std::vector<float> group_until_;  // empty with one group
    CenterTravel travel_;
    std::vector<float> far_, own_far_, group_far_;  // the travel, as the bounds are scaled
    float blur_ = 0;
};

}  // namespace partita
