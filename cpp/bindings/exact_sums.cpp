// Bindings of the exact sums.

#include "../kernels/sum_grid.hpp"
#include "common.hpp"

namespace partita::binding {

namespace {

double grid_steps(Vector<double> low, Vector<double> high, Vector<double> origin, double largest,
                  bool whole, OutVector<double> up) {
    const std::size_t d = origin.shape(0);
    expect(low.shape(0) == d && high.shape(0) == d && up.shape(0) == d + 2,
           "grid_steps: extent and origin (d), up (d + 2) expected");
    return partita::grid_steps(low.data(), high.data(), origin.data(), d, largest, whole,
                               up.data());
}

template <class T>
void move_rows(const Sums& sums, Matrix<T> rows, Vector<std::int32_t> from, Vector<std::int32_t> to,
               std::optional<Vector<std::int64_t>> times, std::optional<Vector<double>> weight,
               Crew* crew) {
    const auto& use = kernels_of<T>(&table());
    const std::size_t n = rows.shape(0), d = rows.shape(1);
    expect_labels(from, n, sums.hi.shape(0), -1);
    expect_labels(to, n, sums.hi.shape(0), 0);
    const SumView view = sums.view(times, weight, n, d);
    const std::size_t scratch = use.assign_scratch(d);
    nb::gil_scoped_release release;
    const Executor executor(crew);
    parallel_reduce<PassCounts>(
        executor, n, rows_per_part(executor, n), &view, scratch,
        [&](std::size_t first, std::size_t last, const SumView* into, unsigned char* memory) {
            const SumView part_sums = from_row(*into, first);
            use.move_rows(part_sums, {rows.data() + first * d, last - first, d},
                          from.data() + first, to.data() + first, memory);
            return PassCounts{};
        });
}

void summarise(const Sums& sums, double unit, Matrix<double> centers, OutVector<double> weight,
               Array<double, 2> mean, OutVector<double> sse, OutVector<double> gap, Crew* crew) {
    const std::size_t k = sums.hi.shape(0), d = sums.origin.shape(0);
    expect(centers.shape(0) == k && centers.shape(1) == d, "summarise: centers must be (k, d)");
    expect(weight.shape(0) == k && sse.shape(0) == k && gap.shape(0) == k && mean.shape(0) == k &&
               mean.shape(1) == d,
           "summarise: outputs must be (k), (k, d), (k), (k)");
    const SumView view = sums.view(std::nullopt, std::nullopt, 0, d);
    nb::gil_scoped_release release;
    const Executor executor(crew);
    const std::size_t parts =
        std::min(k * (d + 2) / kSerialCenterValues + 1, 2 * executor.threads());
    parallel_for_evenly(executor, k, parts, [&](std::size_t first, std::size_t last) {
        table().summarise(view, unit, first, last, centers.data(), weight.data(), mean.data(),
                          sse.data(), gap.data());
    });
}

template <class T>
void bind_typed(nb::module_& m) {
    const auto none = nb::none();
    m.def("move_rows", &move_rows<T>, "sums"_a, "rows"_a.noconvert(), "before"_a.noconvert(),
          "after"_a.noconvert(), "times"_a = none, "weight"_a = none, "crew"_a = none);
}

}  // namespace

void bind_exact_sums(nb::module_& m) {
    nb::class_<Sums>(m, "Sums").def(nb::init<Array<std::int64_t, 2>, Array<std::int64_t, 2>,
                                             Vector<double>, Vector<double>, double, double>(),
                                    "hi"_a.noconvert(), "lo"_a.noconvert(), "origin"_a.noconvert(),
                                    "up"_a.noconvert(), "scale"_a, "limb"_a);
    bind_typed<float>(m);
    bind_typed<double>(m);
    m.def("grid_steps", &grid_steps, "low"_a.noconvert(), "high"_a.noconvert(),
          "origin"_a.noconvert(), "largest"_a, "whole"_a, "up"_a.noconvert());
    const auto none = nb::none();
    m.def("summarise", &summarise, "sums"_a, "unit"_a, "centers"_a.noconvert(),
          "weight"_a.noconvert(), "mean"_a.noconvert(), "sse"_a.noconvert(), "gap"_a.noconvert(),
          "crew"_a = none);
}

}  // namespace partita::binding
