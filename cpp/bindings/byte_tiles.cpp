// Bindings of the passes over rows as bytes.

#include "common.hpp"

namespace partita::binding {

namespace {

template <class T>
const ByteKernels<T>& byte_kernels_of(const KernelTable* use) {
    return kernels_of<T>(use).bytes;
}

// Rounds all rows, or those from row `base` on, which must begin a segment.
template <class R>
void round_rows(ByteCopy& copy, Matrix<R> rows, std::size_t base, double scale, Crew* crew) {
    const ByteRowsView view = copy.rows.view();
    const std::size_t m = rows.shape(0), width = copy.rows.width();
    const auto& use = byte_kernels_of<R>(copy.use);
    expect(rows.shape(1) == view.d && base <= view.n && m <= view.n - base && base % 256 == 0 &&
               (m % 256 == 0 || base + m == view.n),
           "round_rows: whole segments of the rows expected");
    expect(!copy.rows.by_row, "round_rows: the codes are laid out by row");
    nb::gil_scoped_release release;
    const Executor executor(crew);
    parallel_for(executor, m, rows_per_part(executor, m), 0,
                 [&](std::size_t first, std::size_t last, unsigned char*) {
                     use.round_rows(view, rows.data(), base, (base + first) / width,
                                    (base + last + width - 1) / width, true, scale);
                 });
}

// Rounds all rows in the given order, each panel about the pivot of its middle row.
template <class R>
void round_in_order(ByteCopy& copy, Matrix<R> rows, Vector<std::int32_t> order,
                    Vector<std::int32_t> pivot, double scale, Crew* crew) {
    const ByteRowsView view = copy.rows.view();
    const std::size_t n = view.n, width = copy.rows.width();
    const auto& use = byte_kernels_of<R>(copy.use);
    expect(
        rows.shape(0) == n && rows.shape(1) == view.d && order.shape(0) == n && pivot.shape(0) == n,
        "round_in_order: rows, order and pivots do not fit");
    expect(!copy.rows.by_row, "round_in_order: the codes are laid out by row");
    std::vector<bool> seen(n, false);
    for (std::size_t e = 0; e < n; ++e) {
        const std::int32_t i = order.data()[e];
        expect(i >= 0 && static_cast<std::size_t>(i) < n && !seen[static_cast<std::size_t>(i)],
               "round_in_order: order must list every row once");
        seen[static_cast<std::size_t>(i)] = true;
        view.order[e] = i;
    }
    for (std::size_t p = 0; p < view.panels; ++p) {
        const std::size_t last = std::min(n, (p + 1) * width);
        const std::int32_t middle = order.data()[(p * width + last - 1) / 2];
        const std::int32_t at = pivot.data()[middle];
        expect(at >= 0 && static_cast<std::size_t>(at) < view.pivots,
               "round_in_order: no such pivot");
        view.panel[p].pivot = at;
    }
    nb::gil_scoped_release release;
    const Executor executor(crew);
    const std::size_t parts = std::max<std::size_t>(1, rows_per_part(executor, n) / width);
    parallel_for(executor, view.panels, parts, 0,
                 [&](std::size_t first, std::size_t last, unsigned char*) {
                     use.round_rows(view, rows.data(), 0, first, last, false, scale);
                 });
}

// Lays out the codes row after row, or in the order of the tiles.
void turn_codes(ByteCopy& copy, bool by_row, Crew* crew) {
    if (copy.rows.by_row == by_row) return;
    const ByteRowsView view = copy.rows.view();
    const std::size_t panel_bytes = byte_quads(view.d) * 4 * copy.rows.width();
    nb::gil_scoped_release release;
    const Executor executor(crew);
    const std::size_t step = items_per_part(view.panels, kPartsPerThread * executor.threads());
    parallel_for(executor, view.panels, step, panel_bytes,
                 [&](std::size_t first, std::size_t last, unsigned char* memory) {
                     copy.use->single.bytes.turn(view, first, last, by_row, memory);
                 });
    copy.rows.by_row = by_row;
}

// Labels the rows from row `base` on; with an order, all rows at once.
template <class Value>
std::vector<std::int64_t> assign_bytes(ByteCopy& copy, const Packed<ByteBook>& packed,
                                       Matrix<Value> rows, std::size_t base,
                                       OutVector<std::int32_t> labels, const Sums* sums,
                                       std::optional<Vector<std::int64_t>> times,
                                       std::optional<Vector<double>> weight, Crew* crew) {
    const std::size_t m = rows.shape(0), d = rows.shape(1), width = copy.rows.width();
    const ByteRowsView view = copy.rows.view();
    const ByteBookView& book = packed.book.view();
    const auto& use = byte_kernels_of<typename Reading<Value>::Type>(copy.use);
    expect(copy.use == packed.use && d == view.d && book.d == d,
           "assign_bytes: rows and centers do not fit");
    expect(!book.flat && !copy.rows.by_row,
           "assign_bytes: codes in the order of tiles and a book without groups expected");
    expect(base <= view.n && m <= view.n - base && base % 256 == 0 &&
               (m % 256 == 0 || base + m == view.n),
           "assign_bytes: whole segments of the rows expected");
    expect_labels(labels, m, book.k, -1);
    expect(!sums || sums->hi.shape(0) == book.k,
           "assign_bytes: sums of another number of clusters");
    SumView sum_view{};
    if (sums) sum_view = sums->view(times, weight, m, d);
    const std::size_t begin = base / width, panels = (base + m + width - 1) / width - begin;
    std::size_t rounded = 0;
    for (std::size_t e = begin * width; e < (begin + panels) * width; ++e) {
        const std::int32_t i = view.order[e];
        rounded +=
            i >= 0 && static_cast<std::size_t>(i) >= base && static_cast<std::size_t>(i) < base + m;
    }
    expect(rounded == m, "assign_bytes: the rows were not rounded, or are in another order");
    nb::gil_scoped_release release;
    const Executor executor(crew);
    const std::size_t parts = std::max<std::size_t>(1, rows_per_part(executor, m) / width);
    const ByteCounts done = parallel_reduce<ByteCounts>(
        executor, panels, parts, sums ? &sum_view : nullptr, use.assign_scratch(book.k, d),
        [&](std::size_t first, std::size_t last, const SumView* into, unsigned char* memory) {
            return use.assign(view, book, Reading<Value>::rows(rows),
                              Reading<Value>::narrow(rows, 0), base, begin + first, begin + last,
                              labels.data(), into, memory);
        });
    return {done.moved, done.open, done.candidates};
}

void widen_halves(Matrix<std::uint16_t> bits, Array<float, 2> out) {
    const std::size_t n = bits.shape(0), d = bits.shape(1);
    expect(out.shape(0) == n && out.shape(1) == d, "widen_halves: shapes do not fit");
    const auto& use = table();
    nb::gil_scoped_release release;
    use.widen_halves(bits.data(), n * d, out.data());
}

template <class Value>
void bind_assign(nb::module_& m) {
    const auto none = nb::none();
    m.def("assign_bytes", &assign_bytes<Value>, "bytes"_a, "book"_a, "rows"_a.noconvert(), "base"_a,
          "labels"_a.noconvert(), "sums"_a = none, "times"_a = none, "weight"_a = none,
          "crew"_a = none);
}

template <class R>
void bind_typed(nb::module_& m) {
    const auto none = nb::none();
    m.def("round_rows", &round_rows<R>, "bytes"_a, "rows"_a.noconvert(), "base"_a = 0,
          "scale"_a = 1.0, "crew"_a = none);
    m.def("round_in_order", &round_in_order<R>, "bytes"_a, "rows"_a.noconvert(),
          "order"_a.noconvert(), "pivot"_a.noconvert(), "scale"_a = 1.0, "crew"_a = none);
    bind_assign<R>(m);
}

}  // namespace

void bind_byte_tiles(nb::module_& m) {
    const auto none = nb::none();
    nb::class_<ByteCopy>(m, "ByteRows")
        .def(
            "__init__",
            [](ByteCopy* self, std::size_t n, Vector<double> origin, Matrix<double> pivots) {
                const std::size_t d = origin.shape(0);
                expect(n > 0 && n < (std::size_t{1} << 31) && d > 0 && d <= kMaxByteFeatures,
                       "bytes: too many rows or features");
                expect(pivots.shape(0) > 0 && pivots.shape(1) == d,
                       "bytes: pivots (count, d) expected");
                const KernelTable* use = &table();
                new (self) ByteCopy{ByteRows(n, d, use->single.bytes.width, origin.data(),
                                             pivots.data(), pivots.shape(0)),
                                    use};
            },
            "n"_a, "origin"_a, "pivots"_a);
    nb::class_<Packed<ByteBook>>(m, "ByteBook")
        .def(
            "__init__",
            [](Packed<ByteBook>* self, ByteCopy& rows, Matrix<double> centers,
               Vector<double> origin, std::optional<Vector<std::int32_t>> members,
               std::optional<Vector<std::int32_t>> sizes, Crew* crew) {
                const std::size_t k = centers.shape(0), d = centers.shape(1);
                expect(k > 0 && d == rows.rows.d() && origin.shape(0) == d,
                       "byte book: centers (k, d) and origin (d) expected");
                expect(!members || rows.rows.pivots() == 1,
                       "byte book: centers in groups need rows about one pivot");
                Grouping grouping{};
                if (members) grouping = grouping_of(*members, sizes, k);
                nb::gil_scoped_release release;
                const Executor executor(crew);
                const std::size_t parts = std::min(
                    k * d * rows.rows.pivots() / kSerialCenterValues + 1, 2 * executor.threads());
                auto share = [&](std::size_t count, auto work) {
                    parallel_for_evenly(executor, count, parts, work);
                };
                const auto& bytes = rows.use->single.bytes;
                new (self) Packed<ByteBook>{
                    ByteBook(rows.rows.view(), centers.data(), origin.data(), k, bytes.tile_rows,
                             bytes.codes, members ? &grouping : nullptr, share),
                    rows.use};
            },
            "bytes"_a, "centers"_a, "origin"_a, "members"_a = none, "sizes"_a = none,
            "crew"_a = none);
    bind_typed<float>(m);
    bind_typed<double>(m);
    bind_assign<std::uint8_t>(m);
    bind_assign<std::uint16_t>(m);
    m.def("widen_halves", &widen_halves, "bits"_a.noconvert(), "out"_a.noconvert());
    m.def("turn_codes", &turn_codes, "bytes"_a, "by_row"_a, "crew"_a = none);
    m.def("has_byte_products", [] { return table().single.bytes.fast; });
}

}  // namespace partita::binding
