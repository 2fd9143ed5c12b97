// Bindings of the sums of Gram matrix rows, and labels by them.

#include "common.hpp"

namespace partita::binding {

namespace {

// Columns per part: long enough to stream rows, short enough to keep the sums in cache.
constexpr std::size_t kPartColumns = 2048;

template <class T>
void gram_move(Matrix<T> rows, Vector<std::int64_t> which, Vector<std::int32_t> before,
               Vector<std::int32_t> after, Vector<double> row_shift, Vector<double> column_shift,
               double scale, double limb, Array<std::int64_t, 3> sums,
               std::optional<Vector<std::int64_t>> times, std::optional<Vector<double>> weight,
               Crew* crew) {
    const auto& use = kernels_of<T>(&table());
    const std::size_t count = which.shape(0), n = rows.shape(1), k = sums.shape(0);
    expect(sums.shape(1) == 2 && sums.shape(2) == n && column_shift.shape(0) == n,
           "gram_move: sums and column_shift must be as wide as the rows");
    expect(row_shift.shape(0) == count && (!times || times->shape(0) == count) &&
               (!weight || weight->shape(0) == count),
           "gram_move: row_shift, times and weight must have one entry per move");
    expect_labels(before, count, k, -1);
    expect_labels(after, count, k, 0);
    for (std::size_t e = 0; e < count; ++e)
        expect(which.data()[e] >= 0 && static_cast<std::size_t>(which.data()[e]) < rows.shape(0),
               "gram_move: there is no such row");
    const GramMoves<T> moves{rows.data(),
                             n,
                             count,
                             which.data(),
                             before.data(),
                             after.data(),
                             row_shift.data(),
                             column_shift.data(),
                             scale,
                             limb,
                             times ? times->data() : nullptr,
                             weight ? weight->data() : nullptr,
                             sums.data()};
    nb::gil_scoped_release release;
    const Executor executor(crew);
    parallel_for(executor, n, kPartColumns, 0,
                 [&](std::size_t first, std::size_t last, unsigned char*) {
                     use.gram_move(moves, first, last);
                 });
}

std::size_t gram_assign(Matrix<double> centers, OutVector<std::int32_t> labels, Crew* crew) {
    const std::size_t k = centers.shape(0), n = labels.shape(0);
    expect(k > 0 && centers.shape(1) == n + 1,
           "gram_assign: centers (k, n + 1) and labels (n) expected");
    nb::gil_scoped_release release;
    const Executor executor(crew);
    return parallel_reduce<PassCounts>(
               executor, n, kPartColumns, nullptr, 0,
               [&](std::size_t first, std::size_t last, const SumView*, unsigned char*) {
                   return table().gram_assign(centers.data(), k, n, first, last, labels.data());
               })
        .moved;
}

template <class T>
void bind_typed(nb::module_& m) {
    const auto none = nb::none();
    m.def("gram_move", &gram_move<T>, "rows"_a.noconvert(), "which"_a.noconvert(),
          "before"_a.noconvert(), "after"_a.noconvert(), "row_shift"_a.noconvert(),
          "column_shift"_a.noconvert(), "scale"_a, "limb"_a, "sums"_a.noconvert(), "times"_a = none,
          "weight"_a = none, "crew"_a = none);
}

}  // namespace

void bind_gram_sums(nb::module_& m) {
    bind_typed<float>(m);
    bind_typed<double>(m);
    m.def("gram_assign", &gram_assign, "centers"_a.noconvert(), "labels"_a.noconvert(),
          "crew"_a = nb::none());
}

}  // namespace partita::binding
