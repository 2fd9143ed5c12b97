// Rows in the order of a k-d tree, cut into leaves of near neighbours with the boxes around them.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

#include "codebook.hpp"

namespace partita {

constexpr std::size_t kLeafRows = 64;     // a leaf has no more, unless its rows are all the same
constexpr std::size_t kNodeLeaves = 16;   // leaves of one node

// y = (row − origin)·scale, as float32, feature by feature; boxes hold the y before rounding too.
class Tree {
public:
    template <class R>
    Tree(const R* rows, std::size_t n, std::size_t d, const double* origin, double scale)
        : n_(n), d_(d), scale_(scale), origin_(origin, origin + d), order_(n), values_(n * d) {
        std::iota(order_.begin(), order_.end(), 0);
        std::vector<float> y(n * d);
        for (std::size_t i = 0; i < n; ++i)
            for (std::size_t t = 0; t < d; ++t)
                y[i * d + t] =
                    static_cast<float>((static_cast<double>(rows[i * d + t]) - origin[t]) * scale);
        split(y, 0, n);
        begin_.push_back(static_cast<std::int32_t>(n));
        for (std::size_t i = 0; i < n; ++i)
            for (std::size_t t = 0; t < d; ++t) values_[t * n + i] = y[i * d + t];
        for (std::size_t leaf = 0; leaf + 1 < begin_.size(); ++leaf)
            add_box(y, static_cast<std::size_t>(begin_[leaf]),
                    static_cast<std::size_t>(begin_[leaf + 1]), middle_, half_);
        for (std::size_t leaf = 0; leaf < leaves(); leaf += kNodeLeaves)
            add_box(y, static_cast<std::size_t>(begin_[leaf]),
                    static_cast<std::size_t>(begin_[std::min(leaf + kNodeLeaves, leaves())]),
                    node_middle_, node_half_);
    }

    std::size_t leaves() const { return begin_.size() - 1; }
    std::size_t nodes() const { return (leaves() + kNodeLeaves - 1) / kNodeLeaves; }
    const std::vector<std::int32_t>& order() const { return order_; }
    TreeView view() const {
        return {n_, d_, leaves(), nodes(), kNodeLeaves, scale_, begin_.data(), order_.data(),
                values_.data(), middle_.data(), half_.data(), node_middle_.data(),
                node_half_.data()};
    }

private:
    // A widest feature and about its median, by a sample; by the box where the sample is one point.
    bool cut(const std::vector<float>& y, std::size_t first, std::size_t last, std::size_t& feature,
             float& at) const {
        constexpr std::size_t most = 31;
        const std::size_t m = std::min(most, last - first);
        float widest = 0;
        for (std::size_t t = 0; t < d_; ++t) {
            float sample[most];
            for (std::size_t s = 0; s < m; ++s)
                sample[s] = y[(first + s * (last - first) / m) * d_ + t];
            const auto [low, high] = std::minmax_element(sample, sample + m);
            if (!(*high - *low > widest)) continue;
            widest = *high - *low;
            feature = t;
            const float top = *high;
            std::nth_element(sample, sample + m / 2, sample + m);
            at = sample[m / 2];
            if (at == top) at = std::nextafter(at, -INFINITY);  // so that the top is beyond it
        }
        if (widest > 0) return true;
        for (std::size_t t = 0; t < d_; ++t) {
            float low = y[first * d_ + t], high = low;
            for (std::size_t i = first; i < last; ++i) {
                low = std::min(low, y[i * d_ + t]);
                high = std::max(high, y[i * d_ + t]);
            }
            if (!(high - low > widest)) continue;
            widest = high - low;
            feature = t;
            at = low;  // what is above the lowest
        }
        return widest > 0;
    }

    void split(std::vector<float>& y, std::size_t first, std::size_t last) {
        std::size_t feature = 0;
        float at = 0;
        if (last - first <= kLeafRows || !cut(y, first, last, feature, at)) {
            begin_.push_back(static_cast<std::int32_t>(first));
            return;
        }
        std::size_t low = first, high = last;
        while (low < high) {  // values up to `at` to the front
            if (y[low * d_ + feature] <= at) {
                ++low;
                continue;
            }
            --high;
            for (std::size_t t = 0; t < d_; ++t) std::swap(y[low * d_ + t], y[high * d_ + t]);
            std::swap(order_[low], order_[high]);
        }
        if (low == first || low == last) {  // cannot be, but a loop without end would be worse
            begin_.push_back(static_cast<std::int32_t>(first));
            return;
        }
        split(y, first, low);
        split(y, low, last);
    }

    // The box around rows, as doubles, wide enough for what rounding to float32 took away.
    void add_box(const std::vector<float>& y, std::size_t first, std::size_t last,
                 std::vector<double>& middle, std::vector<double>& half) const {
        for (std::size_t t = 0; t < d_; ++t) {
            double low = y[first * d_ + t], high = low;
            for (std::size_t i = first; i < last; ++i) {
                low = std::min(low, static_cast<double>(y[i * d_ + t]));
                high = std::max(high, static_cast<double>(y[i * d_ + t]));
            }
            const double lost = 0x1p-23 * std::max(std::abs(low), std::abs(high)) + 0x1p-140;
            middle.push_back(0.5 * (low + high));
            half.push_back((0.5 * (high - low) + lost) * (1 + 0x1p-50));
        }
    }

    std::size_t n_, d_;
    double scale_;
    std::vector<double> origin_;
    std::vector<std::int32_t> order_, begin_;
    std::vector<float> values_;
    std::vector<double> middle_, half_, node_middle_, node_half_;
};

// Centers in the frame of a tree: coordinates times its scale, relative to its origin.
class TreeBook {
public:
    TreeBook(const double* centers, std::size_t k, std::size_t d, double scale,
             const std::uint8_t* moved)
        : values_((d + 1) * k), scores_(k * (d + 1)), slope_(k), slack_(k), moved_(moved, moved + k) {
        const Margin<float> margin(d, d);
        double longest = 0;
        for (std::size_t j = 0; j < k; ++j) {
            double square = 0;
            for (std::size_t t = 0; t < d; ++t) {
                const double v = centers[j * d + t] * scale;
                square += v * v;
                values_[t * k + j] = v;
                scores_[j * (d + 1) + 1 + t] = static_cast<float>(v);
            }
            const double norm = std::sqrt(square) * (1 + 1e-9);
            longest = std::max(longest, norm);
            values_[d * k + j] = 0.5 * square;
            slope_[j] = margin.slope(norm, 0x1p-51 * norm);
            slack_[j] = margin.slack(norm, 0x1p-51 * norm);
            scores_[j * (d + 1)] = static_cast<float>(0.5 * square);
        }
        view_ = {k, d, values_.data(), scores_.data(), slope_.data(), slack_.data(),
                 margin.own_error(), longest, moved_.data()};
    }
    const TreeCenters& view() const { return view_; }

private:
    std::vector<double> values_;
    std::vector<float> scores_, slope_, slack_;
    std::vector<std::uint8_t> moved_;
    TreeCenters view_;
};

}  // namespace partita
