// Bindings of Gower's dissimilarity.

#include "common.hpp"

namespace partita::binding {

namespace {

void gower_columns(Array<const double, 3> panels, Matrix<double> centers, Vector<double> weights,
                   std::size_t numbers, std::size_t nominal, Array<double, 2> out, Crew* crew) {
    const std::size_t d = centers.shape(1), k = out.shape(0), n = out.shape(1);
    expect(panels.shape(2) == kPanelRows && panels.shape(1) == d &&
               (n + kPanelRows - 1) / kPanelRows == panels.shape(0),
           "gower: panels must be (n / 64, d, 64), rounded up");
    expect(centers.shape(0) == k && weights.shape(0) == d,
           "gower: centers (k, d), weights (d), out (k, n) expected");
    expect(numbers <= d && nominal <= d - numbers, "gower: more numbers and codes than features");
    const MixedFeatures features{numbers, nominal, d, weights.data()};
    nb::gil_scoped_release release;
    const Executor executor(crew);
    const std::size_t step = items_per_part(panels.shape(0), kPartsPerThread * executor.threads());
    parallel_for(executor, panels.shape(0), step, 0,
                 [&](std::size_t first, std::size_t last, unsigned char*) {
                     const std::size_t begin = first * kPanelRows;
                     table().gower_columns(panels.data() + begin * d, features,
                                           std::min(n, last * kPanelRows) - begin, centers.data(),
                                           k, out.data() + begin, n);
                 });
}

}  // namespace

void bind_gower(nb::module_& m) {
    m.def("gower_columns", &gower_columns, "panels"_a.noconvert(), "centers"_a.noconvert(),
          "weights"_a.noconvert(), "numbers"_a, "nominal"_a, "out"_a.noconvert(),
          "crew"_a = nb::none());
}

}  // namespace partita::binding
