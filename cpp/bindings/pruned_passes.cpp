// Bindings of the pruned passes: bounds and leaves.

#include "common.hpp"

#include "../kernels/center_motion.hpp"
#include "../kernels/kd_tree.hpp"

namespace partita::binding {

namespace {

// Records the new centers: see center_motion.hpp.
void follow(Motion& motion, Matrix<double> centers, Vector<double> origin,
            Vector<std::int32_t> labels, OutVector<std::int32_t> upper,
            OutVector<std::uint16_t> other, Array<std::uint16_t, 2> lower, Crew* crew) {
    const std::size_t k = motion.k(), d = motion.d(), n = labels.shape(0);
    const std::size_t stride = bounds_stride(motion.groups());
    expect(centers.shape(0) == k && centers.shape(1) == d && origin.shape(0) == d,
           "follow: centers (k, d) and origin (d) expected");
    expect(upper.shape(0) == n && other.shape(0) == n && lower.shape(0) == n &&
               lower.shape(1) == stride,
           "follow: bounds do not fit");
    expect_labels(labels, n, k, 0);
    const auto& use = table().full;
    nb::gil_scoped_release release;
    const Executor executor(crew);
    motion.follow(centers.data(), origin.data(), labels.data(), n,
                  {upper.data(), other.data(), lower.data(), stride},
                  [&](const double* rows, std::size_t m, double* out) {
                      const std::size_t even = items_per_part(m, 2 * executor.threads());
                      const std::size_t step = std::max<std::size_t>(even, 16);
                      parallel_for(executor, m, step, use.assign_scratch(d),
                                   [&](std::size_t first, std::size_t last, unsigned char* memory) {
                                       use.distances({rows + first * d, last - first, d},
                                                     motion.values().data(), k,
                                                     reinterpret_cast<double*>(memory),
                                                     out + first * k);
                                   });
                  });
}

// The bounds of the rows of one call.
struct BoundArrays {
    OutVector<std::int32_t> upper;
    OutVector<std::uint16_t> other;
    Array<std::uint16_t, 2> lower;

