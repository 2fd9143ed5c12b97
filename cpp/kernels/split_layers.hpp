// The dynamic programme of K-means on a line. The costs of ranges of points are differences of
// prefix sums, in twofold arithmetic. Doubles with a bound of their error leave out most splits.
#pragma once

#include "simd.hpp"
#include "twofold.hpp"
#include "views.hpp"

namespace partita::PARTITA_ISA {

constexpr std::size_t kSplitBlock = 64;  // splits that are compared or left out together
constexpr std::size_t kLongRange = 4 * kSplitBlock;
// A cost in doubles differs from the twofold one by at most 2⁻⁴⁸(Σ w·y² over the range + the cost
// before it) + 2⁻⁹⁶ Σ w·y² over all points + the weight of all: 13 roundings of 2⁻⁵³, and the
// tails. |y| must be at most 1, and every weight at least 2⁻⁸⁰ of the sum.
constexpr double kRelativeMargin = 0x1p-48, kAbsoluteMargin = 0x1p-96;
// Twofold costs before a split may fall by their errors, which add up over the layers.
constexpr double kMarginPerLayer = 0x1p-84;

PARTITA_INLINE Twofold minus(Twofold a, Twofold b) { return add(a, {-b.head, -b.tail}); }

PARTITA_INLINE Twofold range_cost(const LineView& line, std::size_t i, std::size_t j) {
    const auto difference = [&](std::size_t row) {
        const double *head = line.prefix + row * line.stride, *tail = head + line.stride;
        return minus({head[j], tail[j]}, {head[i], tail[i]});
    };
    const Twofold squares = difference(0), sum = difference(2), weight = difference(4);
    const Twofold cost = minus(squares, divide(multiply(sum, sum), weight));
    return cost.head < 0 ? Twofold{0, 0} : cost;
}

PARTITA_INLINE Twofold split_cost(const LineView& line, const double* before, std::size_t i,
                                  std::size_t j) {
    return add({before[i], before[line.stride + i]}, range_cost(line, i, j));
}

// Bounds of before_i + cost(i, j) for splits i = first + step·l, l < count <= kSplitBlock.
PARTITA_INLINE void split_bounds(const LineView& line, const double* before, double margin,
                                 std::size_t j, std::size_t first, std::size_t step,
                                 std::size_t count, double* __restrict low,
                                 double* __restrict high) {
    const std::size_t s = line.stride;
    const double* __restrict p = line.prefix + first;
    const double* __restrict d = before + first;
    const double* end = line.prefix + j;
    const double sh = end[0], st = end[s], lh = end[2 * s], lt = end[3 * s], wh = end[4 * s],
                 wt = end[5 * s];
    for (std::size_t l = 0; l < count; ++l) {
        const std::size_t i = l * step;
        const double squares = (sh - p[i]) + (st - p[i + s]);
        const double sum = (lh - p[i + 2 * s]) + (lt - p[i + 3 * s]);
        const double weight = (wh - p[i + 4 * s]) + (wt - p[i + 5 * s]);
        const double cost = squares - sum * sum / weight;
        const double value = d[i] + (cost > 0 ? cost : 0);
        const double error = kRelativeMargin * (squares + d[i]) + margin;
        low[l] = value - error;
        high[l] = value + error;
    }
}

PARTITA_INLINE double least(const double* values, std::size_t count, double so_far) {
    for (std::size_t l = 0; l < count; ++l) so_far = values[l] < so_far ? values[l] : so_far;
    return so_far;
}

// Compares the splits of the first j points.
class SplitSearch {
public:
    SplitSearch(const LineView& line, const LayerView& layer, std::size_t j)
        : line_(line), before_(layer.before), j_(j),
          margin_(kAbsoluteMargin * line.prefix[5 * line.stride - 1]),
          fall_(kMarginPerLayer * static_cast<double>(layer.layer) *
                line.prefix[5 * line.stride - 1]) {}

