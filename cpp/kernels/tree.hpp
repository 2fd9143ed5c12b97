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
constexpr std::size_t kFan = 16;          // leaves of one node, nodes of one top

// y = (row − origin)·scale, as float32, feature by feature; boxes hold the y before rounding too.
class Tree {
public:
    template <class R>
    Tree(const R* rows, std::size_t n, std::size_t d, const double* origin, double scale)
        : n_(n), d_(d), order_(n), values_(n * d) {
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
        add_boxes(y, 1, leaf_);
        add_boxes(y, kFan, node_);
        add_boxes(y, kFan * kFan, top_);
    }

    std::size_t leaves() const { return begin_.size() - 1; }
    std::size_t nodes() const { return (leaves() + kFan - 1) / kFan; }
    const std::vector<std::int32_t>& order() const { return order_; }
    TreeView view() const {
        return {n_, d_, leaves(), nodes(), kFan, begin_.data(), order_.data(), values_.data(),
                leaf_.middle.data(), leaf_.half.data(), node_.middle.data(), node_.half.data(),
                top_.middle.data(), top_.half.data()};
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
            // beside the point that the sample is, so that its bulk is alone after two cuts
            const float bulk = y[first * d_ + t];
            at = bulk > low ? std::nextafter(bulk, -INFINITY) : bulk;
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
        if (low == first || low == last) {  // only NaN comes here
            begin_.push_back(static_cast<std::int32_t>(first));
            return;
        }
        split(y, first, low);
        split(y, low, last);
    }

    struct Boxes {
        std::vector<double> middle, half;
    };

    // Boxes around every `leaves` leaves, as doubles, wide enough for what float32 took away.
    void add_boxes(const std::vector<float>& y, std::size_t leaves_each, Boxes& boxes) const {
        for (std::size_t leaf = 0; leaf < leaves(); leaf += leaves_each) {
            const std::size_t first = static_cast<std::size_t>(begin_[leaf]);
            const std::size_t last =
                static_cast<std::size_t>(begin_[std::min(leaf + leaves_each, leaves())]);
            for (std::size_t t = 0; t < d_; ++t) {
                float low = y[first * d_ + t], high = low;
                for (std::size_t i = first; i < last; ++i) {
                    low = std::min(low, y[i * d_ + t]);
                    high = std::max(high, y[i * d_ + t]);
                }
                const double a = low, b = high;
                const double lost = 0x1p-23 * std::max(std::abs(a), std::abs(b)) + 0x1p-140;
                boxes.middle.push_back(0.5 * (a + b));
                boxes.half.push_back((0.5 * (b - a) + lost) * (1 + 0x1p-50));
            }
        }
    }

    std::size_t n_, d_;
    std::vector<std::int32_t> order_, begin_;
    std::vector<float> values_;
    Boxes leaf_, node_, top_;
};

// Centers in the frame of a tree: coordinates times its scale, relative to its origin.
class TreeBook {
public:
    TreeBook(const double* centers, std::size_t k, std::size_t d, double scale,
             const std::uint8_t* moved)
        : values_((d + 1) * padded(k)), moved_(moved, moved + k) {
        const std::size_t room = padded(k);
        for (std::size_t j = 0; j < k; ++j) {
            double square = 0;
            for (std::size_t t = 0; t < d; ++t) {
                const double v = centers[j * d + t] * scale;
                square += v * v;
                values_[t * room + j] = v;
            }
            values_[d * room + j] = 0.5 * square;
        }
        for (std::size_t j = k; j < room; ++j)
            values_[d * room + j] = std::numeric_limits<double>::infinity();
        view_ = {k, d, room, values_.data(), moved_.data()};
    }
    const TreeCenters& view() const { return view_; }

private:
    static std::size_t padded(std::size_t k) { return (k + 7) / 8 * 8; }  // whole vectors

    std::vector<double> values_;
    std::vector<std::uint8_t> moved_;
    TreeCenters view_;
};

}  // namespace partita