    // From row `first` on.
    BoundView from(std::size_t first) const {
        const std::size_t stride = lower.shape(1);
        return {upper.data() + first, other.data() + first, lower.data() + first * stride, stride};
    }
};

// Checks the arguments that passes with bounds have in common.
void expect_bounds(std::size_t n, std::size_t k, std::size_t groups, const BoundArrays& bounds,
                   const OutVector<std::int32_t>& labels, const Motion& motion, const Sums* sums) {
    expect(n < (std::size_t{1} << 31), "assign_bounded: too many rows in one call");
    expect_labels(labels, n, k, 0);
    expect(groups <= 32 && bounds.upper.shape(0) == n && bounds.other.shape(0) == n &&
               bounds.lower.shape(0) == n && bounds.lower.shape(1) == bounds_stride(groups),
           "assign_bounded: bounds do not fit");
    expect(motion.k() == k && motion.groups() == groups, "assign_bounded: motion of other centers");
    const void* written[] = {labels.data(), bounds.upper.data(), bounds.other.data(),
                             bounds.lower.data()};
    for (const void* out : written)
        expect(std::count(std::begin(written), std::end(written), out) == 1,
               "assign_bounded: arrays that are written must be arrays of their own");
    expect(!sums || sums->hi.shape(0) == k, "assign_bounded: sums of another number of clusters");
}

// Calls run(first, last, sums, memory) for parts of n rows; returns what all of them did.
template <class Run>
std::vector<std::int64_t> share_bounded(
    std::size_t n, std::size_t d, const SumView* sums, Crew* crew,
    std::size_t (*scratch)(std::size_t, std::size_t, std::size_t), std::size_t k, Run run) {
    const Executor executor(crew);
    const std::size_t step = rows_per_part(executor, n);
    const PrunedCounts done = parallel_reduce<PrunedCounts>(
        executor, n, step, sums, scratch(std::min(step, n), k, d),
        [&](std::size_t first, std::size_t last, const SumView* into, unsigned char* memory) {
            SumView part_sums{};
            if (into) part_sums = from_row(*into, first);
            return run(first, last, into ? &part_sums : nullptr, memory);
        });
    return {done.moved, done.measured, done.scanned_rows, done.scanned_pairs, done.candidates};
}

template <class R>
std::vector<std::int64_t> assign_bounded(
    const Packed<Codebook<float>>& filter, const ExactCenters* target, Matrix<R> rows,
    OutVector<std::int32_t> labels, OutVector<std::int32_t> upper, OutVector<std::uint16_t> other,
    Array<std::uint16_t, 2> lower, const Motion& motion, bool whole, const Sums* sums,
    std::optional<Vector<std::int64_t>> times, std::optional<Vector<double>> weight,
    std::optional<Matrix<float>> filter_rows, Crew* crew) {
    const std::size_t n = rows.shape(0), d = rows.shape(1);
    const BookView<float>& book = filter.book.view();
    const ExactView& exact = target ? target->view() : book.exact;
    const auto& use = kernels_of<R>(filter.use);
    expect(d == exact.d && book.k == exact.k,
           "assign_bounded: rows, centers and filter do not fit");
    expect(
        filter_rows ? filter_rows->shape(0) == n && filter_rows->shape(1) == book.d : book.d == d,
        "assign_bounded: filter rows do not fit");
    const BoundArrays bounds{upper, other, lower};
    expect_bounds(n, book.k, book.groups, bounds, labels, motion, sums);
    SumView view{};
    if (sums) view = sums->view(times, weight, n, d);
    const MotionView moved = motion.view();
    nb::gil_scoped_release release;
    return share_bounded(
        n, d, sums ? &view : nullptr, crew, use.assign_bounded_scratch, book.k,
        [&](std::size_t first, std::size_t last, const SumView* into, unsigned char* memory) {
            const Rows<R> part{rows.data() + first * d, last - first, d};
            std::int32_t* label = labels.data() + first;
            return filter_rows ? use.assign_bounded_by(
                                     book, exact, part, filter_rows->data() + first * book.d, moved,
                                     bounds.from(first), label, whole, into, memory)
                               : use.assign_bounded(book, exact, part, part.data, moved,
                                                    bounds.from(first), label, whole, into, memory);
        });
}

// The same with open rows compared in bytes; row 0 of the call is row `base` of the copy.
template <class Value>
std::vector<std::int64_t> assign_byte_bounded(
    ByteCopy& copy, const Packed<ByteBook>& packed, Matrix<Value> rows, std::size_t base,
    OutVector<std::int32_t> labels, OutVector<std::int32_t> upper, OutVector<std::uint16_t> other,
    Array<std::uint16_t, 2> lower, const Motion& motion, bool whole, const Sums* sums,
    std::optional<Vector<std::int64_t>> times, std::optional<Vector<double>> weight, Crew* crew) {
    const std::size_t n = rows.shape(0), d = rows.shape(1);
    const ByteRowsView bytes = copy.rows.view();
    const ByteBookView& book = packed.book.view();
    using R = typename Reading<Value>::Type;
    const auto& use = kernels_of<R>(copy.use).bytes;
    expect(copy.use == packed.use && d == bytes.d && book.d == d && book.flat,
           "assign_byte_bounded: rows and centers in groups do not fit");
    expect(copy.rows.by_row, "assign_byte_bounded: codes laid out by row expected");
    expect(base <= bytes.n && n <= bytes.n - base, "assign_byte_bounded: there are fewer rows");
    expect_within(bytes.place + base, n, bytes.panels * copy.rows.width(), 0);
    const BoundArrays bounds{upper, other, lower};
    expect_bounds(n, book.k, book.groups, bounds, labels, motion, sums);
    SumView view{};
    if (sums) view = sums->view(times, weight, n, d);
    const MotionView moved = motion.view();
    nb::gil_scoped_release release;
    return share_bounded(
        n, d, sums ? &view : nullptr, crew, use.bounded_scratch, book.k,
        [&](std::size_t first, std::size_t last, const SumView* into, unsigned char* memory) {
            Rows<R> part = Reading<Value>::rows(rows);
            part.n = last - first;
            if (part.data) part.data += first * d;
            return use.assign_bounded(
                bytes, book, base + first, part, Reading<Value>::narrow(rows, first), moved,
                bounds.from(first), labels.data() + first, whole, into, memory);
        });
}

// A k-d tree over some rows, with the candidates of its boxes in the last pass.
struct RowTree {
    KdTree tree;
    std::vector<LeafMemory> leaves;
    std::vector<NodeMemory> nodes;

