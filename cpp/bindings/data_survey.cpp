// Bindings of the statistics of the data before a fit, and of the exact sum of doubles.

#include <numeric>

#include "common.hpp"

namespace partita::binding {

namespace {

// The extents of parts of the rows. So many rows are taken side by side that loops over them are
// long; rows with weights of their own cannot be merged. Threads write to different cache lines.
template <class T>
class PartExtents {
public:
    PartExtents(const T* low, const T* high, std::size_t d, bool weighted, std::size_t parts)
        : d_(d), merged_(weighted ? 1 : (kLongLoop + d - 1) / d) {
        const std::size_t wide = merged_ * d;
        std::vector<T> none(part_size(), T(0));
        for (std::size_t e = 0; e < wide; ++e) none[e] = low[e % d], none[wide + e] = high[e % d];
        for (std::size_t part = 0; part < parts; ++part)
            values_.insert(values_.end(), none.begin(), none.end());
    }

    void find(const Kernels<T>& use, std::size_t part, const Rows<T>& rows, const double* weight) {
        const std::size_t wide = merged_ * d_, whole = rows.n / merged_, rest = rows.n % merged_;
        T* low = values_.data() + part * part_size();
        use.extent({rows.data, whole, wide}, weight, low, low + wide, low + 2 * wide);
        use.extent({rows.data + (rows.n - rest) * d_, rest, d_}, nullptr, low, low + wide,
                   low + 2 * wide);
    }

    void join(T* low, T* high, T* taint) const {
        const std::size_t wide = merged_ * d_;
        for (std::size_t at = 0; at < values_.size(); at += part_size())
            for (std::size_t e = 0; e < wide; ++e) {
                const std::size_t t = e % d_;
                low[t] = std::min(low[t], values_[at + e]);
                high[t] = std::max(high[t], values_[at + wide + e]);
                taint[t] += values_[at + 2 * wide + e];
            }
    }

private:
    static constexpr std::size_t kLongLoop = 128;         // values
    static constexpr std::size_t kGap = 128 / sizeof(T);  // values between parts
    std::size_t part_size() const { return 3 * merged_ * d_ + kGap; }

    std::size_t d_, merged_;
    std::vector<T> values_;  // of each part: low, high, taint
};

// Lowers `low`, raises `high`, taints `taint`: first for each part, then together.
template <class T>
void extent(Matrix<T> rows, OutVector<T> low, OutVector<T> high, OutVector<T> taint,
            std::optional<Vector<double>> weight, Crew* crew) {
    const auto& use = kernels_of<T>(&table());
    const std::size_t n = rows.shape(0), d = rows.shape(1);
    expect(d > 0 && low.shape(0) == d && high.shape(0) == d && taint.shape(0) == d &&
               (!weight || weight->shape(0) == n),
           "extent: shapes do not fit");
    nb::gil_scoped_release release;
    const Executor executor(crew);
    const std::size_t step = rows_per_part(executor, n);
    PartExtents<T> parts(low.data(), high.data(), d, weight.has_value(), (n + step - 1) / step);
    parallel_for(executor, n, step, 0, [&](std::size_t first, std::size_t last, unsigned char*) {
        parts.find(use, first / step, {rows.data() + first * d, last - first, d},
                   weight ? weight->data() + first : nullptr);
    });
    parts.join(low.data(), high.data(), taint.data());
}

// True if all values are whole numbers of small magnitude.
template <class T>
bool are_whole(Matrix<T> rows) {
    nb::gil_scoped_release release;
    return kernels_of<T>(&table()).are_whole(rows.data(), rows.shape(0) * rows.shape(1));
}

// How many values of each feature are in each of some bins of its extent, part by part.
template <class T>
class BinCounts {
public:
    BinCounts(const double* low, const double* extent, std::size_t d, std::size_t parts)
        : d_(d), low_(low), scale_(d), counts_(parts * part_size()) {
        for (std::size_t t = 0; t < d; ++t)
            scale_[t] =
                extent[t] > kBins * std::numeric_limits<double>::min() ? kBins / extent[t] : 0.0;
    }

    // Values of a block are read feature by feature, so that their bins stay in the cache.
    void add(std::size_t part, const T* rows, std::size_t n) {
        constexpr std::size_t kAtOnce = 32;  // features
        std::uint32_t* counts = counts_.data() + part * part_size();
        for (std::size_t from = 0; from < d_; from += kAtOnce) {
            const std::size_t to = std::min(from + kAtOnce, d_);
            for (std::size_t i = 0; i < n; ++i)
                for (std::size_t t = from; t < to; ++t) {
                    const double bin =
                        (static_cast<double>(rows[i * d_ + t]) - low_[t]) * scale_[t];
                    const bool inside = bin > 0 && bin <= kBins;  // false for NaN
                    ++counts[t * kWide + (inside ? static_cast<std::size_t>(bin) : 0)];
                }
        }
    }

