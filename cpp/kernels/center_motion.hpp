// Travel of the centers since the bounds were last set, in quanta: bounds stay unchanged while
// centers move. Also lower bounds of the distances between centers.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "codebook.hpp"

namespace partita {

class Motion {
public:
    Motion(const Grouping& grouping, const double* values, const double* origin, std::size_t k,
           std::size_t d, double quantum, double blur, bool geometry)
        : k_(k), d_(d), groups_(grouping.groups), stride_(bounds_stride(grouping.groups)),
          quantum_(quantum), blur_(blur), geometry_(geometry), values_(values, values + k * d),
          origin_(origin, origin + d), member_(grouping.member, grouping.member + k), place_(k),
          group_(k), center_travel_(k), shift_(k), stale_(k), group_travel_(stride_),
          group_shift_(groups_), up_(k), down_(k), safe_upper_(k, -1), group_up_(stride_),
          group_down_(stride_), gap_quanta_(k * stride_) {
        first_.push_back(0);
        for (std::size_t g = 0; g < groups_; ++g)
            first_.push_back(first_.back() + static_cast<std::size_t>(grouping.size[g]));
        for (std::size_t g = 0; g < groups_; ++g)
            for (std::size_t p = first_[g]; p < first_[g + 1]; ++p) {
                place_[at(p)] = static_cast<std::int32_t>(p);
                group_[at(p)] = static_cast<std::int32_t>(g);
            }
    }

    std::size_t k() const { return k_; }
    std::size_t d() const { return d_; }
    std::size_t groups() const { return groups_; }
    const std::vector<double>& values() const { return values_; }
    const std::vector<double>& center_travel() const { return center_travel_; }
    const std::vector<double>& group_travel() const { return group_travel_; }
    double total_travel() const { return total_travel_; }

    // Records the new centers. Bounds whose travel would become too large are rewritten.
    // measure(rows, m, out) computes the distances (m, k) of some centers to all.
    template <class Measure>
    void follow(const double* values, const double* origin, const std::int32_t* label,
                std::size_t n, const BoundView& bounds, Measure measure) {
        shift(values, origin);
        for (std::size_t g = 0; g < groups_; ++g) {
            group_shift_[g] = 0;
            for (std::size_t p = first_[g]; p < first_[g + 1]; ++p)
                group_shift_[g] = std::max(group_shift_[g], shift_[at(p)]);
        }
        const double max_shift = *std::max_element(group_shift_.begin(), group_shift_.end());
        subtract_travel(max_shift, n, bounds);
        add_travel(label, n, bounds);
        for (std::size_t g = 0; g < groups_; ++g) group_travel_[g] += group_shift_[g];
        total_travel_ += max_shift;
        for (std::size_t j = 0; j < k_; ++j) {
            up_[j] = static_cast<std::int32_t>(ceiling(center_travel_[j], kMaxUpperBound));
            down_[j] = static_cast<std::int32_t>(std::min(center_travel_[j], kMaxUpperBound));
        }
        for (std::size_t g = 0; g < groups_; ++g) {
            group_up_[g] = static_cast<std::uint16_t>(ceiling(group_travel_[g], kMaxLowerBound));
            group_down_[g] = static_cast<std::uint16_t>(std::min(group_travel_[g], kMaxLowerBound));
        }
        if (geometry_) update_gaps(measure);
    }

    MotionView view() const {
        return {up_.data(),
                down_.data(),
                group_up_.data(),
                group_down_.data(),
                static_cast<std::int32_t>(ceiling(total_travel_, kMaxLowerBound)),
                static_cast<std::int32_t>(std::min(total_travel_, kMaxLowerBound)),
                place_.data(),
                group_.data(),
                geometry_ ? gap_quanta_.data() : nullptr,
                safe_upper_.data(),
                quantum_,
                blur_};
    }

private:
    static constexpr double kMaxUpperBound = kUnbounded;
    static constexpr double kMaxLowerBound = 65535;    // of 16 bits
    static constexpr double kMaxTravelQuanta = 16384;  // beyond it, bounds are rewritten
    static constexpr double kMaxStaleQuanta = 32;      // beyond it, distances are measured again

    std::size_t at(std::size_t place) const { return static_cast<std::size_t>(member_[place]); }

    static double ceiling(double travel, double max_shift) {
        return std::min(std::ceil(travel * (1 + 0x1p-40)), max_shift);
    }

    // shift_: movement of each center, in quanta, from above.
    void shift(const double* values, const double* origin) {
        const bool moved = !std::equal(origin_.begin(), origin_.end(), origin);
        auto length = [this](auto term) {
            return std::sqrt(fold(d_, [&](std::size_t t) { return term(t) * term(t); }, sum));
        };
        double frames = 0;
        if (moved)
            frames = length([&](std::size_t t) { return origin_[t]; }) +
                     length([&](std::size_t t) { return origin[t]; });
        for (std::size_t j = 0; j < k_; ++j) {
            const double *before = values_.data() + j * d_, *now = values + j * d_;
            double size = 0;
            if (moved)
                size = frames + length([&](std::size_t t) { return before[t]; }) +
                       length([&](std::size_t t) { return now[t]; });
            const double gap = length([&](std::size_t t) {
                const double step = now[t] - before[t];
                return moved ? step + (origin[t] - origin_[t]) : step;
            });
            shift_[j] = (gap * (1 + 0x1p-40) + 0x1p-50 * size) / quantum_;
        }
        values_.assign(values, values + k_ * d_);
        origin_.assign(origin, origin + d_);
    }

