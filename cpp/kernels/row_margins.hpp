// The order of rows by their margins, and the bounds of their panels. See panel_pass.hpp.
#pragma once

#include <cstring>

#include "kept_panels.hpp"

namespace partita {

// How far centers have moved since the first call, from above. The travel of a label is what its
// center moved plus what the farthest other one did, added over all calls.
class CenterTravel {
public:
    explicit CenterTravel(std::size_t k) : total_(k + 1, 0.0), moved_(k) {}

    // Adds the way from the last centers to these; false if it cannot be told.
    bool follow(const ExactView& now) {
        const std::size_t k = now.k, d = now.d;
        const bool known = centers_.size() == k * d && scale_ == now.scale;
        if (known) {
            const bool same = std::equal(origin_.begin(), origin_.end(), now.origin);
            double first = 0, second = 0;
            std::size_t farthest = 0;
            for (std::size_t j = 0; j < k; ++j) {
                moved_[j] = distance(j, now, same);
                if (!(moved_[j] <= first)) {
                    second = first, first = moved_[j], farthest = j;
                } else {
                    second = std::max(second, moved_[j]);
                }
            }
            for (std::size_t j = 0; j < k; ++j)
                total_[j] += (moved_[j] + (j == farthest ? second : first)) * (1 + 0x1p-40);
            total_[k] += (first + second) * (1 + 0x1p-40);
        }
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
    void reset() { std::fill(total_.begin(), total_.end(), 0.0); }

    // Rounded up, in units of 1/scale: of every label, then the largest.
    void write(double scale, std::vector<float>& out) const {
        out.resize(total_.size());
        for (std::size_t j = 0; j < out.size(); ++j)
            out[j] = static_cast<float>(total_[j] * scale) * (1 + 0x1p-22f);
    }

private:
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

    std::vector<double> total_, moved_;
    std::vector<double> centers_, origin_;  // of the last call
    double scale_ = 0;
};

class RowMargins {
public:
    // order: the rows in their order; labels: (n), −1: none. Nothing is known of the margins yet.
    RowMargins(std::size_t k, std::size_t width, std::vector<std::int32_t> order,
               const std::int32_t* labels)
        : n_(order.size()), k_(k), width_(width), order_(std::move(order)), travel_(k) {
        const std::size_t places = (n_ + width - 1) / width * width;
        order_.resize(places, -1);
        own_.resize(places, -1);
        for (std::size_t place = 0; place < n_; ++place)
            own_[place] = labels[static_cast<std::size_t>(order_[place])];
        until_.resize(places);
        panel_until_.resize(places / width);
        panel_label_.assign(places / width, -1);
        drop_bounds();
    }

    std::size_t n() const { return n_; }
    std::size_t k() const { return k_; }
    std::size_t panels() const { return panel_until_.size(); }
    const std::int32_t* order() const { return order_.data(); }
    // With the rows of these panels.
    MarginView view(const KeptPanels& kept) {
        const PanelView<float> packed = kept.view(0);
        return {panels(),    packed.data,   packed.square,       order_.data(),
                own_.data(), until_.data(), panel_until_.data(), panel_label_.data()};
    }

    // Accepts the labels of all rows, and drops the bounds of those that differ.
    void relabel(const std::int32_t* labels) {
        for (std::size_t place = 0; place < n_; ++place) {
            const std::int32_t now = labels[static_cast<std::size_t>(order_[place])];
            if (now == own_[place]) continue;
            own_[place] = now;
            until_[place] = panel_until_[place / width_] = kNever;
            panel_label_[place / width_] = -1;
        }
    }

    // Adds the way of the centers since the last pass.
    void follow(const BookView<float>& book) {
        if (!travel_.follow(book.exact)) {
            travel_.reset();
            drop_bounds();
        }
        const double scale = static_cast<double>(book.fast_scale);
        travel_.write(scale, far_);
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
    TravelView travel() const { return {far_.data(), far_[k_], blur_}; }

    // The same rows in the order of their labels, those of one label in that of their margins,
    // roughly.
    RowMargins sorted() const {
        RowMargins out = *this;
        if (far_.empty()) return out;  // no pass yet
        const float* travel = far_.data();
        std::vector<std::uint32_t> begin(k_ * kBuckets + 1, 0), key(n_);
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
        }
        for (std::size_t p = 0; p < out.panels(); ++p) out.join(p, travel);
        return out;
    }

private:
    static constexpr std::size_t kBuckets = 64;  // of margins, √2 apart
    static constexpr float kNever = -std::numeric_limits<float>::infinity();

    void drop_bounds() {
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
        const float until = travel[label] + least;
        panel_until_[p] = until - std::abs(until) * 0x1p-20f;
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
    std::vector<float> until_, panel_until_;
    std::vector<std::int32_t> panel_label_;
    CenterTravel travel_;
    std::vector<float> far_;  // the travel, as the bounds are scaled
    float blur_ = 0;
};

}  // namespace partita
