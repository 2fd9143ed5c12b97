// How far centers have come since bounds counted from zero, in quanta: what lets bounds stay as they are
// while centers move. Also how far centers are from each other, from below.
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
          group_(k), own_(k), shift_(k), since_(k), come_(stride_), farthest_(groups_), up_(k),
          down_(k), alone_(k, -1), group_up_(stride_), group_down_(stride_), near_(k * stride_) {
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
    const std::vector<double>& own() const { return own_; }
    const std::vector<double>& come() const { return come_; }
    double all() const { return all_; }

    // Takes note of where the centers are now. Bounds for which the travel would become too much are
    // brought up to date. measure(rows, m, out) gives the distances (m, k) of some centers to all.
    template <class Measure>
    void follow(const double* values, const double* origin, const std::int32_t* label,
                std::size_t n, const BoundView& bounds, Measure measure) {
        shift(values, origin);
        for (std::size_t g = 0; g < groups_; ++g) {
            farthest_[g] = 0;
            for (std::size_t p = first_[g]; p < first_[g + 1]; ++p)
                farthest_[g] = std::max(farthest_[g], shift_[at(p)]);
        }
        const double most = *std::max_element(farthest_.begin(), farthest_.end());
        catch_up(most, n, bounds);
        lose(label, n, bounds);
        for (std::size_t g = 0; g < groups_; ++g) come_[g] += farthest_[g];
        all_ += most;
        for (std::size_t j = 0; j < k_; ++j) {
            up_[j] = static_cast<std::int32_t>(ceiling(own_[j], kLost));
            down_[j] = static_cast<std::int32_t>(std::min(own_[j], kLost));
        }
        for (std::size_t g = 0; g < groups_; ++g) {
            group_up_[g] = static_cast<std::uint16_t>(ceiling(come_[g], kMost));
            group_down_[g] = static_cast<std::uint16_t>(std::min(come_[g], kMost));
        }
        if (geometry_) look_around(measure);
    }

    MotionView view() const {
        return {up_.data(),
                down_.data(),
                group_up_.data(),
                group_down_.data(),
                static_cast<std::int32_t>(ceiling(all_, kMost)),
                static_cast<std::int32_t>(std::min(all_, kMost)),
                place_.data(),
                group_.data(),
                near_.data(),
                alone_.data(),
                quantum_,
                blur_};
    }

private:
    static constexpr double kLost = kUnbounded;
    static constexpr double kMost = 65535;       // the largest lower bound
    static constexpr double kFarCome = 1 << 14;  // after which bounds are brought up to date
    static constexpr double kStale = 32;         // after which distances between centers are

    std::size_t at(std::size_t place) const { return static_cast<std::size_t>(member_[place]); }

    static double ceiling(double travel, double most) {
        return std::min(std::ceil(travel * (1 + 0x1p-40)), most);
    }

    // shift_: how far each center moved, in quanta, from above.
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

    // Writes the travel so far into bounds for which it would become too much; counts anew.
    void catch_up(double most, std::size_t n, const BoundView& bounds) {
        auto lower = [](std::uint16_t& bound, std::uint16_t by) {
            bound = static_cast<std::uint16_t>(std::max(bound, by) - by);
        };
        if (all_ + most > kFarCome) {
            const auto by = static_cast<std::uint16_t>(ceiling(all_, kMost));
            for (std::size_t i = 0; i < n; ++i) lower(bounds.other[i], by);
            all_ = 0;
        }
        for (std::size_t g = 0; g < groups_; ++g) {
            if (!(come_[g] + farthest_[g] > kFarCome) || come_[g] == 0) continue;
            const auto by = static_cast<std::uint16_t>(ceiling(come_[g], kMost));
            for (std::size_t i = 0; i < n; ++i) lower(bounds.lower[i * stride_ + g], by);
            come_[g] = 0;
        }
    }

    // Moves every center on; nothing is known of the rows of one that came farther than can be counted.
    void lose(const std::int32_t* label, std::size_t n, const BoundView& bounds) {
        bool any = false;
        for (std::size_t j = 0; j < k_; ++j) {
            own_[j] += shift_[j];
            any |= !(own_[j] <= kLost / 2);
        }
        if (!any) return;
        for (std::size_t i = 0; i < n; ++i)
            if (!(own_[static_cast<std::size_t>(label[i])] <= kLost / 2))
                bounds.upper[i] = static_cast<std::int32_t>(kLost);
        for (double& own : own_)
            if (!(own <= kLost / 2)) own = 0;
    }

    // How far the nearest other center of each group is from each center, in quanta, from below.
    template <class Measure>
    void look_around(Measure measure) {
        double most = 0;
        for (std::size_t j = 0; j < k_; ++j) most = std::max(most, since_[j] += shift_[j]);
        if (least_.empty() || !(most <= kStale)) {
            measure_apart(measure);
            for (std::size_t j = 0; j < k_; ++j)
                for (std::size_t g = 0; g < groups_; ++g) {
                    float near = INFINITY;
                    for (std::size_t p = first_[g]; p < first_[g + 1]; ++p)
                        near = std::min(near, apart_[j * k_ + p]);
                    least_[j * groups_ + g] = static_cast<double>(near) * (1 - 0x1p-40) / quantum_;
                }
            std::fill(since_.begin(), since_.end(), 0.0);
        } else {
            for (std::size_t j = 0; j < k_; ++j)
                for (std::size_t g = 0; g < groups_; ++g)
                    least_[j * groups_ + g] -= shift_[j] + farthest_[g];
        }
        for (std::size_t j = 0; j < k_; ++j) {
            double least = kMost;
            for (std::size_t g = 0; g < groups_; ++g) {
                const double quanta = std::clamp(least_[j * groups_ + g], 0.0, kMost);
                near_[j * stride_ + g] = static_cast<std::uint16_t>(quanta);
                least = std::min(least, std::floor(quanta));
            }
            alone_[j] = static_cast<std::int32_t>(std::floor((least - 2) / 2));
        }
    }

    // apart_ (k, k): from each center to the one in each place. Only what moved is measured again.
    template <class Measure>
    void measure_apart(Measure measure) {
        const bool all = least_.empty();
        if (all) {
            least_.resize(k_ * groups_);
            apart_.resize(k_ * k_);
        }
        std::vector<std::size_t> moved;
        std::vector<double> rows;
        for (std::size_t j = 0; j < k_; ++j)
            if (all || since_[j] > 0) {
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
                apart_[j * k_ + static_cast<std::size_t>(place_[i])] = far;
                apart_[i * k_ + static_cast<std::size_t>(place_[j])] = far;
            }
        }
    }

    std::size_t k_, d_, groups_, stride_;
    double quantum_, blur_;
    bool geometry_;
    std::vector<double> values_, origin_;
    std::vector<std::int32_t> member_, place_, group_;
    std::vector<std::size_t> first_;
    std::vector<double> own_, shift_, since_, come_, farthest_, least_;
    std::vector<float> apart_;
    std::vector<std::int32_t> up_, down_, alone_;
    std::vector<std::uint16_t> group_up_, group_down_, near_;
    double all_ = 0;
};

}  // namespace partita
