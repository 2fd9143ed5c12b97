// Bindings of the sums of distances to clusters.

#include "common.hpp"

namespace partita::binding {

namespace {

// Rows sorted by cluster, checked.
ClusterView clusters_of(const Matrix<double>& rows, const Vector<double>& weight,
                        const Vector<std::int64_t>& start, const Vector<double>& mass) {
    const std::size_t k = mass.shape(0);
    expect(weight.shape(0) == rows.shape(0), "silhouette: one weight per row expected");
    expect(start.shape(0) == k + 1 && start.data()[0] == 0 &&
               start.data()[k] == static_cast<std::int64_t>(rows.shape(0)),
           "silhouette: start (k + 1) must begin with 0 and end with the number of rows");
    for (std::size_t j = 0; j < k; ++j)
        expect(start.data()[j] <= start.data()[j + 1], "silhouette: start must not decrease");
    return {k, rows.shape(1), rows.data(), weight.data(), start.data(), mass.data()};
}

// Points in panels (n / 64, d, 64) against all rows.
void silhouette(Array<const double, 3> panels, Vector<std::int32_t> own, Matrix<double> rows,
                Vector<double> weight, Vector<std::int64_t> start, Vector<double> mass,
                const std::string& metric, OutVector<double> inside, OutVector<double> outside,
                Crew* crew) {
    const std::size_t d = panels.shape(1), n = own.shape(0);
    expect(panels.shape(2) == kPanelRows && (n + kPanelRows - 1) / kPanelRows == panels.shape(0),
           "silhouette: panels must be (n / 64, d, 64), rounded up");
    expect(rows.shape(1) == d && inside.shape(0) == n && outside.shape(0) == n,
           "silhouette: shapes do not fit");
    const ClusterView view = clusters_of(rows, weight, start, mass);
    const Metric kind = metric_named(metric);
    const auto use = table().silhouette;
    nb::gil_scoped_release release;
    const Executor executor(crew);
    parallel_for(executor, panels.shape(0), 1, 0,
                 [&](std::size_t first, std::size_t last, unsigned char*) {
                     const std::size_t i = first * kPanelRows;
                     use(view, kind, panels.data() + i * d, std::min(n, last * kPanelRows) - i,
                         own.data() + i, inside.data() + i, outside.data() + i);
                 });
}

// Up to `most` strips from row `begin` on.
std::vector<StripView> strips_from(const ClusterView& view, std::size_t begin, std::size_t most) {
    std::vector<StripView> strips;
    for (std::size_t j = 0; j < view.k; ++j)
        for (std::size_t end = static_cast<std::size_t>(view.start[j + 1]);
             begin < end && strips.size() < most; begin = strips.back().last)
            strips.push_back({j, begin, std::min(end, begin + kPanelRows)});
    return strips;
}

// Adds the results of the strips to rows first…last−1, strip after strip. At the end of a cluster,
// the sums give the mean distances of the rows after it and complete those of its own rows.
void add_strips(const ClusterView& view, const std::vector<StripView>& strips, const double* across,
                std::size_t stride, std::size_t first, std::size_t last, double* lower,
                double* inside, double* outside) {
    for (const StripView& strip : strips) {
        for (std::size_t l = std::max(first, strip.last); l < last; ++l) lower[l] += across[l];
        across += stride;
        const std::size_t begin = static_cast<std::size_t>(view.start[strip.cluster]);
        const std::size_t end = static_cast<std::size_t>(view.start[strip.cluster + 1]);
        if (strip.last < end) continue;
        const double mass = view.mass[strip.cluster];
        for (std::size_t l = std::max(first, begin); l < std::min(last, end); ++l)
            inside[l] += lower[l];
        for (std::size_t l = std::max(first, end); l < last; ++l) {
            const double mean = lower[l] / mass;
            if (mass > 0 && mean < outside[l]) outside[l] = mean;
            lower[l] = 0;
        }
    }
}

// The same for all rows, every pair once: up to `most` strips from row `begin` on. Returns the row
// after the last. `lower` must start as zeros, and `outside` as infinity.
std::size_t silhouette_strips(Matrix<double> rows, Vector<double> weight,
                              Vector<std::int64_t> start, Vector<double> mass,
                              const std::string& metric, std::size_t begin, std::size_t most,
                              OutVector<double> lower, OutVector<double> inside,
                              OutVector<double> outside, Crew* crew) {
    const std::size_t n = rows.shape(0);
    expect(lower.shape(0) == n && inside.shape(0) == n && outside.shape(0) == n,
           "silhouette: shapes do not fit");
    expect(begin < n && most > 0, "silhouette: there are no such strips");
    const ClusterView view = clusters_of(rows, weight, start, mass);
    const Metric kind = metric_named(metric);
    const auto use = table().silhouette_strip;
    nb::gil_scoped_release release;
    const Executor executor(crew);
    const std::vector<StripView> strips = strips_from(view, begin, most);
    std::vector<double> across(strips.size() * n);
    parallel_for(executor, strips.size(), 1, view.d * kPanelRows * sizeof(double),
                 [&](std::size_t s, std::size_t, unsigned char* memory) {
                     use(view, kind, strips[s], across.data() + s * n, inside.data(),
                         outside.data(), reinterpret_cast<double*>(memory));
                 });
    parallel_for_evenly(executor, n, kPartsPerThread * executor.threads(),
                        [&](std::size_t first, std::size_t last) {
                            add_strips(view, strips, across.data(), n, first, last, lower.data(),
                                       inside.data(), outside.data());
                        });
    return strips.back().last;
}

}  // namespace

void bind_silhouette_sums(nb::module_& m) {
    m.def("silhouette", &silhouette, "panels"_a.noconvert(), "own"_a.noconvert(),
          "rows"_a.noconvert(), "weight"_a.noconvert(), "start"_a.noconvert(), "mass"_a.noconvert(),
          "metric"_a, "inside"_a.noconvert(), "outside"_a.noconvert(), "crew"_a = nb::none());
    m.def("silhouette_strips", &silhouette_strips, "rows"_a.noconvert(), "weight"_a.noconvert(),
          "start"_a.noconvert(), "mass"_a.noconvert(), "metric"_a, "begin"_a, "most"_a,
          "lower"_a.noconvert(), "inside"_a.noconvert(), "outside"_a.noconvert(),
          "crew"_a = nb::none());
}

}  // namespace partita::binding
