// Bindings of the pass over rows with gaps, and of distances over the values that rows have.

#include "common.hpp"

namespace partita::binding {

namespace {

template <class T>
std::int64_t assign_partial(Matrix<T> rows, Matrix<double> centers, Vector<double> origin,
                            double scale, double mark, OutVector<std::int32_t> labels,
                            const Sums* sums, std::optional<Vector<std::int64_t>> times,
                            std::optional<Vector<double>> weight, Crew* crew) {
    const auto& use = kernels_of<T>(&table());
    const std::size_t n = rows.shape(0), d = rows.shape(1), k = centers.shape(0);
    expect(k > 0 && centers.shape(1) == d && origin.shape(0) == d,
           "assign_partial: centers (k, d) and origin (d) expected");
    expect_labels(labels, n, k, -1);
    expect(!sums || sums->hi.shape(0) == k, "assign_partial: sums of another number of clusters");
    SumView view{};
    if (sums) view = sums->view(times, weight, n, 2 * d);
    const ExactView exact{k, d, centers.data(), origin.data(), scale};
    nb::gil_scoped_release release;
    const Executor executor(crew);
    const PassCounts outcome = parallel_reduce<PassCounts>(
        executor, n, rows_per_part(executor, n), sums ? &view : nullptr, use.partial_scratch(d),
        [&](std::size_t first, std::size_t last, const SumView* into, unsigned char* memory) {
            SumView part_sums{};
            if (into) part_sums = from_row(*into, first);
            return use.assign_partial(exact, {rows.data() + first * d, last - first, d}, mark,
                                      into ? &part_sums : nullptr, labels.data() + first, memory);
        });
    return outcome.moved;
}

template <class T>
void distances_partial(Matrix<T> rows, Matrix<double> centers, Array<double, 2> out) {
    const auto& use = kernels_of<T>(&table());
    const std::size_t n = rows.shape(0), d = rows.shape(1), k = centers.shape(0);
    expect(centers.shape(1) == d && out.shape(0) == n && out.shape(1) == k,
           "distances_partial: shapes do not fit");
    Memory memory = make_aligned<unsigned char>(use.partial_scratch(d));
    nb::gil_scoped_release release;
    use.distances_partial(rows_of(rows), centers.data(), k, reinterpret_cast<double*>(memory.get()),
                          out.data());
}

template <class T>
void own_distance_partial(Matrix<T> rows, Matrix<double> centers, Vector<double> origin,
                          Vector<std::int32_t> labels, OutVector<double> out, Crew* crew) {
    const auto& use = kernels_of<T>(&table());
    const std::size_t n = rows.shape(0), d = rows.shape(1);
    expect(centers.shape(1) == d && origin.shape(0) == d && out.shape(0) == n,
           "own_distance_partial: shapes do not fit");
    expect_labels(labels, n, centers.shape(0), 0);
    nb::gil_scoped_release release;
    const Executor executor(crew);
    parallel_for(executor, n, rows_per_part(executor, n), 0,
                 [&](std::size_t first, std::size_t last, unsigned char*) {
                     use.own_distance_partial({rows.data() + first * d, last - first, d},
                                              centers.data(), origin.data(), labels.data() + first,
                                              out.data() + first);
                 });
}

template <class T>
void bind_typed(nb::module_& m) {
    const auto none = nb::none();
    m.def("assign_partial", &assign_partial<T>, "rows"_a.noconvert(), "centers"_a.noconvert(),
          "origin"_a.noconvert(), "scale"_a, "mark"_a, "labels"_a.noconvert(), "sums"_a = none,
          "times"_a = none, "weight"_a = none, "crew"_a = none);
    m.def("distances_partial", &distances_partial<T>, "rows"_a.noconvert(), "centers"_a.noconvert(),
          "out"_a.noconvert());
    m.def("own_distance_partial", &own_distance_partial<T>, "rows"_a.noconvert(),
          "centers"_a.noconvert(), "origin"_a.noconvert(), "labels"_a.noconvert(),
          "out"_a.noconvert(), "crew"_a = none);
}

}  // namespace

void bind_partial_pass(nb::module_& m) {
    bind_typed<float>(m);
    bind_typed<double>(m);
}

}  // namespace partita::binding
