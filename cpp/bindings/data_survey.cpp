// Bindings of the statistics of the data before a fit, and of the exact sum of doubles.

#include <numeric>

#include "common.hpp"

namespace partita::binding {

namespace {

// How many rows are looked at side by side, so that they fill whole vectors; rows with weights of
// their own cannot be merged.
template <class T>
std::size_t merged_rows(std::size_t d, bool weighted) {
    constexpr std::size_t lanes = 64 / sizeof(T);  // of the widest vectors
    return weighted ? 1 : lanes / std::gcd(d, lanes);
}

// Lowers `low`, raises `high`, taints `taint`: first for each part, then together.
template <class T>
void extent(Matrix<T> rows, OutVector<T> low, OutVector<T> high, OutVector<T> taint,
            std::optional<Vector<double>> weight, Crew* crew) {
    const auto& use = kernels_of<T>(&table());
    const std::size_t n = rows.shape(0), d = rows.shape(1);
    expect(low.shape(0) == d && high.shape(0) == d && taint.shape(0) == d &&
               (!weight || weight->shape(0) == n),
           "extent: shapes do not fit");
    nb::gil_scoped_release release;
    const Executor executor(crew);
    const std::size_t step = rows_per_part(executor, n), merged = merged_rows<T>(d, !!weight);
    const std::size_t wide = merged * d;
    std::vector<T> partial((n + step - 1) / step * 3 * wide);
    parallel_for(executor, n, step, 0, [&](std::size_t first, std::size_t last, unsigned char*) {
        T* part = partial.data() + first / step * 3 * wide;
        for (std::size_t r = 0; r < merged; ++r) {
            std::copy_n(low.data(), d, part + r * d);
            std::copy_n(high.data(), d, part + wide + r * d);
        }
        const T* data = rows.data() + first * d;
        const std::size_t whole = (last - first) / merged, rest = (last - first) % merged;
        use.extent({data, whole, wide}, weight ? weight->data() + first : nullptr, part,
                   part + wide, part + 2 * wide);
        use.extent({data + whole * wide, rest, d}, nullptr, part, part + wide, part + 2 * wide);
    });
    for (std::size_t offset = 0; offset < partial.size(); offset += 3 * wide)
        for (std::size_t e = 0; e < wide; ++e) {
            const std::size_t t = e % d;
            low.data()[t] = std::min(low.data()[t], partial[offset + e]);
            high.data()[t] = std::max(high.data()[t], partial[offset + wide + e]);
            taint.data()[t] += partial[offset + 2 * wide + e];
        }
}

// Counts of values beyond cuts (4, d), part by part.
template <class T>
class BeyondCounts {
public:
    BeyondCounts(const T* cuts, std::size_t d, bool weighted, std::size_t parts)
        : d_(d), merged_(merged_rows<T>(d, weighted)), cuts_(cuts) {
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
    constexpr std::size_t kCachedBytes = 1 << 17;
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