    // True if two neighbouring bins hold half of the values: only then can half of them be nearer
    // to one value than a small part of a bin.
    bool is_one_full(std::size_t t, std::size_t n) const {
        std::uint32_t most = 0, last = 0;
        for (std::size_t b = 0; b <= kBins; ++b) {
            std::uint32_t held = 0;
            for (std::size_t at = t * kWide + b; at < counts_.size(); at += part_size())
                held += counts_[at];
            most = std::max(most, last + held);
            last = held;
        }
        return 2 * static_cast<std::size_t>(most) >= n;
    }

private:
    static constexpr std::size_t kBins = 64, kWide = 80;
    std::size_t part_size() const { return d_ * kWide + 32; }  // parts share no cache line

    std::size_t d_;
    const double* low_;
    std::vector<double> scale_;
    std::vector<std::uint32_t> counts_;
};

// True if at least half of the values that differ from the lower median are at most `near` from it;
// reorders them.
template <class T>
bool crowd_the_median(T* values, std::size_t count, double near) {
    T* middle = values + (count - 1) / 2;
    std::nth_element(values, middle, values + count);
    const T median = *middle;
    std::size_t close = 0, equal = 0;
    for (std::size_t i = 0; i < count; ++i) {
        const T away = std::abs(values[i] - median);
        close += static_cast<double>(away) <= near;
        equal += away == 0;
    }
    return 2 * close >= count + equal;
}

// out[t] = 1 if half of the values of feature t that differ from its lower median are at most
// near[t] from it, a small part of its extent.
template <class T>
void crowded_features(Matrix<T> rows, Vector<double> low, Vector<double> extent,
                      Vector<double> near, OutVector<std::uint8_t> out, Crew* crew) {
    const std::size_t n = rows.shape(0), d = rows.shape(1);
    expect(n > 0 && low.shape(0) == d && extent.shape(0) == d && near.shape(0) == d &&
               out.shape(0) == d,
           "crowded_features: shapes do not fit");
    nb::gil_scoped_release release;
    const Executor executor(crew);
    const std::size_t step = rows_per_part(executor, n);
    BinCounts<T> bins(low.data(), extent.data(), d, (n + step - 1) / step);
    parallel_for(executor, n, step, 0, [&](std::size_t first, std::size_t last, unsigned char*) {
        bins.add(first / step, rows.data() + first * d, last - first);
    });
    std::vector<T> column;
    for (std::size_t t = 0; t < d; ++t) {
        out.data()[t] = extent.data()[t] > 0 && bins.is_one_full(t, n);
        if (!out.data()[t]) continue;
        column.resize(n);
        for (std::size_t i = 0; i < n; ++i) column[i] = rows.data()[i * d + t];
        out.data()[t] = crowd_the_median(column.data(), n, near.data()[t]);
    }
}

// Counts of values beyond cuts (4, d), part by part. So many rows are counted side by side that
// they fill whole vectors; rows with weights of their own cannot be merged.
template <class T>
class BeyondCounts {
public:
    BeyondCounts(const T* cuts, std::size_t d, bool weighted, std::size_t parts)
        : d_(d), merged_(weighted ? 1 : kLanes / std::gcd(d, kLanes)), cuts_(cuts) {
        for (std::size_t c = 0; c < 4; ++c)
            for (std::size_t r = 0; r < merged_; ++r)
                merged_cuts_.insert(merged_cuts_.end(), cuts + c * d, cuts + (c + 1) * d);
        counts_.resize(parts * part_size());
    }

    void add(const Kernels<T>& use, std::size_t part, const Rows<T>& rows,
             const std::int64_t* times) {
        std::int64_t* counts = counts_.data() + part * part_size();
        const std::size_t whole = rows.n / merged_, rest = rows.n % merged_;
        use.count_beyond({rows.data, whole, merged_ * d_}, merged_cuts_.data(), times, counts);
        use.count_beyond({rows.data + (rows.n - rest) * d_, rest, d_}, cuts_, nullptr,
                         counts + 4 * merged_ * d_);
    }

    void add_to(std::int64_t* total) const {
        for (std::size_t part = 0; part < counts_.size(); part += part_size())
            for (std::size_t c = 0; c < 4; ++c)
                for (std::size_t t = 0; t < d_; ++t) {
                    const std::int64_t* merged = counts_.data() + part + c * merged_ * d_ + t;
                    for (std::size_t r = 0; r < merged_; ++r) total[c * d_ + t] += merged[r * d_];
                    total[c * d_ + t] += counts_[part + (4 * merged_ + c) * d_ + t];
                }
    }

private:
    static constexpr std::size_t kLanes = 64 / sizeof(T);  // of the widest vectors
    std::size_t part_size() const { return 4 * (merged_ + 1) * d_; }

