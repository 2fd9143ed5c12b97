// Bindings of the passes over panels of rows with similar margins.

#include <numeric>

#include "common.hpp"

namespace partita::binding {

namespace {

// True if the rows were packed for books like this one.
bool fits(const SortedRows& sorted, const Packed<Codebook<float>>& packed) {
    const BookView<float>& book = packed.book.view();
    return sorted.use == packed.use && sorted.panels.fit(book) && sorted.margins.fit(book);
}

// True if rows of this shape were packed.
template <class R>
bool holds(const SortedRows& sorted, const Matrix<R>& rows) {
    return rows.shape(0) == sorted.panels.n() && rows.shape(1) == sorted.panels.d();
}

// Packs the rows in the order of `margins`.
template <class R>
void pack_rows(const Packed<Codebook<float>>& packed, const Matrix<R>& rows,
               const RowMargins& margins, KeptPanels& panels, Crew* crew) {
    const std::size_t n = rows.shape(0), d = rows.shape(1), width = panels.width();
    const auto& use = kernels_of<R>(packed.use);
    const Executor executor(crew);
    const std::size_t step = std::max<std::size_t>(1, rows_per_part(executor, n) / width);
    parallel_for(executor, margins.panels(), step, use.assign_single_scratch(d),
                 [&](std::size_t first, std::size_t last, unsigned char* memory) {
                     use.keep_in_order(packed.book.view(), rows_of(rows),
                                       margins.order() + first * width, last - first,
                                       panels.view(first * width).data,
                                       panels.squares(first * width), memory);
                 });
}

// The rows by their labels, those of one label as they come.
std::vector<std::int32_t> by_label(const std::int32_t* labels, std::size_t n, std::size_t k) {
    std::vector<std::int32_t> order(n);
    std::vector<std::size_t> begin(k + 2, 0);
    auto key = [&](std::size_t i) { return static_cast<std::size_t>(labels[i] + 1); };  // −1: none
    for (std::size_t i = 0; i < n; ++i) ++begin[key(i) + 1];
    for (std::size_t l = 0; l + 1 < begin.size(); ++l) begin[l + 1] += begin[l];
    for (std::size_t i = 0; i < n; ++i) order[begin[key(i)]++] = static_cast<std::int32_t>(i);
    return order;
}

// Packs rows in the frame of a book: as they come, or by their labels if there are groups.
template <class R>
SortedRows* pack_panels(const Packed<Codebook<float>>& packed, Matrix<R> rows,
                        Vector<std::int32_t> labels, Crew* crew) {
    const std::size_t n = rows.shape(0);
    const BookView<float>& book = packed.book.view();
    expect(rows.shape(1) == book.d, "pack_panels: rows and centers have other numbers of features");
    expect(n < std::size_t{1} << 31, "pack_panels: too many rows");
    expect_labels(labels, n, book.k, -1);
    nb::gil_scoped_release release;
    const std::size_t width = packed.use->single.panel_width;
    std::vector<std::int32_t> order;
    if (book.groups > 1) {
        order = by_label(labels.data(), n, book.k);
    } else {
        order.resize(n);
        std::iota(order.begin(), order.end(), 0);
    }
    auto sorted = std::make_unique<SortedRows>(
        SortedRows{{KeptPanels(book, n, width), packed.use},
                   RowMargins(book, width, std::move(order), labels.data())});
    pack_rows(packed, rows, sorted->margins, sorted->panels, crew);
    return sorted.release();
}

// Sorts packed rows by their margins, in place.
template <class R>
void sort_panels(const Packed<Codebook<float>>& packed, SortedRows& sorted, Matrix<R> rows,
                 Crew* crew) {
    expect(fits(sorted, packed) && holds(sorted, rows),
           "sort_panels: other rows or centers were packed");
    nb::gil_scoped_release release;
    RowMargins margins = sorted.margins.sorted();
    pack_rows(packed, rows, margins, sorted.panels, crew);
    sorted.margins = std::move(margins);
}

// Labels the rows of panels first … last − 1; follow() must have been called with this book.
template <class R>
std::vector<std::int64_t> assign_panels(const Packed<Codebook<float>>& packed, SortedRows& sorted,
                                        Matrix<R> rows, OutVector<std::int32_t> labels,
                                        std::size_t first, std::size_t last, const Sums* sums,
                                        std::optional<Vector<std::int64_t>> times,
                                        std::optional<Vector<double>> weight, Crew* crew) {
    const std::size_t n = rows.shape(0), d = rows.shape(1);
    const BookView<float>& book = packed.book.view();
    const auto& use = kernels_of<R>(packed.use);
    RowMargins& margins = sorted.margins;
    expect(fits(sorted, packed), "assign_panels: rows packed for these centers expected");
    expect(margins.follows(book), "assign_panels: the panels must follow the centers first");
    expect(holds(sorted, rows), "assign_panels: other rows were packed");
    expect(first <= last && last <= margins.panels(), "assign_panels: there are fewer panels");
    expect_labels(labels, n, book.k, -1);
    expect(!sums || sums->hi.shape(0) == book.k, "assign_panels: sums of other clusters");
    SumView view{};
    if (sums) view = sums->view(times, weight, n, d);
    nb::gil_scoped_release release;
    const Executor executor(crew);
    const TravelView travel = margins.travel();
    const MarginView margin = margins.view(sorted.panels);
    // rows of one label, and so of one part, may all be open: parts are small
    const std::size_t width = packed.use->single.panel_width, count = last - first;
    const std::size_t step =
        std::max<std::size_t>(16, rows_per_part(executor, count * width) / width / 4);
    const PanelCounts counts = parallel_reduce<PanelCounts>(
        executor, count, step, sums ? &view : nullptr, use.panels_scratch(d, book.groups),
        [&](std::size_t from, std::size_t to, const SumView* into, unsigned char* memory) {
            return use.assign_panels(book, rows_of(rows), margin, travel, first + from, first + to,
                                     labels.data(), into, memory);
        });
    return {counts.moved, counts.rechecked, counts.pairs, counts.open_pairs};
}

template <class R>
void bind_typed(nb::module_& m) {
    const auto none = nb::none();
    m.def("pack_panels", &pack_panels<R>, "book"_a, "rows"_a.noconvert(), "labels"_a.noconvert(),
          "crew"_a = none, nb::rv_policy::take_ownership);
    m.def("sort_panels", &sort_panels<R>, "book"_a, "panels"_a, "rows"_a.noconvert(),
          "crew"_a = none);
    m.def("assign_panels", &assign_panels<R>, "book"_a, "panels"_a, "rows"_a.noconvert(),
          "labels"_a.noconvert(), "first"_a, "last"_a, "sums"_a = none, "times"_a = none,
          "weight"_a = none, "crew"_a = none);
}

}  // namespace

void bind_panel_passes(nb::module_& m) {
    nb::class_<SortedRows, KeptRows>(m, "SortedRows")
        .def_prop_ro("panels", [](const SortedRows& self) { return self.margins.panels(); })
        .def_prop_ro("width", [](const SortedRows& self) { return self.panels.width(); })
        .def(
            "follow",
            [](SortedRows& self, const Packed<Codebook<float>>& packed) {
                expect(fits(self, packed), "follow: rows packed for these centers expected");
                self.margins.follow(packed.book.view());
            },
            "book"_a)
        .def_prop_ro("k", [](const SortedRows& self) { return self.margins.k(); })
        .def("fit", &fits, "book"_a)
        .def(
            "relabel",
            [](SortedRows& self, Vector<std::int32_t> labels) {
                expect_labels(labels, self.margins.n(), self.margins.k(), -1);
                self.margins.relabel(labels.data());
            },
            "labels"_a.noconvert());
    bind_typed<float>(m);
    bind_typed<double>(m);
}

}  // namespace partita::binding
