// Mean distances to clusters.

#include "common.hpp"

namespace partita::binding {

namespace {

// Points in panels (n / 64, d, 64) against rows in the order of their clusters.
void silhouette(Array<const double, 3> panels, Vector<std::int32_t> own, Matrix<double> rows,
                Vector<double> weight, Vector<std::int64_t> start, Vector<double> mass,
                const std::string& metric, OutVector<double> inside, OutVector<double> outside,
                Crew* crew) {
    const std::size_t d = panels.shape(1), n = own.shape(0), k = mass.shape(0);
    expect(panels.shape(2) == kPanel && (n + kPanel - 1) / kPanel == panels.shape(0),
           "silhouette: panels must be (n / 64, d, 64), rounded up");
    expect(rows.shape(1) == d && weight.shape(0) == rows.shape(0) && inside.shape(0) == n &&
               outside.shape(0) == n,
           "silhouette: shapes do not fit");
    expect(start.shape(0) == k + 1 && start.data()[0] >= 0 &&
               start.data()[k] <= static_cast<std::int64_t>(rows.shape(0)),
           "silhouette: start (k + 1) must lie within the rows");
    for (std::size_t j = 0; j < k; ++j)
        expect(start.data()[j] <= start.data()[j + 1], "silhouette: start must not decrease");
    const Metric kind = metric_named(metric);
    const ClusterView view{k, d, rows.data(), weight.data(), start.data(), mass.data()};
    const auto use = table().silhouette;
    nb::gil_scoped_release release;
    const Workforce all(crew);
    share_parts(all, panels.shape(0), 1, 0,
                [&](std::size_t first, std::size_t last, unsigned char*) {
                    const std::size_t i = first * kPanel;
                    use(view, kind, panels.data() + i * d, std::min(n, last * kPanel) - i,
                        own.data() + i, inside.data() + i, outside.data() + i);
                });
}

}  // namespace

void bind_silhouette(nb::module_& m) {
    m.def("silhouette", &silhouette, "panels"_a.noconvert(), "own"_a.noconvert(),
          "rows"_a.noconvert(), "weight"_a.noconvert(), "start"_a.noconvert(),
          "mass"_a.noconvert(), "metric"_a, "inside"_a.noconvert(), "outside"_a.noconvert(),
          "crew"_a = nb::none());
}

}  // namespace partita::binding