    explicit RowTree(KdTree&& built) : tree(std::move(built)) { forget(); }
    void forget() {
        leaves.assign(tree.leaves(), {});
        nodes.assign(tree.nodes(), {});
    }
    // True if all stored candidates are below k.
    bool fits(std::size_t first, std::size_t last, std::size_t k) const {
        auto within = [k](const auto& memory) {
            std::uint32_t wrong = 0;
            for (std::int32_t j : memory.near) wrong |= static_cast<std::uint32_t>(j) >= k;
            return !wrong;
        };
        const std::size_t fan = kNodeLeaves, end = std::min(last * fan, leaves.size());
        return std::all_of(nodes.begin() + static_cast<std::ptrdiff_t>(first),
                           nodes.begin() + static_cast<std::ptrdiff_t>(last), within) &&
               std::all_of(leaves.begin() + static_cast<std::ptrdiff_t>(std::min(first * fan, end)),
                           leaves.begin() + static_cast<std::ptrdiff_t>(end), within);
    }
};

// Nodes first…last−1 of the tree. `labels` are in the tree's order, `rows` in that of the data.
template <class R>
std::vector<std::int64_t> assign_leaves(RowTree& leaves, std::size_t first, std::size_t last,
                                        const TreeCodebook& book, const ExactCenters& target,
                                        Matrix<R> rows, OutVector<std::int32_t> labels,
                                        const Sums* sums, std::optional<Vector<std::int64_t>> times,
                                        std::optional<Vector<double>> weight, Crew* crew) {
    const std::size_t n = rows.shape(0), d = rows.shape(1);
    const TreeView tree = leaves.tree.view();
    const TreeCenters& centers = book.view();
    const ExactView& exact = target.view();
    const auto& use = kernels_of<R>(&table());
    expect(n == tree.n && d == tree.d && d == exact.d && d == centers.d && centers.k == exact.k,
           "leaves: tree, rows and centers do not fit");
    expect(first <= last && last <= tree.nodes, "leaves: nodes out of range");
    expect(labels.shape(0) == n, "labels: one per row expected");
    const std::size_t begin =
        static_cast<std::size_t>(tree.begin[std::min(first * kNodeLeaves, tree.leaves)]);
    const std::size_t end =
        static_cast<std::size_t>(tree.begin[std::min(last * kNodeLeaves, tree.leaves)]);
    expect_within(labels.data() + begin, end - begin, exact.k, -1);
    expect(leaves.fits(first, last, exact.k), "leaves: forget() before another number of clusters");
    expect(!sums || sums->hi.shape(0) == exact.k, "leaves: sums of another number of clusters");
    SumView view{};
    if (sums) view = sums->view(times, weight, n, d);
    nb::gil_scoped_release release;
    const TreeMemory remembered{leaves.leaves.data(), leaves.nodes.data()};
    const Executor executor(crew);
    const std::size_t nodes = last - first;
    const PrunedCounts done = parallel_reduce<PrunedCounts>(
        executor, nodes, items_per_part(nodes, kPartsPerThread * executor.threads()),
        sums ? &view : nullptr, use.leaves_scratch(centers.padded, d, tree.levels),
        [&](std::size_t from, std::size_t to, const SumView* into, unsigned char* memory) {
            return use.assign_leaves(tree, centers, exact, rows_of(rows), first + from, first + to,
                                     labels.data(), remembered, into, memory);
        });
    return {done.moved, done.measured, done.scanned_rows, done.scanned_pairs, done.candidates};
}

template <class Value>
void bind_byte_bounded(nb::module_& m) {
    const auto none = nb::none();
    m.def("assign_byte_bounded", &assign_byte_bounded<Value>, "bytes"_a, "book"_a,
          "rows"_a.noconvert(), "base"_a, "labels"_a.noconvert(), "upper"_a.noconvert(),
          "other"_a.noconvert(), "lower"_a.noconvert(), "motion"_a, "whole"_a, "sums"_a = none,
          "times"_a = none, "weight"_a = none, "crew"_a = none);
}

template <class T>
void bind_typed(nb::module_& m) {
    const auto none = nb::none();
    m.def("assign_leaves", &assign_leaves<T>, "leaves"_a, "first"_a, "last"_a, "book"_a, "target"_a,
          "rows"_a.noconvert(), "labels"_a.noconvert(), "sums"_a = none, "times"_a = none,
          "weight"_a = none, "crew"_a = none);
    m.def(
        "build_tree",
        [](Matrix<T> rows, Vector<double> origin, double scale, Crew* crew) {
            const std::size_t n = rows.shape(0), d = rows.shape(1);
            expect(n > 0 && d > 0 && n < (std::size_t{1} << 31) && origin.shape(0) == d,
                   "build_tree: rows (n, d) and origin (d) expected");
            nb::gil_scoped_release release;
            const Executor executor(crew);
            auto share = [&](std::size_t count, auto work) {
                parallel_for_evenly(executor, count, kPartsPerThread * executor.threads(), work);
            };
            return new RowTree(KdTree(rows.data(), n, d, origin.data(), scale, share));
        },
        "rows"_a.noconvert(), "origin"_a.noconvert(), "scale"_a, "crew"_a = none,
        nb::rv_policy::take_ownership);
    m.def("assign_bounded", &assign_bounded<T>, "filter"_a, "target"_a.none(), "rows"_a.noconvert(),
          "labels"_a.noconvert(), "upper"_a.noconvert(), "other"_a.noconvert(),
          "lower"_a.noconvert(), "motion"_a, "whole"_a, "sums"_a = none, "times"_a = none,
          "weight"_a = none, "filter_rows"_a.noconvert() = none, "crew"_a = none);
    bind_byte_bounded<T>(m);
}

}  // namespace

void bind_pruned_passes(nb::module_& m) {
    nb::class_<ExactCenters>(m, "ExactCenters")
        .def(
            "__init__",
            [](ExactCenters* self, Matrix<double> centers, Vector<double> origin) {
                expect(centers.shape(0) > 0 && centers.shape(1) > 0 &&
                           origin.shape(0) == centers.shape(1),
                       "exact centers: centers (k, d) and origin (d) expected");
                nb::gil_scoped_release release;
                new (self)
                    ExactCenters(centers.data(), origin.data(), centers.shape(0), centers.shape(1));
            },
            "centers"_a, "origin"_a);
    nb::class_<RowTree>(m, "RowTree")
        .def("forget", &RowTree::forget)
        .def_prop_ro("nodes", [](const RowTree& self) { return self.tree.nodes(); })
        .def_prop_ro("order", [](const RowTree& self) {
            return nb::ndarray<nb::numpy, const std::int32_t, nb::ndim<1>>(
                self.tree.order().data(), {self.tree.order().size()}, nb::find(self));
        });
    nb::class_<TreeCodebook>(m, "TreeCodebook")
        .def(
            "__init__",
            [](TreeCodebook* self, Matrix<double> centers, double scale,
               Vector<std::uint8_t> moved) {
                expect(centers.shape(0) > 0 && centers.shape(1) > 0 &&
                           moved.shape(0) == centers.shape(0),
                       "tree book: centers (k, d) and moved (k) expected");
                new (self) TreeCodebook(centers.data(), centers.shape(0), centers.shape(1), scale,
                                        moved.data());
            },
            "centers"_a.noconvert(), "scale"_a, "moved"_a.noconvert());
    nb::class_<Motion>(m, "Motion")
        .def(
            "__init__",
            [](Motion* self, Vector<std::int32_t> members, Vector<std::int32_t> sizes,
               Matrix<double> centers, Vector<double> origin, double quantum, double blur,
               bool geometry) {
                const std::size_t k = centers.shape(0), d = centers.shape(1);
                expect(k > 0 && d > 0 && origin.shape(0) == d,
                       "motion: centers (k, d) and origin (d) expected");
                const Grouping grouping = grouping_of(members, sizes, k);
                expect(grouping.groups <= 32 && quantum > 0, "motion: 1 to 32 groups expected");
                new (self)
                    Motion(grouping, centers.data(), origin.data(), k, d, quantum, blur, geometry);
            },
            "members"_a, "sizes"_a, "centers"_a, "origin"_a, "quantum"_a, "blur"_a, "geometry"_a)
        .def("follow", &follow, "centers"_a.noconvert(), "origin"_a.noconvert(),
             "labels"_a.noconvert(), "upper"_a.noconvert(), "other"_a.noconvert(),
             "lower"_a.noconvert(), "crew"_a = nb::none())
        .def_prop_ro("center_travel", [](const Motion& self) { return self.center_travel(); })
        .def_prop_ro("group_travel", [](const Motion& self) { return self.group_travel(); })
        .def_prop_ro("total_travel", &Motion::total_travel);
    bind_typed<float>(m);
    bind_typed<double>(m);
    bind_byte_bounded<std::uint8_t>(m);
    bind_byte_bounded<std::uint16_t>(m);
}

}  // namespace partita::binding
