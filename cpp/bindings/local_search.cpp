// Bindings of the local search of K-means.

#include "common.hpp"

namespace partita::binding {

namespace {

// Searches from several starts side by side: one start is searched by one thread.
void local_search(Matrix<double> rows, Vector<double> weight, Array<double, 3> centers,
                  Array<std::int32_t, 2> labels, OutVector<double> cost,
                  OutVector<std::int32_t> sweeps, bool spherical, std::int32_t max_sweeps,
                  Crew* crew) {
    const std::size_t n = rows.shape(0), d = rows.shape(1);
    const std::size_t starts = centers.shape(0), k = centers.shape(1);
    expect(n > 0 && d > 0 && k > 0, "local_search: rows and centers expected");
    expect(weight.shape(0) == n, "local_search: one weight per row expected");
    expect(centers.shape(2) == d && labels.shape(0) == starts && labels.shape(1) == n,
           "local_search: centers (b, k, d) and labels (b, n) expected");
    expect(cost.shape(0) == starts && sweeps.shape(0) == starts,
           "local_search: one result per start expected");
    const KernelTable& use = table();
    nb::gil_scoped_release release;
    const Executor executor(crew);
    parallel_for(executor, starts, 1, use.search_scratch(n, k, d),
                 [&](std::size_t first, std::size_t last, unsigned char* scratch) {
                     for (std::size_t b = first; b < last; ++b) {
                         const SearchView view{n,
                                               k,
                                               d,
                                               rows.data(),
                                               weight.data(),
                                               centers.data() + b * k * d,
                                               labels.data() + b * n};
                         const SearchEnd end =
                             use.local_search(view, spherical, max_sweeps, scratch);
                         cost.data()[b] = end.cost;
                         sweeps.data()[b] = end.sweeps;
                     }
                 });
}

}  // namespace

void bind_local_search(nb::module_& m) {
    m.def("local_search", &local_search, "rows"_a.noconvert(), "weight"_a.noconvert(),
          "centers"_a.noconvert(), "labels"_a.noconvert(), "cost"_a.noconvert(),
          "sweeps"_a.noconvert(), "spherical"_a, "max_sweeps"_a, "crew"_a = nb::none());
}

}  // namespace partita::binding
