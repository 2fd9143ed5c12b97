// Bindings of the passes over panels of one label, compared with the neighbours of its center.

#include "../kernels/neighbour_rows.hpp"
#include "common.hpp"

namespace partita::binding {

namespace {

// Rows in panels of one label. As kept rows, they give books their frame.
struct PanelsByLabel : KeptRows {
    NeighbourRows state;
    bool has_gaps = false;  // distances between the centers of the pass to come are known
};

// True if the rows were packed for books like this one.
bool fits(const PanelsByLabel& labelled, const Packed<Codebook<float>>& packed) {
    const BookView<float>& book = packed.book.view();
    return labelled.use == packed.use && book.k == labelled.state.k() && book.groups == 1 &&
           labelled.panels.fit(book);
}

template <class R>
bool holds(const PanelsByLabel& labelled, const Matrix<R>& rows) {
    return rows.shape(0) == labelled.state.n() && rows.shape(1) == labelled.panels.d();
}

// Packs the rows in the order of the panels.
template <class R>
void pack_rows(const Packed<Codebook<float>>& packed, const Matrix<R>& rows,
               PanelsByLabel& labelled, Crew* crew) {
    const auto& use = kernels_of<R>(packed.use);
    const std::size_t width = labelled.panels.width();
    const Executor executor(crew);
    const std::size_t step =
        std::max<std::size_t>(1, rows_per_part(executor, rows.shape(0)) / width);
    parallel_for(executor, labelled.state.panels(), step, use.assign_single_scratch(rows.shape(1)),
                 [&](std::size_t first, std::size_t last, unsigned char* memory) {
                     for (std::size_t p = first; p < last; ++p) labelled.state.drop_bounds(p);
                     use.keep_in_order(packed.book.view(), rows_of(rows),
                                       labelled.state.order() + first * width, last - first,
                                       labelled.panels.view(first * width).data,
                                       labelled.panels.squares(first * width), memory);
                 });
}

// Packs rows in panels of one label, by `square` (n), their squared distances to their centers.
template <class R>
PanelsByLabel* pack_neighbours(const Packed<Codebook<float>>& packed, Matrix<R> rows,
                               Vector<std::int32_t> labels, Vector<double> square, Crew* crew) {
    const std::size_t n = rows.shape(0);
    const BookView<float>& book = packed.book.view();
    expect(rows.shape(1) == book.d,
           "pack_neighbours: rows and centers have other numbers of features");
    expect(n < std::size_t{1} << 30, "pack_neighbours: too many rows");
    expect(book.groups == 1, "pack_neighbours: centers in groups");
    expect(square.shape(0) == n, "square: one per row expected");
    expect_labels(labels, n, book.k, 0);
    nb::gil_scoped_release release;
    const std::size_t width = packed.use->single.panel_width;
    std::vector<float> away(n);
    for (std::size_t i = 0; i < n; ++i)
        away[i] =
            static_cast<float>(std::sqrt(square.data()[i]) * static_cast<double>(book.fast_scale));
    NeighbourRows state(book, n, width, packed.use->lower_bounds);
    auto labelled = std::make_unique<PanelsByLabel>(PanelsByLabel{
        {KeptPanels(book, state.places(), width), packed.use}, std::move(state), false});
    labelled->state.arrange(labels.data(), away.data());
    pack_rows(packed, rows, *labelled, crew);
    return labelled.release();
}

// Sorts packed rows by their labels and distances, in place.
template <class R>
void sort_neighbours(const Packed<Codebook<float>>& packed, PanelsByLabel& labelled, Matrix<R> rows,
                     Vector<std::int32_t> labels, Crew* crew) {
    expect(fits(labelled, packed) && holds(labelled, rows),
           "sort_neighbours: other rows or centers were packed");
    expect_labels(labels, labelled.state.n(), labelled.state.k(), 0);
    nb::gil_scoped_release release;
    labelled.state.sort(labels.data());
    pack_rows(packed, rows, labelled, crew);
}

// Takes the centers of the pass to come.
void follow(PanelsByLabel& labelled, const Packed<Codebook<float>>& packed, bool with_gaps,
            Crew* crew) {
    expect(fits(labelled, packed), "follow: rows packed for these centers expected");
    nb::gil_scoped_release release;
    const BookView<float>& book = packed.book.view();
    NeighbourRows& state = labelled.state;
    state.follow(book);
    labelled.has_gaps = with_gaps;
    if (!with_gaps) return;
    const Executor executor(book.k * book.d < kSerialCenterValues ? nullptr : crew);
    const std::size_t width = packed.use->single.panel_width;
    const std::size_t panels = (book.k + width - 1) / width;
    parallel_for(executor, panels, 1, packed.use->gaps_scratch(book.d),
                 [&](std::size_t first, std::size_t last, unsigned char* memory) {
                     for (std::size_t p = first; p < last; ++p)
                         packed.use->center_gaps(book, state.centers(), state.center_stride(),
                                                 p * width, state.gap(), gap_stride(book.k),
                                                 memory);
                 });
}

// Labels the rows of panels first … last − 1; follow() must have been called with this book.
template <class R>
std::vector<std::int64_t> assign_neighbours(const Packed<Codebook<float>>& packed,
                                            PanelsByLabel& labelled, Matrix<R> rows,
                                            OutVector<std::int32_t> labels, std::size_t first,
                                            std::size_t last, const Sums* sums,
                                            std::optional<Vector<std::int64_t>> times,
                                            std::optional<Vector<double>> weight, Crew* crew) {
    const std::size_t n = rows.shape(0), d = rows.shape(1);
    const BookView<float>& book = packed.book.view();
    const auto& use = kernels_of<R>(packed.use);
    NeighbourRows& state = labelled.state;
    expect(fits(labelled, packed), "assign_neighbours: rows packed for these centers expected");
    expect(state.follows(book), "assign_neighbours: the panels must follow the centers first");
    expect(holds(labelled, rows), "assign_neighbours: other rows were packed");
    expect(first <= last && last <= state.panels(), "assign_neighbours: there are fewer panels");
    expect_labels(labels, n, book.k, 0);
    expect(!sums || sums->hi.shape(0) == book.k, "assign_neighbours: sums of other clusters");
    SumView view{};
    if (sums) view = sums->view(times, weight, n, d);
    nb::gil_scoped_release release;
    const Executor executor(crew);
    const NeighbourView neighbours = state.view(labelled.panels, labelled.has_gaps);
    const std::size_t width = labelled.panels.width(), count = last - first;
    const std::size_t step =
        std::max<std::size_t>(16, rows_per_part(executor, count * width) / width / 4);
    const NeighbourCounts counts = parallel_reduce<NeighbourCounts>(
        executor, count, step, sums ? &view : nullptr, use.neighbours_scratch(book.k, d),
        [&](std::size_t from, std::size_t to, const SumView* into, unsigned char* memory) {
            return use.assign_neighbours(book, rows_of(rows), neighbours, first + from, first + to,
                                         labels.data(), into, memory);
        });
    return {counts.moved, counts.rechecked, counts.pairs, counts.rows};
}

template <class R>
void bind_typed(nb::module_& m) {
    const auto none = nb::none();
    m.def("pack_neighbours", &pack_neighbours<R>, "book"_a, "rows"_a.noconvert(),
          "labels"_a.noconvert(), "square"_a.noconvert(), "crew"_a = none,
          nb::rv_policy::take_ownership);
    m.def("sort_neighbours", &sort_neighbours<R>, "book"_a, "panels"_a, "rows"_a.noconvert(),
          "labels"_a.noconvert(), "crew"_a = none);
    m.def("assign_neighbours", &assign_neighbours<R>, "book"_a, "panels"_a, "rows"_a.noconvert(),
          "labels"_a.noconvert(), "first"_a, "last"_a, "sums"_a = none, "times"_a = none,
          "weight"_a = none, "crew"_a = none);
}

// A call that reads the labels of all rows.
template <class Call>
auto with_labels(Call call) {
    return [call](PanelsByLabel& self, Vector<std::int32_t> labels) {
        expect_labels(labels, self.state.n(), self.state.k(), 0);
        return call(self, labels.data());
    };
}

}  // namespace

void bind_neighbour_passes(nb::module_& m) {
    nb::class_<PanelsByLabel, KeptRows>(m, "PanelsByLabel")
        .def_prop_ro("k", [](const PanelsByLabel& self) { return self.state.k(); })
        .def_prop_ro("panels", [](const PanelsByLabel& self) { return self.state.panels(); })
        .def_prop_ro("width", [](const PanelsByLabel& self) { return self.panels.width(); })
        .def("fit", &fits, "book"_a)
        .def("follow", &follow, "book"_a, "with_gaps"_a, "crew"_a = nb::none())
        .def("settle", with_labels([](PanelsByLabel& self, const std::int32_t* labels) {
                 return self.state.settle(self.panels, labels);
             }),
             "labels"_a.noconvert())
        .def("relabel", with_labels([](PanelsByLabel& self, const std::int32_t* labels) {
                 return self.state.relabel(self.panels, labels);
             }),
             "labels"_a.noconvert());
    bind_typed<float>(m);
    bind_typed<double>(m);
}

}  // namespace partita::binding
