// Bindings of the kernels of sparse rows.

#include "common.hpp"

namespace partita::binding {

namespace {

template <class T>
std::pair<std::int64_t, std::int64_t> assign_sparse(const Packed<SparseCodebook<T>>& packed,
                                                    const Csr<T>& rows,
                                                    OutVector<std::int32_t> labels,
                                                    const Sums* sums,
                                                    std::optional<Vector<std::int64_t>> times,
                                                    std::optional<Vector<double>> weight) {
    const CsrRows<T> csr = rows.view();
    const auto& book = packed.book;
    const auto& use = kernels_of<T>(packed.use);
    expect(csr.d == book.view().d, "assign: rows and centers have different numbers of features");
    expect_labels(labels, csr.n, book.view().k, -1);
    expect(!sums || sums->hi.shape(0) == book.view().k,
           "assign: sums of another number of clusters");
    SumView view{};
    if (sums) view = sums->view(times, weight, csr.n, csr.d);
    Memory memory = make_aligned<unsigned char>(use.sparse_scratch(csr.d, book.view().padded));
    nb::gil_scoped_release release;
    const PassCounts outcome =
        use.assign_sparse(book.view(), csr, sums ? &view : nullptr, labels.data(), memory.get());
    return {outcome.moved, outcome.rechecked};
}

template <class T>
void move_sparse(const Sums& sums, const Csr<T>& rows, Vector<std::int32_t> from,
                 Vector<std::int32_t> to, std::optional<Vector<std::int64_t>> times,
                 std::optional<Vector<double>> weight) {
    const auto& use = kernels_of<T>(&table());
    const CsrRows<T> csr = rows.view();
    expect_labels(from, csr.n, sums.hi.shape(0), -1);
    expect_labels(to, csr.n, sums.hi.shape(0), 0);
    const SumView view = sums.view(times, weight, csr.n, csr.d);
    nb::gil_scoped_release release;
    use.move_sparse(view, csr, from.data(), to.data());
}

template <class T>
void own_distance_sparse(const Csr<T>& rows, Matrix<double> centers, Matrix<double> squares,
                         Vector<std::int32_t> labels, OutVector<double> out) {
    const auto& use = kernels_of<T>(&table());
    const CsrRows<T> csr = rows.view();
    expect(centers.shape(1) == csr.d && out.shape(0) == csr.n &&
               squares.shape(0) == centers.shape(0) && squares.shape(1) == 2,
           "own_distance: shapes do not fit");
    expect_labels(labels, csr.n, centers.shape(0), 0);
    nb::gil_scoped_release release;
    use.own_distance_sparse(csr, centers.data(), squares.data(), labels.data(), out.data());
}

template <class T>
void square_lengths(const Csr<T>& rows, double scale, OutVector<double> out) {
    const CsrRows<T> csr = rows.view();
    expect(out.shape(0) == csr.n, "square_lengths: one per row expected");
    nb::gil_scoped_release release;
    kernels_of<T>(&table()).square_lengths(csr, scale, out.data());
}

template <class T>
void seed_distances_sparse(const Csr<T>& rows, double scale, Vector<double> squares,
                           const Csr<double>& candidates, Matrix<double> by_feature,
                           Vector<double> lengths, Array<double, 2> out) {
    const CsrRows<T> csr = rows.view();
    const CsrRows<double> drawn = candidates.view();
    expect(squares.shape(0) == csr.n && drawn.d == csr.d && by_feature.shape(0) == csr.d &&
               by_feature.shape(1) == drawn.n && lengths.shape(0) == drawn.n &&
               out.shape(0) == csr.n && out.shape(1) == drawn.n,
           "seed_distances_sparse: shapes do not fit");
    nb::gil_scoped_release release;
    kernels_of<T>(&table()).seed_distances_sparse(csr, scale, squares.data(), drawn,
                                                  by_feature.data(), lengths.data(), out.data());
}

void square_norms(Matrix<double> centers, Array<double, 2> out) {
    expect(out.shape(0) == centers.shape(0) && out.shape(1) == 2,
           "square_norms: out must be (k, 2)");
    nb::gil_scoped_release release;
    table().square_norms(centers.data(), centers.shape(0), centers.shape(1), out.data());
}

// Indices address the centers and the sums: one out of range must raise, not read out of bounds.
void expect_csr(const Vector<std::int64_t>& start, const Vector<std::int32_t>& column,
                std::size_t d) {
    const std::size_t n = start.shape(0);
    expect(n > 0 && start.data()[0] >= 0, "csr: start must begin at 0 or later");
    nb::gil_scoped_release release;
    bool wrong = false;  // no branch, for vectorisation
    for (std::size_t i = 0; i + 1 < n; ++i) wrong |= start.data()[i] > start.data()[i + 1];
    expect(!wrong, "csr: start must not decrease");
    expect(static_cast<std::size_t>(start.data()[n - 1]) <= column.shape(0),
           "csr: start reaches beyond the stored values");
    const std::int32_t* first = column.data() + start.data()[0];
    const std::size_t stored = static_cast<std::size_t>(start.data()[n - 1] - start.data()[0]);
    expect(d <= INT32_MAX, "csr: too many features");
    const std::uint32_t limit = static_cast<std::uint32_t>(d);
    std::uint32_t beyond = 0;
    for (std::size_t p = 0; p < stored; ++p)
        beyond |= static_cast<std::uint32_t>(first[p]) >= limit;
    expect(!beyond, "csr: a column index is out of range");
}

template <class T>
void bind_types(nb::module_& m, const char* sparse_book, const char* csr) {
    nb::class_<Packed<SparseCodebook<T>>>(m, sparse_book)
        .def(
            "__init__",
            [](Packed<SparseCodebook<T>>* self, Matrix<double> centers, std::size_t longest) {
                expect(centers.shape(0) > 0 && centers.shape(1) > 0,
                       "codebook: centers (k, d) expected");
                nb::gil_scoped_release release;
                new (self) Packed<SparseCodebook<T>>{
                    SparseCodebook<T>(centers.data(), centers.shape(0), centers.shape(1), longest),
                    &table()};
            },
            "centers"_a, "longest"_a);
    nb::class_<Csr<T>>(m, csr).def(
        "__init__",
        [](Csr<T>* self, Vector<std::int64_t> start, Vector<std::int32_t> column, Vector<T> value,
           std::size_t d) {
            expect_csr(start, column, d);
            expect(column.shape(0) == value.shape(0), "csr: column and value do not fit");
            new (self) Csr<T>{start, column, value, d};
        },
        "start"_a.noconvert(), "column"_a.noconvert(), "value"_a.noconvert(), "d"_a);
}

template <class T>
void bind_typed(nb::module_& m) {
    const auto none = nb::none();
    m.def("assign_sparse", &assign_sparse<T>, "book"_a, "rows"_a, "labels"_a.noconvert(),
          "sums"_a = none, "times"_a = none, "weight"_a = none);
    m.def("move_sparse", &move_sparse<T>, "sums"_a, "rows"_a, "before"_a.noconvert(),
          "after"_a.noconvert(), "times"_a = none, "weight"_a = none);
    m.def("own_distance_sparse", &own_distance_sparse<T>, "rows"_a, "centers"_a.noconvert(),
          "squares"_a.noconvert(), "labels"_a.noconvert(), "out"_a.noconvert());
    m.def("square_lengths", &square_lengths<T>, "rows"_a, "scale"_a, "out"_a.noconvert());
    m.def("seed_distances_sparse", &seed_distances_sparse<T>, "rows"_a, "scale"_a,
          "squares"_a.noconvert(), "candidates"_a, "by_feature"_a.noconvert(),
          "lengths"_a.noconvert(), "out"_a.noconvert());
}

}  // namespace

void bind_sparse_rows(nb::module_& m) {
    bind_types<float>(m, "SparseCodebook32", "Csr32");
    bind_types<double>(m, "SparseCodebook64", "Csr64");
    bind_typed<float>(m);
    bind_typed<double>(m);
    m.def("square_norms", &square_norms, "centers"_a.noconvert(), "out"_a.noconvert());
}

}  // namespace partita::binding
