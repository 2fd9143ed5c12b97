// Bindings of the statistics of the data before a fit, and of the exact sum of doubles.

#include "common.hpp"

namespace partita::binding {

namespace {

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
    const std::size_t step = rows_per_part(executor, n);
    std::vector<T> partial((n + step - 1) / step * 3 * d);
    parallel_for(executor, n, step, 0, [&](std::size_t first, std::size_t last, unsigned char*) {
        T* part = partial.data() + first / step * 3 * d;
        std::copy_n(low.data(), d, part);
        std::copy_n(high.data(), d, part + d);
        use.extent({rows.data() + first * d, last - first, d},
                   weight ? weight->data() + first : nullptr, part, part + d, part + 2 * d);
    });
    for (std::size_t offset = 0; offset < partial.size(); offset += 3 * d)
        for (std::size_t t = 0; t < d; ++t) {
            low.data()[t] = std::min(low.data()[t], partial[offset + t]);
            high.data()[t] = std::max(high.data()[t], partial[offset + d + t]);
            taint.data()[t] += partial[offset + 2 * d + t];
        }
}

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
    std::vector<std::int64_t> partial((n + step - 1) / step * 4 * d);
    parallel_for(executor, n, step, 0, [&](std::size_t first, std::size_t last, unsigned char*) {
        use.count_beyond({rows.data() + first * d, last - first, d}, cuts.data(),
                         times ? times->data() + first : nullptr,
                         partial.data() + first / step * 4 * d);
    });
    for (std::size_t e = 0; e < partial.size(); ++e) counts.data()[e % (4 * d)] += partial[e];
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
}

}  // namespace

void bind_data_survey(nb::module_& m) {
    bind_typed<float>(m);
    bind_typed<double>(m);
    m.def("exact_sum", &exact_sum, "values"_a.noconvert(), "digits"_a.noconvert(),
          "weight"_a = nb::none(), "labels"_a = nb::none());
}

}  // namespace partita::binding