    std::size_t d_, merged_;
    const T* cuts_;
    std::vector<T> merged_cuts_;
    std::vector<std::int64_t> counts_;  // of each part: of merged rows, then of the rest
};

// counts (4, d) += values below cuts[0], above cuts[1], below cuts[2], above cuts[3].
template <class T>
void count_beyond(Matrix<T> rows, Matrix<T> cuts, Array<std::int64_t, 2> counts,
                  std::optional<Vector<std::int64_t>> times, Crew* crew) {
    const auto& use = kernels_of<T>(&table());
    const std::size_t n = rows.shape(0), d = rows.shape(1);
    expect(cuts.shape(0) == 4 && cuts.shape(1) == d && counts.shape(0) == 4 &&
               counts.shape(1) == d && (!times || times->shape(0) == n),
           "count_beyond: shapes do not fit");
    nb::gil_scoped_release release;
    const Executor executor(crew);
    const std::size_t step = rows_per_part(executor, n);
    BeyondCounts<T> beyond(cuts.data(), d, times.has_value(), (n + step - 1) / step);
    parallel_for(executor, n, step, 0, [&](std::size_t first, std::size_t last, unsigned char*) {
        beyond.add(use, first / step, {rows.data() + first * d, last - first, d},
                   times ? times->data() + first : nullptr);
    });
    beyond.add_to(counts.data());
}

// Adds all rows to cluster 0 of the sums, and counts as `count_beyond` while they are in the cache.
template <class T>
void total_rows(const Sums& sums, Matrix<T> rows, Matrix<T> cuts, Array<std::int64_t, 2> counts,
                std::optional<Vector<std::int64_t>> counted,
                std::optional<Vector<std::int64_t>> times, std::optional<Vector<double>> weight,
                Crew* crew) {
    constexpr std::size_t kCachedBytes = 1 << 18;
    const auto& use = kernels_of<T>(&table());
    const std::size_t n = rows.shape(0), d = rows.shape(1);
    expect(sums.hi.shape(0) > 0 && cuts.shape(0) == 4 && cuts.shape(1) == d &&
               counts.shape(0) == 4 && counts.shape(1) == d && (!counted || counted->shape(0) == n),
           "total_rows: shapes do not fit");
    const SumView view = sums.view(times, weight, n, d);
    nb::gil_scoped_release release;
    const Executor executor(crew);
    const std::size_t step = rows_per_part(executor, n);
    const std::size_t cached = std::max<std::size_t>(16, kCachedBytes / (d * sizeof(T)));
    BeyondCounts<T> beyond(cuts.data(), d, counted.has_value(), (n + step - 1) / step);
    parallel_reduce<PassCounts>(
        executor, n, step, &view, use.assign_scratch(d),
        [&](std::size_t first, std::size_t last, const SumView* into, unsigned char* memory) {
            for (std::size_t i = first; i < last; i += cached) {
                const Rows<T> some{rows.data() + i * d, std::min(cached, last - i), d};
                use.add_rows(from_row(*into, i), some, memory);
                beyond.add(use, first / step, some, counted ? counted->data() + i : nullptr);
            }
            return PassCounts{};
        });
    beyond.add_to(counts.data());
}

// digits (k, 136) += the exact sum of the terms of each label.
void exact_sum(Vector<double> values, Array<std::int64_t, 2> digits,
               std::optional<Vector<double>> weight, std::optional<Vector<std::int32_t>> labels) {
    const std::size_t n = values.shape(0);
    expect(digits.shape(1) == kExactDigits && (labels || digits.shape(0) == 1) &&
               (!weight || weight->shape(0) == n),
           "exact_sum: shapes do not fit");
    nb::gil_scoped_release release;
    if (labels) expect_labels(*labels, n, digits.shape(0), 0);
    table().exact_sum(
        {values.data(), n, weight ? weight->data() : nullptr, labels ? labels->data() : nullptr},
        digits.data());
}

template <class T>
void bind_typed(nb::module_& m) {
    const auto none = nb::none();
    m.def("extent", &extent<T>, "rows"_a.noconvert(), "low"_a.noconvert(), "high"_a.noconvert(),
          "taint"_a.noconvert(), "weight"_a = none, "crew"_a = none);
    m.def("are_whole", &are_whole<T>, "rows"_a.noconvert());
    m.def("crowded_features", &crowded_features<T>, "rows"_a.noconvert(), "low"_a.noconvert(),
          "extent"_a.noconvert(), "near"_a.noconvert(), "out"_a.noconvert(), "crew"_a = none);
    m.def("count_beyond", &count_beyond<T>, "rows"_a.noconvert(), "cuts"_a.noconvert(),
          "counts"_a.noconvert(), "times"_a = none, "crew"_a = none);
    m.def("total_rows", &total_rows<T>, "sums"_a, "rows"_a.noconvert(), "cuts"_a.noconvert(),
          "counts"_a.noconvert(), "counted"_a = none, "times"_a = none, "weight"_a = none,
          "crew"_a = none);
}

}  // namespace

void bind_data_survey(nb::module_& m) {
    bind_typed<float>(m);
    bind_typed<double>(m);
    m.def("exact_sum", &exact_sum, "values"_a.noconvert(), "digits"_a.noconvert(),
          "weight"_a = nb::none(), "labels"_a = nb::none());
}

}  // namespace partita::binding
