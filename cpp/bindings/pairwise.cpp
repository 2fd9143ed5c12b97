// Bindings of the measures between rows, and of the exponential that kernels need.

#include "common.hpp"

namespace partita::binding {

namespace {

constexpr std::size_t kPartValues = 1 << 14;  // exponentials of one part

Metric measure_named(const std::string& name) {
    if (name == "dot") return Metric::dot;
    return name == "chi2" ? Metric::chi2 : metric_named(name);
}

// Runs the kernel on parts of the panels; T is the type of rows, A that of results.
template <class T, class A, class Kernel>
void run_panels(const Array<const T, 3>& panels, const A* centers, Metric metric, Array<A, 2> out,
                Crew* crew, Kernel kernel) {
    const std::size_t d = panels.shape(1), k = out.shape(0), n = out.shape(1);
    nb::gil_scoped_release release;
    const Executor executor(crew);
    const std::size_t step = items_per_part(panels.shape(0), kPartsPerThread * executor.threads());
    parallel_for(executor, panels.shape(0), step, 0,
                 [&](std::size_t first, std::size_t last, unsigned char*) {
                     kernel(panels.data() + first * d * kPanelRows, d,
                            std::min(n, last * kPanelRows) - first * kPanelRows, centers, k, metric,
                            out.data() + first * kPanelRows, n);
                 });
}

template <class T, class A>
void expect_pairs(const Array<const T, 3>& panels, const Matrix<T>& centers,
                  const Array<A, 2>& out) {
    expect(panels.shape(2) == kPanelRows &&
               (out.shape(1) + kPanelRows - 1) / kPanelRows == panels.shape(0),
           "pairs: panels must be (n / 64, d, 64), rounded up");
    expect(centers.shape(1) == panels.shape(1) && out.shape(0) == centers.shape(0),
           "pairs: centers (k, d), out (k, n) expected");
}

template <class T>
void pair_columns(Array<const T, 3> panels, Matrix<T> centers, const std::string& metric,
                  Array<T, 2> out, Crew* crew) {
    expect_pairs(panels, centers, out);
    run_panels<T, T>(panels, centers.data(), measure_named(metric), out, crew,
                     kernels_of<T>(&table()).pair_columns);
}

// Rows of floats, measured in double.
void pair_columns_in_double(Array<const float, 3> panels, Matrix<float> centers,
                            const std::string& metric, Array<double, 2> out, Crew* crew) {
    expect_pairs(panels, centers, out);
    const std::vector<double> wide(centers.data(), centers.data() + centers.size());
    run_panels<float, double>(panels, wide.data(), measure_named(metric), out, crew,
                              table().single.pair_columns_in_double);
}

using Values = nb::ndarray<double, nb::c_contig, nb::device::cpu>;

void replace_values(Values values, void (*use)(double*, std::size_t), Crew* crew) {
    nb::gil_scoped_release release;
    const Executor executor(crew);
    parallel_for(executor, values.size(), kPartValues, 0,
                 [&](std::size_t first, std::size_t last, unsigned char*) {
                     use(values.data() + first, last - first);
                 });
}

void exponentials(Values values, Crew* crew) { replace_values(values, table().exponentials, crew); }

void exponentials_less_one(Values values, Crew* crew) {
    replace_values(values, table().exponentials_less_one, crew);
}

template <class Function>
void bind_pairs(nb::module_& m, Function pairs) {
    m.def("pair_columns", pairs, "panels"_a.noconvert(), "centers"_a.noconvert(), "metric"_a,
          "out"_a.noconvert(), "crew"_a = nb::none());
}

}  // namespace

void bind_pairwise(nb::module_& m) {
    bind_pairs(m, &pair_columns<float>);
    bind_pairs(m, &pair_columns<double>);
    bind_pairs(m, &pair_columns_in_double);
    m.def("exponentials", &exponentials, "values"_a.noconvert(), "crew"_a = nb::none());
    m.def("exponentials_less_one", &exponentials_less_one, "values"_a.noconvert(),
          "crew"_a = nb::none());
}

}  // namespace partita::binding