    std::size_t run(std::size_t first, std::size_t last) {
        split_ = first;
        if (first == last) return first;
        if (last - first < kLongRange)
            scan(first, last);
        else
            scan_blocks(first, last);
        return split_;
    }

private:
    Twofold cost(std::size_t i) const { return split_cost(line_, before_, i, j_); }

    // A single candidate needs no twofold cost.
    void offer(std::size_t i) {
        if (candidates_++ == 0) {
            split_ = i;
            return;
        }
        if (candidates_ == 2) cost_ = cost(split_);
        const Twofold other = cost(i);
        if (other.head < cost_.head || (other.head == cost_.head && other.tail < cost_.tail)) {
            cost_ = other;
            split_ = i;
        }
    }

    void scan(std::size_t first, std::size_t last) {
        for (std::size_t i = first; i <= last; i += kSplitBlock) {
            const std::size_t count = last - i < kSplitBlock ? last - i + 1 : kSplitBlock;
            split_bounds(line_, before_, margin_, j_, i, 1, count, low_, high_);
            highest_ = least(high_, count, highest_);
            for (std::size_t l = 0; l < count; ++l)
                if (low_[l] <= highest_) offer(i + l);
        }
    }

    // Costs before grow with the split, costs after it fall: the ends of a block bound both.
    void scan_blocks(std::size_t first, std::size_t last) {
        for (std::size_t i = first; i <= last; i += kSplitBlock * kSplitBlock) {
            const std::size_t count = (last - i) / kSplitBlock + 1;
            split_bounds(line_, before_, margin_, j_, i, kSplitBlock,
                         count < kSplitBlock ? count : kSplitBlock, low_, high_);
            highest_ = least(high_, count < kSplitBlock ? count : kSplitBlock, highest_);
        }
        for (std::size_t i = first; i <= last; i += kSplitBlock) {
            const std::size_t end = last - i < kSplitBlock ? last : i + kSplitBlock - 1;
            double low, high;
            split_bounds(line_, before_, margin_, j_, end, 1, 1, &low, &high);
            const double error = kRelativeMargin * (before_[end] + before_[i]) + fall_;
            if (low - before_[end] + before_[i] - error <= highest_) scan(i, end);
        }
    }

    const LineView& line_;
    const double* before_;
    std::size_t j_;
    double margin_, fall_, highest_ = __builtin_inf();
    Twofold cost_{0, 0};
    std::size_t split_ = 0, candidates_ = 0;
    double low_[kSplitBlock], high_[kSplitBlock];
};

// One level of divide and conquer: ranks (2q + 1)·step for q = first…last−1, see the twin.
inline void split_points(const LineView& line, const LayerView& layer, std::size_t step,
                         std::size_t first, std::size_t last) {
    const std::size_t n = line.stride - 1, base = layer.layer - 1, count = n - base;
    for (std::size_t q = first; q < last; ++q) {
        const std::size_t rank = (2 * q + 1) * step, j = base + rank;
        const std::size_t left = rank - step, right = rank + step;
        const std::size_t low =
            left > 0 ? static_cast<std::size_t>(layer.split[base + left]) : base;
        std::size_t high = right <= count ? static_cast<std::size_t>(layer.split[base + right]) : n;
        high = base == 0 ? 0 : high < j - 1 ? high : j - 1;
        high = high > low ? high : low;
        layer.split[j] = static_cast<std::int32_t>(SplitSearch(line, layer, j).run(low, high));
    }
}

// The costs of the splits of j = first…last−1.
inline void split_costs(const LineView& line, const LayerView& layer, std::size_t first,
                        std::size_t last) {
    for (std::size_t j = first; j < last; ++j) {
        const Twofold cost =
            split_cost(line, layer.before, static_cast<std::size_t>(layer.split[j]), j);
        layer.after[j] = cost.head;
        layer.after[line.stride + j] = cost.tail;
    }
}

}  // namespace partita::PARTITA_ISA
