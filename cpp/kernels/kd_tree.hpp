// Rows in the order of a k-d tree: leaves of neighbouring rows, and bounding boxes.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "codebook.hpp"

namespace partita {

constexpr std::size_t kMaxLeafRows = 64;  // more only if all rows are equal

// y = (row − origin)·scale as float32, feature by feature. Boxes also contain y before its
// rounding. The first levels are split serially, the rest by share(n, f), which calls f(first,
// last) for parts of 0…n in any order. The tree does not depend on it.
class KdTree {
public:
    template <class R, class Share>
    KdTree(const R* rows, std::size_t n, std::size_t d, const double* origin, double scale,
           Share share)
        : n_(n), d_(d), order_(n), values_(n * d) {
        Points points(n, d), spare(n, d);
        share(n, [&](std::size_t first, std::size_t last) {
            for (std::size_t i = first; i < last; ++i) {
                points.row[i] = static_cast<std::int32_t>(i);
                for (std::size_t t = 0; t < d; ++t)
                    points.y[i * d + t] = static_cast<float>(
                        (static_cast<double>(rows[i * d + t]) - origin[t]) * scale);
            }
        });
        std::vector<Part> parts{{0, n, false}};
        std::vector<std::uint8_t> first_of_leaf(n);  // threads must not allocate
        for (std::size_t level = 0; level < kSerialLevels; ++level) {
            std::vector<Part> next;
            for (const Part& part : parts) {
                const std::size_t cut = split(points, spare, part);
                if (cut == part.first) {
                    next.push_back(part);
                } else {
                    next.push_back({part.first, cut, !part.moved});
                    next.push_back({cut, part.last, !part.moved});
                }
            }
            parts = std::move(next);
        }
        share(parts.size(), [&](std::size_t first, std::size_t last) {
            for (std::size_t p = first; p < last; ++p)
                build_leaves(points, spare, parts[p], first_of_leaf);
        });
        const auto leaves = std::count(first_of_leaf.begin(), first_of_leaf.end(), 1);
        begin_.reserve(static_cast<std::size_t>(leaves) + 1);
        for (std::size_t i = 0; i < n; ++i)
            if (first_of_leaf[i]) begin_.push_back(static_cast<std::int32_t>(i));
        begin_.push_back(static_cast<std::int32_t>(n));
        add_boxes(share);
    }

    std::size_t leaves() const { return begin_.size() - 1; }
    std::size_t nodes() const { return (leaves() + kNodeLeaves - 1) / kNodeLeaves; }
    const std::vector<std::int32_t>& order() const { return order_; }
    TreeView view() const {
        TreeView view{
            n_, d_, leaves(), nodes(), levels_.size(), begin_.data(), order_.data(), values_.data(),
            {}};
        for (std::size_t l = 0; l < levels_.size(); ++l)
            view.boxes[l] = {levels_[l].middle.data(), levels_[l].half.data()};
        return view;
    }

private:
    static constexpr std::size_t kSerialLevels =
        4;  // levels that are split before threads share the parts

    struct Points {
        std::vector<float> y;
        std::vector<std::int32_t> row;
        Points(std::size_t n, std::size_t d) : y(n * d), row(n) {}
    };
    struct Part {
        std::size_t first, last;
        bool moved;  // true: the rows are in the spare points
    };
    struct Boxes {
        std::vector<double> middle, half;
    };

    // Chooses the widest feature and about its median, by a sample; by the whole box if all rows of
    // the sample are equal.
    bool choose_split(const Points& from, std::size_t first, std::size_t last, std::size_t& feature,
                      float& cut_value) const {
        constexpr std::size_t max_sample = 31;
        const std::size_t m = std::min(last - first < 1024 ? 15 : max_sample, last - first);
        float sample[max_sample], widest = 0, top = 0;
        for (std::size_t t = 0; t < d_; ++t) {
            float low = INFINITY, high = -INFINITY;
            for (std::size_t s = 0; s < m; ++s) {
                const float v = from.y[(first + s * (last - first) / m) * d_ + t];
                low = std::min(low, v);
                high = std::max(high, v);
            }
            if (!(high - low > widest)) continue;
            widest = high - low;
            feature = t;
            top = high;
        }
        if (widest > 0) {
            for (std::size_t s = 0; s < m; ++s)
                sample[s] = from.y[(first + s * (last - first) / m) * d_ + feature];
            std::nth_element(sample, sample + m / 2, sample + m);
            cut_value = sample[m / 2];
            if (cut_value == top)
                cut_value =
                    std::nextafter(cut_value, -INFINITY);  // so that the top value is above the cut
            return true;
        }
        for (std::size_t t = 0; t < d_; ++t) {
            float low = from.y[first * d_ + t], high = low;
            for (std::size_t i = first; i < last; ++i) {
                low = std::min(low, from.y[i * d_ + t]);
                high = std::max(high, from.y[i * d_ + t]);
            }
            if (!(high - low > widest)) continue;
            widest = high - low;
            feature = t;
            // next to the value of the sample, so that its many equal rows are separated after two
            // cuts
            const float bulk = from.y[first * d_ + t];
            cut_value = bulk > low ? std::nextafter(bulk, -INFINITY) : bulk;
        }
        return widest > 0;
    }