    // Subtracts the travel from bounds for which it would become too large, and restarts its count.
    void subtract_travel(double max_shift, std::size_t n, const BoundView& bounds) {
        auto lower = [](std::uint16_t& bound, std::uint16_t by) {
            bound = static_cast<std::uint16_t>(std::max(bound, by) - by);
        };
        if (total_travel_ + max_shift > kMaxTravelQuanta) {
            const auto by = static_cast<std::uint16_t>(ceiling(total_travel_, kMaxLowerBound));
            for (std::size_t i = 0; i < n; ++i) lower(bounds.other[i], by);
            total_travel_ = 0;
        }
        for (std::size_t g = 0; g < groups_; ++g) {
            if (!(group_travel_[g] + group_shift_[g] > kMaxTravelQuanta) || group_travel_[g] == 0)
                continue;
            const auto by = static_cast<std::uint16_t>(ceiling(group_travel_[g], kMaxLowerBound));
            for (std::size_t i = 0; i < n; ++i) lower(bounds.lower[i * stride_ + g], by);
            group_travel_[g] = 0;
        }
    }

    // Adds the shift to the travel. If a center moved too far to count, its rows become unbounded.
    void add_travel(const std::int32_t* label, std::size_t n, const BoundView& bounds) {
        bool any = false;
        for (std::size_t j = 0; j < k_; ++j) {
            center_travel_[j] += shift_[j];
            any |= !(center_travel_[j] <= kMaxUpperBound / 2);
        }
        if (!any) return;
        for (std::size_t i = 0; i < n; ++i)
            if (!(center_travel_[static_cast<std::size_t>(label[i])] <= kMaxUpperBound / 2))
                bounds.upper[i] = static_cast<std::int32_t>(kMaxUpperBound);
        for (double& center_travel : center_travel_)
            if (!(center_travel <= kMaxUpperBound / 2)) center_travel = 0;
    }

    // Distance from each center to the nearest other center of each group, in quanta, from below.
    template <class Measure>
    void update_gaps(Measure measure) {
        double max_shift = 0;
        for (std::size_t j = 0; j < k_; ++j)
            max_shift = std::max(max_shift, stale_[j] += shift_[j]);
        if (group_gap_.empty() || !(max_shift <= kMaxStaleQuanta)) {
            measure_distances(measure);
            for (std::size_t j = 0; j < k_; ++j)
                for (std::size_t g = 0; g < groups_; ++g) {
                    float near = INFINITY;
                    for (std::size_t p = first_[g]; p < first_[g + 1]; ++p)
                        near = std::min(near, distance_[j * k_ + p]);
                    group_gap_[j * groups_ + g] =
                        static_cast<double>(near) * (1 - 0x1p-40) / quantum_;
                }
            std::fill(stale_.begin(), stale_.end(), 0.0);
        } else {
            for (std::size_t j = 0; j < k_; ++j)
                for (std::size_t g = 0; g < groups_; ++g)
                    group_gap_[j * groups_ + g] -= shift_[j] + group_shift_[g];
        }
        for (std::size_t j = 0; j < k_; ++j) {
            double least = kMaxLowerBound;
            for (std::size_t g = 0; g < groups_; ++g) {
                const double quanta = std::clamp(group_gap_[j * groups_ + g], 0.0, kMaxLowerBound);
                gap_quanta_[j * stride_ + g] = static_cast<std::uint16_t>(quanta);
                least = std::min(least, std::floor(quanta));
            }
            safe_upper_[j] = static_cast<std::int32_t>(std::floor((least - 2) / 2));
        }
    }

    // distance_ (k, k): from each center to the center in each place. Only moved centers are
    // measured.
    template <class Measure>
    void measure_distances(Measure measure) {
        const bool total_travel = group_gap_.empty();
        if (total_travel) {
            group_gap_.resize(k_ * groups_);
            distance_.resize(k_ * k_);
        }
        std::vector<std::size_t> moved;
        std::vector<double> rows;
        for (std::size_t j = 0; j < k_; ++j)
            if (total_travel || stale_[j] > 0) {
                moved.push_back(j);
                rows.insert(rows.end(), values_.begin() + static_cast<std::ptrdiff_t>(j * d_),
                            values_.begin() + static_cast<std::ptrdiff_t>((j + 1) * d_));
            }
        std::vector<double> out(moved.size() * k_);
        measure(rows.data(), moved.size(), out.data());
        for (std::size_t e = 0; e < moved.size(); ++e) {
            const std::size_t j = moved[e];
            for (std::size_t i = 0; i < k_; ++i) {
                const float far =
                    i == j ? INFINITY : static_cast<float>(out[e * k_ + i] * (1 - 0x1p-22));
                distance_[j * k_ + static_cast<std::size_t>(place_[i])] = far;
                distance_[i * k_ + static_cast<std::size_t>(place_[j])] = far;
            }
        }
    }

    std::size_t k_, d_, groups_, stride_;
    double quantum_, blur_;
    bool geometry_;
    std::vector<double> values_, origin_;
    std::vector<std::int32_t> member_, place_, group_;
    std::vector<std::size_t> first_;
    std::vector<double> center_travel_, shift_, stale_, group_travel_, group_shift_, group_gap_;
    std::vector<float> distance_;
    std::vector<std::int32_t> up_, down_, safe_upper_;
    std::vector<std::uint16_t> group_up_, group_down_, gap_quanta_;
    double total_travel_ = 0;
};

}  // namespace partita