    // Moves a part to the other buffer, values up to the cut first, and returns the position of the
    // cut; returns the first row, without moving, if the part is a leaf. Without a branch per row,
    // which the processor could not predict.
    std::size_t split(Points& points, Points& spare, const Part& part) const {
        const Points& from = part.moved ? spare : points;
        Points& to = part.moved ? points : spare;
        std::size_t feature = 0;
        float cut_value = 0;
        if (part.last - part.first <= kMaxLeafRows ||
            !choose_split(from, part.first, part.last, feature, cut_value))
            return part.first;
        std::size_t low = part.first, high = part.last;
        for (std::size_t i = part.first; i < part.last; ++i) {
            const bool below = from.y[i * d_ + feature] <= cut_value;
            const std::size_t put = below ? low : high - 1;
            low += below;
            high -= !below;
            to.row[put] = from.row[i];
            for (std::size_t t = 0; t < d_; ++t) to.y[put * d_ + t] = from.y[i * d_ + t];
        }
        return low == part.last ? part.first : low;  // empty only with NaN
    }

    // Splits a part into leaves and writes their rows.
    void build_leaves(Points& points, Points& spare, const Part& part,
                      std::vector<std::uint8_t>& first_of_leaf) {
        const std::size_t cut = split(points, spare, part);
        if (cut == part.first) {
            const Points& from = part.moved ? spare : points;
            first_of_leaf[part.first] = 1;
            for (std::size_t i = part.first; i < part.last; ++i) {
                order_[i] = from.row[i];
                for (std::size_t t = 0; t < d_; ++t) values_[t * n_ + i] = from.y[i * d_ + t];
            }
            return;
        }
        build_leaves(points, spare, {part.first, cut, !part.moved}, first_of_leaf);
        build_leaves(points, spare, {cut, part.last, !part.moved}, first_of_leaf);
    }

    // Boxes around leaves, in double, enlarged by the rounding to float32; then around kBoxFan of
    // these, and so on until few are left.
    template <class Share>
    void add_boxes(Share share) {
        std::size_t count = leaves();
        std::vector<float> low(count * d_), high(count * d_);
        share(count, [&](std::size_t first, std::size_t last) {
            for (std::size_t leaf = first; leaf < last; ++leaf)
                for (std::size_t t = 0; t < d_; ++t) {
                    const float* y = values_.data() + t * n_;
                    const auto [a, b] = std::minmax_element(y + begin_[leaf], y + begin_[leaf + 1]);
                    low[leaf * d_ + t] = *a;
                    high[leaf * d_ + t] = *b;
                }
        });
        for (;;) {
            Boxes boxes{std::vector<double>(count * d_), std::vector<double>(count * d_)};
            for (std::size_t e = 0; e < count * d_; ++e) {
                const double a = low[e], b = high[e];
                const double lost = 0x1p-23 * std::max(std::abs(a), std::abs(b)) + 0x1p-140;
                boxes.middle[e] = 0.5 * (a + b);
                boxes.half[e] = (0.5 * (b - a) + lost) * (1 + 0x1p-50);
            }
            levels_.push_back(std::move(boxes));
            if (levels_.size() > kNodeLevel && (count <= kBoxFan || levels_.size() == kMaxLevels))
                return;
            const std::size_t less_mask = (count + kBoxFan - 1) / kBoxFan;
            for (std::size_t u = 0; u < less_mask; ++u)
                for (std::size_t t = 0; t < d_; ++t) {
                    float a = low[u * kBoxFan * d_ + t], b = high[u * kBoxFan * d_ + t];
                    for (std::size_t e = u * kBoxFan; e < std::min(count, (u + 1) * kBoxFan); ++e) {
                        a = std::min(a, low[e * d_ + t]);
                        b = std::max(b, high[e * d_ + t]);
                    }
                    low[u * d_ + t] = a;
                    high[u * d_ + t] = b;
                }
            count = less_mask;
        }
    }

    std::size_t n_, d_;
    std::vector<std::int32_t> order_, begin_;
    std::vector<float> values_;
    std::vector<Boxes> levels_;
};

// Centers in the frame of a tree: coordinates relative to its origin, times its scale.
class TreeCodebook {
public:
    TreeCodebook(const double* centers, std::size_t k, std::size_t d, double scale,
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
