// Between Python and the kernels: types, shapes, the release of the GIL, and the parts that threads share.

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <optional>
#include <stdexcept>
#include <string>
#include <type_traits>

#include <nanobind/stl/optional.h>

#include "kernels/codebook.hpp"
#include "kernels/motion.hpp"
#include "kernels/panels.hpp"
#include "kernels/tree.hpp"
#include "shares.hpp"
#include "simd/dispatch.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace {

using partita::KernelTable;
using Memory = partita::Aligned<unsigned char>;

template <class T, std::size_t N>
using Array = nb::ndarray<T, nb::ndim<N>, nb::c_contig, nb::device::cpu>;
template <class T>
using Matrix = Array<const T, 2>;
template <class T>
using Vector = Array<const T, 1>;
template <class T>
using OutVector = Array<T, 1>;

constexpr std::size_t kFewCells = 1024;  // values of centers that one thread is as quick with

const KernelTable& table() { return *partita::active_table().load(); }

void expect(bool held, const char* what) {
    if (!held) throw std::invalid_argument(what);
}

// Labels index the sums and the centers: out of range must be an error, not a stray write.
void expect_within(const std::int32_t* label, std::size_t n, std::size_t k, std::int32_t lowest) {
    const std::uint32_t most = static_cast<std::uint32_t>(k) - static_cast<std::uint32_t>(lowest);
    std::uint32_t wrong = 0;  // without a branch, so that it is vectors
    for (std::size_t i = 0; i < n; ++i)
        wrong |= static_cast<std::uint32_t>(label[i]) - static_cast<std::uint32_t>(lowest) >= most;
    expect(!wrong, "labels: a value is outside 0..k-1");
}

template <class L>
void expect_labels(const L& labels, std::size_t n, std::size_t k, std::int32_t lowest) {
    expect(labels.shape(0) == n, "labels: one per row expected");
    expect_within(labels.data(), n, k, lowest);
}

template <class T>
partita::Rows<T> rows_of(const Matrix<T>& rows) {
    return {rows.data(), rows.shape(0), rows.shape(1)};
}

// Who does the work: the crew that was given, or the caller alone.
class Workforce {
public:
    explicit Workforce(partita::Crew* crew) : crew_(crew ? crew : &alone_.emplace(1)) {}
    operator partita::Crew&() const { return *crew_; }
    std::size_t threads() const { return crew_->threads(); }

private:
    std::optional<partita::Crew> alone_;
    partita::Crew* crew_;
};

// Centers packed for one set of kernels, which must be the one that reads them.
template <class Book>
struct Packed {
    Book book;
    const KernelTable* use;
};

template <class T>
const partita::Kernels<T>& kernels_of(const KernelTable* use) {
    if constexpr (std::is_same_v<T, float>)
        return use->single;
    else
        return use->full;
}

// The arrays behind exact sums, kept alive as long as the object.
struct Sums {
    Array<std::int64_t, 2> hi, lo;
    Vector<double> origin, up;
    double scale, limb;

    Sums(Array<std::int64_t, 2> hi, Array<std::int64_t, 2> lo, Vector<double> origin,
         Vector<double> up, double scale, double limb)
        : hi(hi), lo(lo), origin(origin), up(up), scale(scale), limb(limb) {
        const std::size_t columns = origin.shape(0) + 2;
        expect(hi.shape(1) == columns && lo.shape(1) == columns && hi.shape(0) == lo.shape(0),
               "sums: hi and lo must be (k, d + 2)");
        expect(up.shape(0) == columns, "sums: up must have d + 2 entries");
    }
    partita::SumView view(const std::optional<Vector<std::int64_t>>& times,
                          const std::optional<Vector<double>>& weight, std::size_t n,
                          std::size_t d) const {
        expect(origin.shape(0) == d, "sums: the rows have another number of features");
        expect(!times || times->shape(0) == n, "times: one per row expected");
        expect(!weight || weight->shape(0) == n, "weight: one per row expected");
        return {hi.shape(0), d, origin.data(), scale, up.data(), limb, hi.data(), lo.data(),
                times ? times->data() : nullptr, weight ? weight->data() : nullptr, nullptr};
    }
};

template <class T>
struct Csr {
    Vector<std::int64_t> start;
    Vector<std::int32_t> column;
    Vector<T> value;
    std::size_t d;

    partita::CsrRows<T> view() const {
        return {start.data(), column.data(), value.data(), start.shape(0) - 1, d};
    }
};

// Rows packed by one set of kernels, for that set alone.
struct KeptRows {
    partita::Panels panels;
    const KernelTable* use;
};

template <class R>
KeptRows* keep_rows(const Packed<partita::Codebook<float>>& packed, Matrix<R> rows,
                    partita::Crew* crew) {
    const std::size_t n = rows.shape(0), d = rows.shape(1);
    const partita::BookView<float>& book = packed.book.view();
    const auto& use = kernels_of<R>(packed.use);
    expect(d == book.d, "keep_rows: rows and centers have different numbers of features");
    nb::gil_scoped_release release;
    auto kept = std::make_unique<KeptRows>(
        KeptRows{partita::Panels(book, n, packed.use->single.panel_width), packed.use});
    const Workforce all(crew);
    partita::share_parts(all, n, partita::part_rows(all, n), use.assign_single_scratch(d),
                         [&](std::size_t first, std::size_t last, unsigned char* memory) {
                             use.keep_panels(book, {rows.data() + first * d, last - first, d},
                                             kept->panels.view(first).data,
                                             kept->panels.squares(first), memory);
                         });
    return kept.release();
}

// Rows of type R against centers packed for scores in T. `kept` holds the same rows from row `at` on.
template <class T, class R>
std::pair<std::int64_t, std::int64_t> assign(
    const Packed<partita::Codebook<T>>& packed, Matrix<R> rows, OutVector<std::int32_t> labels,
    const Sums* sums, std::optional<Vector<std::int64_t>> times,
    std::optional<Vector<double>> weight, partita::Crew* crew, const KeptRows* kept,
    std::size_t at) {
    const std::size_t n = rows.shape(0), d = rows.shape(1);
    const partita::BookView<T>& book = packed.book.view();
    const auto& use = kernels_of<R>(packed.use);
    expect(d == book.d, "assign: rows and centers have different numbers of features");
    expect(book.groups == 1, "assign: centers without groups expected");
    expect_labels(labels, n, book.k, -1);
    expect(!sums || sums->hi.shape(0) == book.k, "assign: sums of another number of clusters");
    partita::SumView view{};
    if (sums) view = sums->view(times, weight, n, d);
    constexpr bool alike = std::is_same_v<T, R>;
    bool ready = false;
    if constexpr (std::is_same_v<T, float>) {
        ready = kept && kept->use == packed.use && kept->panels.fit(book);
        expect(!ready || (at % kept->panels.width() == 0 && at <= kept->panels.n() &&
                          n <= kept->panels.n() - at),
               "assign: other rows were kept");
    }
    const std::size_t scratch = alike ? use.assign_scratch(d) : use.assign_single_scratch(d);
    nb::gil_scoped_release release;
    const Workforce all(crew);
    const partita::Outcome outcome = partita::share_items<partita::Outcome>(
        all, n, partita::part_rows(all, n), sums ? &view : nullptr, scratch,
        [&](std::size_t first, std::size_t last, const partita::SumView* into,
            unsigned char* memory) {
            partita::SumView mine{};
            if (into) mine = partita::from_row(*into, first);
            const partita::Rows<R> part{rows.data() + first * d, last - first, d};
            const partita::SumView* with = into ? &mine : nullptr;
            std::int32_t* label = labels.data() + first;
            partita::PanelView<T> here{};
            if constexpr (std::is_same_v<T, float>)
                if (ready) here = kept->panels.view(at + first);
            if constexpr (alike)
                return use.assign(book, part, here, with, label, memory);
            else
                return use.assign_single(book, part, here, with, label, memory);
        });
    return {outcome.moved, outcome.rechecked};
}

// Takes note of where the centers are now; see motion.hpp.
void follow(partita::Motion& motion, Matrix<double> centers, Vector<double> origin,
            Vector<std::int32_t> labels, OutVector<std::int32_t> upper,
            OutVector<std::uint16_t> other, Array<std::uint16_t, 2> lower, partita::Crew* crew) {
    const std::size_t k = motion.k(), d = motion.d(), n = labels.shape(0);
    const std::size_t stride = partita::bounds_stride(motion.groups());
    expect(centers.shape(0) == k && centers.shape(1) == d && origin.shape(0) == d,
           "follow: centers (k, d) and origin (d) expected");
    expect(upper.shape(0) == n && other.shape(0) == n && lower.shape(0) == n &&
               lower.shape(1) == stride,
           "follow: bounds do not fit");
    expect_labels(labels, n, k, 0);
    const auto& use = table().full;
    nb::gil_scoped_release release;
    const Workforce all(crew);
    motion.follow(centers.data(), origin.data(), labels.data(), n,
                  {upper.data(), other.data(), lower.data(), stride},
                  [&](const double* rows, std::size_t m, double* out) {
                      const std::size_t even = partita::even_part(m, 2 * all.threads());
                      const std::size_t step = std::max<std::size_t>(even, 16);
                      partita::share_parts(
                          all, m, step, use.assign_scratch(d),
                          [&](std::size_t first, std::size_t last, unsigned char* memory) {
                              use.distances({rows + first * d, last - first, d},
                                            motion.values().data(), k,
                                            reinterpret_cast<double*>(memory), out + first * k);
                          });
                  });
}

template <class R>
std::vector<std::int64_t> bounded(
    const Packed<partita::Codebook<float>>& filter, const partita::Target* target, Matrix<R> rows,
    OutVector<std::int32_t> labels, OutVector<std::int32_t> upper, OutVector<std::uint16_t> other,
    Array<std::uint16_t, 2> lower, const partita::Motion& motion, bool whole, const Sums* sums,
    std::optional<Vector<std::int64_t>> times, std::optional<Vector<double>> weight,
    std::optional<Matrix<float>> filter_rows, partita::Crew* crew) {
    const std::size_t n = rows.shape(0), d = rows.shape(1);
    const partita::BookView<float>& book = filter.book.view();
    const partita::ExactView& exact = target ? target->view() : book.exact;
    const auto& use = kernels_of<R>(filter.use);
    expect(d == exact.d && book.k == exact.k && book.groups <= 32,
           "bounded: rows, centers and filter do not fit");
    expect(filter_rows ? filter_rows->shape(0) == n && filter_rows->shape(1) == book.d
                       : book.d == d,
           "bounded: filter rows do not fit");
    expect(n < (std::size_t{1} << 31), "bounded: too many rows in one call");
    expect_labels(labels, n, book.k, 0);
    const std::size_t stride = partita::bounds_stride(book.groups);
    expect(upper.shape(0) == n && other.shape(0) == n && lower.shape(0) == n &&
               lower.shape(1) == stride,
           "bounded: bounds do not fit");
    expect(motion.k() == book.k && motion.groups() == book.groups,
           "bounded: motion of other centers");
    const void* written[] = {labels.data(), upper.data(), other.data(), lower.data()};
    for (const void* out : written)
        expect(std::count(std::begin(written), std::end(written), out) == 1,
               "bounded: arrays that are written must be arrays of their own");
    expect(!sums || sums->hi.shape(0) == book.k, "bounded: sums of another number of clusters");
    partita::SumView view{};
    if (sums) view = sums->view(times, weight, n, d);
    const partita::MotionView moved = motion.view();
    nb::gil_scoped_release release;
    const Workforce all(crew);
    const std::size_t step = partita::part_rows(all, n), most = std::min(step, n);
    const partita::Pruned done = partita::share_items<partita::Pruned>(
        all, n, step, sums ? &view : nullptr, use.bounded_scratch(most, book.k, d, book.d),
        [&](std::size_t first, std::size_t last, const partita::SumView* into,
            unsigned char* memory) {
            partita::SumView mine{};
            if (into) mine = partita::from_row(*into, first);
            const partita::Rows<R> part{rows.data() + first * d, last - first, d};
            const partita::SumView* with = into ? &mine : nullptr;
            const partita::BoundView bounds{upper.data() + first, other.data() + first,
                                            lower.data() + first * stride, stride};
            std::int32_t* label = labels.data() + first;
            return filter_rows
                       ? use.bounded_by(book, exact, part, filter_rows->data() + first * book.d,
                                        moved, bounds, label, whole, with, memory)
                       : use.bounded(book, exact, part, part.data, moved, bounds, label, whole,
                                     with, memory);
        });
    return {done.moved, done.measured, done.met, done.scanned, done.candidates};
}

// A tree over some rows, and what its leaves remember of the pass before.
struct Leaves {
    partita::Tree tree;
    std::vector<partita::LeafMemory> leaves;
    std::vector<partita::NodeMemory> nodes;

    explicit Leaves(partita::Tree&& planted) : tree(std::move(planted)) { forget(); }
    void forget() {
        leaves.assign(tree.leaves(), {});
        nodes.assign(tree.nodes(), {});
    }
    // Whether everything that is remembered is one of k centers.
    bool fits(std::size_t first, std::size_t last, std::size_t k) const {
        auto within = [k](const auto& memory) {
            std::uint32_t wrong = 0;
            for (std::int32_t j : memory.near) wrong |= static_cast<std::uint32_t>(j) >= k;
            return !wrong;
        };
        const std::size_t fan = partita::kNodeLeaves, end = std::min(last * fan, leaves.size());
        return std::all_of(nodes.begin() + static_cast<std::ptrdiff_t>(first),
                           nodes.begin() + static_cast<std::ptrdiff_t>(last), within) &&
               std::all_of(leaves.begin() + static_cast<std::ptrdiff_t>(std::min(first * fan, end)),
                           leaves.begin() + static_cast<std::ptrdiff_t>(end), within);
    }
};

// Nodes first…last of the tree. `labels` are in the tree's order, rows in the data's.
template <class R>
std::vector<std::int64_t> assign_leaves(
    Leaves& leaves, std::size_t first, std::size_t last, const partita::TreeBook& book,
    const partita::Target& target, Matrix<R> rows, OutVector<std::int32_t> labels,
    const Sums* sums, std::optional<Vector<std::int64_t>> times,
    std::optional<Vector<double>> weight, partita::Crew* crew) {
    const std::size_t n = rows.shape(0), d = rows.shape(1);
    const partita::TreeView tree = leaves.tree.view();
    const partita::TreeCenters& centers = book.view();
    const partita::ExactView& exact = target.view();
    const auto& use = kernels_of<R>(&table());
    expect(n == tree.n && d == tree.d && d == exact.d && d == centers.d && centers.k == exact.k,
           "leaves: tree, rows and centers do not fit");
    expect(first <= last && last <= tree.nodes, "leaves: nodes out of range");
    expect(labels.shape(0) == n, "labels: one per row expected");
    const std::size_t begin =
        static_cast<std::size_t>(tree.begin[std::min(first * partita::kNodeLeaves, tree.leaves)]);
    const std::size_t end =
        static_cast<std::size_t>(tree.begin[std::min(last * partita::kNodeLeaves, tree.leaves)]);
    expect_within(labels.data() + begin, end - begin, exact.k, -1);
    expect(leaves.fits(first, last, exact.k), "leaves: forget() before another number of clusters");
    expect(!sums || sums->hi.shape(0) == exact.k, "leaves: sums of another number of clusters");
    partita::SumView view{};
    if (sums) view = sums->view(times, weight, n, d);
    nb::gil_scoped_release release;
    const partita::TreeMemory remembered{leaves.leaves.data(), leaves.nodes.data()};
    const Workforce all(crew);
    const std::size_t nodes = last - first;
    const partita::Pruned done = partita::share_items<partita::Pruned>(
        all, nodes, partita::even_part(nodes, partita::kParts * all.threads()),
        sums ? &view : nullptr,
        use.leaves_scratch(centers.padded, d, tree.levels),
        [&](std::size_t from, std::size_t to, const partita::SumView* into,
            unsigned char* memory) {
            return use.assign_leaves(tree, centers, exact, rows_of(rows), first + from, first + to,
                                     labels.data(), remembered, into, memory);
        });
    return {done.moved, done.measured, done.met, done.scanned, done.candidates};
}

template <class T>
std::pair<std::int64_t, std::int64_t> assign_sparse(
    const Packed<partita::SparseCodebook<T>>& packed, const Csr<T>& rows,
    OutVector<std::int32_t> labels,
    const Sums* sums, std::optional<Vector<std::int64_t>> times,
    std::optional<Vector<double>> weight) {
    const partita::CsrRows<T> csr = rows.view();
    const auto& book = packed.book;
    const auto& use = kernels_of<T>(packed.use);
    expect(csr.d == book.view().d, "assign: rows and centers have different numbers of features");
    expect_labels(labels, csr.n, book.view().k, -1);
    expect(!sums || sums->hi.shape(0) == book.view().k, "assign: sums of another number of clusters");
    partita::SumView view{};
    if (sums) view = sums->view(times, weight, csr.n, csr.d);
    Memory memory = partita::make_aligned<unsigned char>(
        use.sparse_scratch(csr.d, book.view().padded));
    nb::gil_scoped_release release;
    const partita::Outcome outcome = use.assign_sparse(
        book.view(), csr, sums ? &view : nullptr, labels.data(), memory.get());
    return {outcome.moved, outcome.rechecked};
}

template <class T>
void move_rows(const Sums& sums, Matrix<T> rows, Vector<std::int32_t> from,
               Vector<std::int32_t> to, std::optional<Vector<std::int64_t>> times,
               std::optional<Vector<double>> weight, partita::Crew* crew) {
    const auto& use = kernels_of<T>(&table());
    const std::size_t n = rows.shape(0), d = rows.shape(1);
    expect_labels(from, n, sums.hi.shape(0), -1);
    expect_labels(to, n, sums.hi.shape(0), 0);
    const partita::SumView view = sums.view(times, weight, n, d);
    const std::size_t scratch = use.assign_scratch(d);
    nb::gil_scoped_release release;
    const Workforce all(crew);
    partita::share_items<partita::Outcome>(
        all, n, partita::part_rows(all, n), &view, scratch,
        [&](std::size_t first, std::size_t last, const partita::SumView* into,
            unsigned char* memory) {
            const partita::SumView mine = partita::from_row(*into, first);
            use.move_rows(mine, {rows.data() + first * d, last - first, d}, from.data() + first,
                          to.data() + first, memory);
            return partita::Outcome{};
        });
}

template <class T>
void move_sparse(const Sums& sums, const Csr<T>& rows, Vector<std::int32_t> from,
                 Vector<std::int32_t> to, std::optional<Vector<std::int64_t>> times,
                 std::optional<Vector<double>> weight) {
    const auto& use = kernels_of<T>(&table());
    const partita::CsrRows<T> csr = rows.view();
    expect_labels(from, csr.n, sums.hi.shape(0), -1);
    expect_labels(to, csr.n, sums.hi.shape(0), 0);
    const partita::SumView view = sums.view(times, weight, csr.n, csr.d);
    nb::gil_scoped_release release;
    use.move_sparse(view, csr, from.data(), to.data());
}

void summarise(const Sums& sums, double unit, Matrix<double> centers, OutVector<double> weight,
               Array<double, 2> mean, OutVector<double> sse, OutVector<double> gap,
               partita::Crew* crew) {
    const std::size_t k = sums.hi.shape(0), d = sums.origin.shape(0);
    expect(centers.shape(0) == k && centers.shape(1) == d, "summarise: centers must be (k, d)");
    expect(weight.shape(0) == k && sse.shape(0) == k && gap.shape(0) == k && mean.shape(0) == k &&
               mean.shape(1) == d,
           "summarise: outputs must be (k), (k, d), (k), (k)");
    const partita::SumView view = sums.view(std::nullopt, std::nullopt, 0, d);
    nb::gil_scoped_release release;
    const Workforce all(crew);
    const std::size_t enough = std::max<std::size_t>(1, kFewCells / (d + 2));
    const std::size_t even = partita::even_part(k, 2 * all.threads());
    partita::share_parts(all, k, std::max(even, enough), 0,
                         [&](std::size_t first, std::size_t last, unsigned char*) {
                             table().summarise(view, unit, first, last, centers.data(),
                                               weight.data(), mean.data(), sse.data(), gap.data());
                         });
}

template <class T>
bool exact_few(Matrix<T> rows, Matrix<double> centers, OutVector<std::int32_t> labels) {
    const auto& use = kernels_of<T>(&table());
    expect(rows.shape(1) == centers.shape(1) && labels.shape(0) == rows.shape(0),
           "exact_few: shapes do not fit");
    nb::gil_scoped_release release;
    return use.exact_few(rows_of(rows), centers.data(), centers.shape(0), labels.data());
}

template <class T>
void distances(Matrix<T> rows, Matrix<double> centers, Array<double, 2> out) {
    const auto& use = kernels_of<T>(&table());
    const std::size_t n = rows.shape(0), d = rows.shape(1), k = centers.shape(0);
    expect(centers.shape(1) == d && out.shape(0) == n && out.shape(1) == k,
           "distances: shapes do not fit");
    Memory memory = partita::make_aligned<unsigned char>(use.assign_scratch(d));
    nb::gil_scoped_release release;
    use.distances(rows_of(rows), centers.data(), k,
                           reinterpret_cast<double*>(memory.get()), out.data());
}

template <class T>
void own_distance(Matrix<T> rows, Matrix<double> centers, Vector<double> origin,
                  Vector<std::int32_t> labels, OutVector<double> out, partita::Crew* crew) {
    const auto& use = kernels_of<T>(&table());
    const std::size_t n = rows.shape(0), d = rows.shape(1);
    expect(centers.shape(1) == d && origin.shape(0) == d && out.shape(0) == n,
           "own_distance: shapes do not fit");
    expect_labels(labels, n, centers.shape(0), 0);
    nb::gil_scoped_release release;
    const Workforce all(crew);
    partita::share_parts(all, n, partita::part_rows(all, n), 0,
                         [&](std::size_t first, std::size_t last, unsigned char*) {
                             use.own_distance({rows.data() + first * d, last - first, d},
                                              centers.data(), origin.data(),
                                              labels.data() + first, out.data() + first);
                         });
}

template <class T>
void own_distance_sparse(const Csr<T>& rows, Matrix<double> centers, Matrix<double> squares,
                         Vector<std::int32_t> labels, OutVector<double> out) {
    const auto& use = kernels_of<T>(&table());
    const partita::CsrRows<T> csr = rows.view();
    expect(centers.shape(1) == csr.d && out.shape(0) == csr.n &&
               squares.shape(0) == centers.shape(0) && squares.shape(1) == 2,
           "own_distance: shapes do not fit");
    expect_labels(labels, csr.n, centers.shape(0), 0);
    nb::gil_scoped_release release;
    use.own_distance_sparse(csr, centers.data(), squares.data(), labels.data(), out.data());
}

void square_norms(Matrix<double> centers, Array<double, 2> out) {
    expect(out.shape(0) == centers.shape(0) && out.shape(1) == 2,
           "square_norms: out must be (k, 2)");
    nb::gil_scoped_release release;
    table().square_norms(centers.data(), centers.shape(0), centers.shape(1), out.data());
}

// The bytes of a sketch, kept alive as long as the object.
struct Sketch {
    OutVector<std::uint8_t> data;
    Vector<double> middle;
    double step;

    Sketch(OutVector<std::uint8_t> data, Vector<double> middle, double step)
        : data(data), middle(middle), step(step) {
        expect(middle.shape(0) > 0 && middle.shape(0) <= 32768, "sketch: 1 to 32768 features expected");
        expect(step > 0, "sketch: step must be positive");
    }
    static partita::SketchView view(const Sketch* self, std::size_t n, std::size_t d) {
        if (!self) return {nullptr, nullptr, 1.0};
        const std::size_t panel = (d + 3) / 4 * 64 + 192;
        expect(self->middle.shape(0) == d && self->data.shape(0) >= (n + 15) / 16 * panel &&
                   reinterpret_cast<std::uintptr_t>(self->data.data()) % 4 == 0,
               "sketch: made for other rows");
        return {self->data.data(), self->middle.data(), self->step};
    }
};

template <class T>
void sketch_rows(Matrix<T> rows, double scale, const Sketch& sketch) {
    const auto& use = kernels_of<T>(&table());
    const partita::SketchView view = Sketch::view(&sketch, rows.shape(0), rows.shape(1));
    nb::gil_scoped_release release;
    use.sketch_rows(rows_of(rows), static_cast<T>(scale), view);
}

template <class T>
void seed_gain(Matrix<T> rows, double scale, Matrix<T> candidates, Vector<T> closest,
               Vector<std::int32_t> labels, Matrix<T> chosen, Array<std::uint64_t, 3> marks, Array<double, 2> gain, const Sketch* sketch,
               std::optional<Vector<double>> weight) {
    const auto& use = kernels_of<T>(&table());
    const std::size_t n = rows.shape(0), d = rows.shape(1), count = candidates.shape(0);
    const std::size_t leaves = (n + 255) / 256;
    expect(candidates.shape(1) == d && closest.shape(0) == n, "seed_gain: shapes do not fit");
    const std::size_t so_far = chosen.shape(0);
    expect(so_far == 0 || chosen.shape(1) == d, "chosen: (chosen, d) expected");
    if (so_far) expect_labels(labels, n, so_far, 0);
    expect(gain.shape(0) == leaves && gain.shape(1) == count, "gain: (leaves, candidates) expected");
    expect(marks.shape(0) == leaves && marks.shape(1) == count && marks.shape(2) == 4,
           "marks: (leaves, candidates, 4) expected");
    expect(!weight || weight->shape(0) == n, "weight: one per row expected");
    const partita::SketchView view = Sketch::view(sketch, n, d);
    Memory memory = partita::make_aligned<unsigned char>(use.seed_scratch(d, count, so_far));
    nb::gil_scoped_release release;
    use.seed_gain(rows_of(rows), static_cast<T>(scale), candidates.data(), count,
                  weight ? weight->data() : nullptr, closest.data(), labels.data(),
                  chosen.data(), so_far, view, marks.data(), gain.data(), memory.get());
}

template <class T>
void seed_choose(Matrix<T> rows, double scale, Matrix<T> candidates, std::size_t which,
                 OutVector<T> closest, OutVector<std::int32_t> labels, std::int32_t number,
                 Array<const std::uint64_t, 3> marks,
                 OutVector<double> potential, const Sketch* sketch,
                 std::optional<Vector<double>> weight) {
    const auto& use = kernels_of<T>(&table());
    const std::size_t n = rows.shape(0), d = rows.shape(1), count = candidates.shape(0);
    const std::size_t leaves = (n + 255) / 256;
    expect(candidates.shape(1) == d && closest.shape(0) == n && labels.shape(0) == n &&
               potential.shape(0) == leaves,
           "seed_choose: shapes do not fit");
    expect(which < count && marks.shape(0) == leaves && marks.shape(1) == count &&
               marks.shape(2) == 4,
           "marks: (leaves, candidates, 4) expected");
    expect(!weight || weight->shape(0) == n, "weight: one per row expected");
    const partita::SketchView view = Sketch::view(sketch, n, d);
    Memory memory = partita::make_aligned<unsigned char>(use.seed_scratch(d, 1, 0));
    nb::gil_scoped_release release;
    use.seed_choose(rows_of(rows), static_cast<T>(scale), candidates.data() + which * d,
                    weight ? weight->data() : nullptr, marks.data(), count, which, closest.data(),
                    labels.data(), number, view, potential.data(), memory.get());
}

template <class T>
void plusplus(Matrix<T> rows, double scale, Vector<double> uniform, std::size_t trials,
              std::pair<std::size_t, std::size_t> rounds, OutVector<std::int64_t> chosen,
              Array<T, 2> centers, OutVector<T> closest, OutVector<std::int32_t> labels,
              OutVector<double> potential, const Sketch* sketch,
              std::optional<Vector<double>> weight) {
    const auto& use = kernels_of<T>(&table());
    const std::size_t n = rows.shape(0), d = rows.shape(1), k = chosen.shape(0);
    expect(centers.shape(0) == k && centers.shape(1) == d, "centers: (k, d) expected");
    expect(labels.shape(0) == n, "labels: one per row expected");
    if (rounds.first) expect_labels(labels, n, rounds.first, 0);
    expect(n > 0 && k > 0 && trials > 0 && uniform.shape(0) == 1 + (k - 1) * trials,
           "plusplus: 1 + (k - 1)·trials numbers expected");
    expect(rounds.first <= rounds.second && rounds.second <= k, "plusplus: rounds beyond k");
    for (std::size_t i = 0; i < uniform.shape(0); ++i)
        expect(uniform.data()[i] >= 0 && uniform.data()[i] < 1, "plusplus: uniform is not in [0, 1)");
    expect(closest.shape(0) == n && potential.shape(0) == (n + 255) / 256,
           "plusplus: shapes do not fit");
    expect(!weight || weight->shape(0) == n, "weight: one per row expected");
    const partita::SketchView view = Sketch::view(sketch, n, d);
    Memory memory =
        partita::make_aligned<unsigned char>(use.plusplus_scratch(n, d, trials, k));
    nb::gil_scoped_release release;
    use.plusplus(rows_of(rows), static_cast<T>(scale), uniform.data(), rounds.first, rounds.second,
                 trials, weight ? weight->data() : nullptr, chosen.data(), centers.data(),
                 closest.data(), labels.data(), potential.data(), view, memory.get());
}

// Lowers `low`, raises `high`, taints `taint`: each part for itself, then all together.
template <class T>
void extent(Matrix<T> rows, OutVector<T> low, OutVector<T> high, OutVector<T> taint,
            std::optional<Vector<double>> weight, partita::Crew* crew) {
    const auto& use = kernels_of<T>(&table());
    const std::size_t n = rows.shape(0), d = rows.shape(1);
    expect(low.shape(0) == d && high.shape(0) == d && taint.shape(0) == d &&
               (!weight || weight->shape(0) == n),
           "extent: shapes do not fit");
    nb::gil_scoped_release release;
    const Workforce all(crew);
    const std::size_t step = partita::part_rows(all, n);
    std::vector<T> found((n + step - 1) / step * 3 * d);
    partita::share_parts(
        all, n, step, 0, [&](std::size_t first, std::size_t last, unsigned char*) {
            T* mine = found.data() + first / step * 3 * d;
            std::copy_n(low.data(), d, mine);
            std::copy_n(high.data(), d, mine + d);
            use.extent({rows.data() + first * d, last - first, d},
                       weight ? weight->data() + first : nullptr, mine, mine + d, mine + 2 * d);
        });
    for (std::size_t at = 0; at < found.size(); at += 3 * d)
        for (std::size_t t = 0; t < d; ++t) {
            low.data()[t] = std::min(low.data()[t], found[at + t]);
            high.data()[t] = std::max(high.data()[t], found[at + d + t]);
            taint.data()[t] += found[at + 2 * d + t];
        }
}

// counts (3, d): below `middle`, at it, and otherwise nearer than `near`.
template <class T>
void tally(Matrix<T> rows, Vector<T> middle, Vector<T> near, Array<std::int64_t, 2> counts,
           partita::Crew* crew) {
    const auto& use = kernels_of<T>(&table());
    const std::size_t n = rows.shape(0), d = rows.shape(1);
    expect(middle.shape(0) == d && near.shape(0) == d && counts.shape(0) == 3 &&
               counts.shape(1) == d,
           "tally: shapes do not fit");
    nb::gil_scoped_release release;
    const Workforce all(crew);
    const std::size_t step = partita::part_rows(all, n);
    std::vector<std::uint32_t> found((n + step - 1) / step * 3 * d);
    partita::share_parts(all, n, step, 0,
                         [&](std::size_t first, std::size_t last, unsigned char*) {
                             std::uint32_t* mine = found.data() + first / step * 3 * d;
                             use.tally({rows.data() + first * d, last - first, d}, middle.data(),
                                       near.data(), mine, mine + d, mine + 2 * d);
                         });
    for (std::size_t e = 0; e < found.size(); ++e) counts.data()[e % (3 * d)] += found[e];
}

void exact_sum(Vector<double> values, OutVector<std::int64_t> digits) {
    expect(digits.shape(0) == 68, "exact_sum: 68 digits expected");
    nb::gil_scoped_release release;
    table().exact_sum(values.data(), values.shape(0), digits.data());
}

double spin(std::int64_t rounds, bool single) {
    nb::gil_scoped_release release;
    float f[2] = {1e-3f, 1e-3f};
    double g[2] = {1e-3, 1e-3};
    return single ? table().single.spin(rounds, f) : table().full.spin(rounds, g);
}

std::vector<std::string> instruction_sets() {
    std::vector<std::string> names;
    for (const KernelTable* t : partita::runnable_tables()) names.emplace_back(t->name);
    return names;
}

void use_instruction_set(const std::string& name) {
    for (const KernelTable* t : partita::runnable_tables())
        if (name == t->name) return partita::active_table().store(t);
    throw std::invalid_argument("instruction set '" + name + "' is not available here");
}

// Every center once, in groups that are not empty.
partita::Grouping grouping_of(const Vector<std::int32_t>& members,
                              const std::optional<Vector<std::int32_t>>& sizes, std::size_t k) {
    expect(sizes && members.shape(0) == k, "codebook: members (k) and sizes of groups expected");
    std::vector<bool> seen(k, false);
    for (std::size_t p = 0; p < k; ++p) {
        const std::int32_t j = members.data()[p];
        expect(j >= 0 && static_cast<std::size_t>(j) < k && !seen[static_cast<std::size_t>(j)],
               "codebook: members must be all centers, each once");
        seen[static_cast<std::size_t>(j)] = true;
    }
    std::size_t total = 0;
    for (std::size_t g = 0; g < sizes->shape(0); ++g) {
        expect(sizes->data()[g] > 0, "codebook: a group is empty");
        total += static_cast<std::size_t>(sizes->data()[g]);
    }
    expect(total == k, "codebook: the sizes of groups must add up to k");
    return {members.data(), sizes->data(), sizes->shape(0)};
}

template <class T>
void bind_typed(nb::module_& m, const char* book, const char* sparse_book, const char* csr) {
    using partita::Codebook;
    using partita::SparseCodebook;
    const auto none = nb::none();
    nb::class_<Packed<Codebook<T>>>(m, book).def(
        "__init__",
        [](Packed<Codebook<T>>* self, Matrix<double> centers, Vector<double> origin,
           std::optional<Vector<std::int32_t>> members, std::optional<Vector<std::int32_t>> sizes,
           const KeptRows* like, partita::Crew* crew) {
            const std::size_t k = centers.shape(0), d = centers.shape(1);
            expect(k > 0 && d > 0 && origin.shape(0) == d,
                   "codebook: centers (k, d) and origin (d) expected");
            partita::Grouping grouping{};
            if (members) grouping = grouping_of(*members, sizes, k);
            expect(!like || sizeof(T) == 4, "codebook: kept rows are for float32 scores");
            expect(!like || like->panels.d() == d,
                   "codebook: kept rows have another number of features");
            partita::Frame frame{};
            if (like) frame = like->panels.frame();
            nb::gil_scoped_release release;
            const KernelTable* use = &table();
            const Workforce all(crew);
            auto share = [&](std::size_t count, auto work) {
                const std::size_t parts = std::max<std::size_t>(1, k * d / kFewCells);
                const std::size_t most = std::min(parts, 2 * all.threads());
                partita::share_parts(
                    all, count, partita::even_part(count, most), 0,
                    [&](std::size_t first, std::size_t last, unsigned char*) { work(first, last); });
            };
            new (self) Packed<Codebook<T>>{
                Codebook<T>(centers.data(), origin.data(), k, d, kernels_of<T>(use).tile_rows,
                            members ? &grouping : nullptr, like ? &frame : nullptr, share),
                use};
        },
        "centers"_a, "origin"_a, "members"_a = none, "sizes"_a = none, "like"_a = none,
        "crew"_a = none);
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
            expect(start.shape(0) > 0 && start.data()[0] >= 0 &&
                       column.shape(0) == value.shape(0),
                   "csr: start, column and value do not fit");
            nb::gil_scoped_release release;
            for (std::size_t i = 0; i + 1 < start.shape(0); ++i)
                expect(start.data()[i] <= start.data()[i + 1], "csr: start must not decrease");
            expect(static_cast<std::size_t>(start.data()[start.shape(0) - 1]) <= column.shape(0),
                   "csr: start reaches beyond the stored values");
            for (std::int64_t p = start.data()[0]; p < start.data()[start.shape(0) - 1]; ++p)
                expect(column.data()[p] >= 0 &&
                           static_cast<std::size_t>(column.data()[p]) < d,
                       "csr: a column index is out of range");
            nb::gil_scoped_acquire acquire;  // arrays are counted references
            new (self) Csr<T>{start, column, value, d};
        },
        "start"_a.noconvert(), "column"_a.noconvert(), "value"_a.noconvert(), "d"_a);
    m.def("assign", &assign<T, T>, "book"_a, "rows"_a.noconvert(), "labels"_a.noconvert(),
          "sums"_a = none, "times"_a = none, "weight"_a = none, "crew"_a = none, "kept"_a = none, "at"_a = 0);
    m.def("keep_rows", &keep_rows<T>, "book"_a, "rows"_a.noconvert(), "crew"_a = none,
          nb::rv_policy::take_ownership);
    m.def("assign_leaves", &assign_leaves<T>, "leaves"_a, "first"_a, "last"_a, "book"_a,
          "target"_a, "rows"_a.noconvert(), "labels"_a.noconvert(), "sums"_a = none,
          "times"_a = none, "weight"_a = none, "crew"_a = none);
    m.def(
        "plant",
        [](Matrix<T> rows, Vector<double> origin, double scale, partita::Crew* crew) {
            const std::size_t n = rows.shape(0), d = rows.shape(1);
            expect(n > 0 && d > 0 && n < (std::size_t{1} << 31) && origin.shape(0) == d,
                   "plant: rows (n, d) and origin (d) expected");
            nb::gil_scoped_release release;
            const Workforce all(crew);
            auto share = [&](std::size_t count, auto work) {
                partita::share_parts(
                    all, count, partita::even_part(count, partita::kParts * all.threads()), 0,
                    [&](std::size_t first, std::size_t last, unsigned char*) { work(first, last); });
            };
            return new Leaves(partita::Tree(rows.data(), n, d, origin.data(), scale, share));
        },
        "rows"_a.noconvert(), "origin"_a.noconvert(), "scale"_a, "crew"_a = none,
        nb::rv_policy::take_ownership);
    m.def("bounded", &bounded<T>, "filter"_a, "target"_a.none(), "rows"_a.noconvert(),
          "labels"_a.noconvert(), "upper"_a.noconvert(), "other"_a.noconvert(),
          "lower"_a.noconvert(), "motion"_a, "whole"_a, "sums"_a = none, "times"_a = none,
          "weight"_a = none, "filter_rows"_a.noconvert() = none, "crew"_a = none);
    m.def("assign_sparse", &assign_sparse<T>, "book"_a, "rows"_a, "labels"_a.noconvert(),
          "sums"_a = none, "times"_a = none, "weight"_a = none);
    m.def("move_rows", &move_rows<T>, "sums"_a, "rows"_a.noconvert(), "before"_a.noconvert(),
          "after"_a.noconvert(), "times"_a = none, "weight"_a = none, "crew"_a = none);
    m.def("move_sparse", &move_sparse<T>, "sums"_a, "rows"_a, "before"_a.noconvert(),
          "after"_a.noconvert(), "times"_a = none, "weight"_a = none);
    m.def("exact_few", &exact_few<T>, "rows"_a.noconvert(), "centers"_a.noconvert(),
          "labels"_a.noconvert());
    m.def("distances", &distances<T>, "rows"_a.noconvert(), "centers"_a.noconvert(),
          "out"_a.noconvert());
    m.def("own_distance", &own_distance<T>, "rows"_a.noconvert(), "centers"_a.noconvert(),
          "origin"_a.noconvert(), "labels"_a.noconvert(), "out"_a.noconvert(), "crew"_a = none);
    m.def("own_distance_sparse", &own_distance_sparse<T>, "rows"_a, "centers"_a.noconvert(),
          "squares"_a.noconvert(), "labels"_a.noconvert(), "out"_a.noconvert());
    m.def("sketch_rows", &sketch_rows<T>, "rows"_a.noconvert(), "scale"_a, "sketch"_a);
    m.def("seed_gain", &seed_gain<T>, "rows"_a.noconvert(), "scale"_a, "candidates"_a.noconvert(),
          "closest"_a.noconvert(), "labels"_a.noconvert(), "chosen"_a.noconvert(),
          "marks"_a.noconvert(), "gain"_a.noconvert(),
          "sketch"_a = none, "weight"_a = none);
    m.def("seed_choose", &seed_choose<T>, "rows"_a.noconvert(), "scale"_a,
          "candidates"_a.noconvert(), "which"_a, "closest"_a.noconvert(), "labels"_a.noconvert(),
          "number"_a, "marks"_a.noconvert(),
          "potential"_a.noconvert(), "sketch"_a = none, "weight"_a = none);
    m.def("plusplus", &plusplus<T>, "rows"_a.noconvert(), "scale"_a, "uniform"_a.noconvert(),
          "trials"_a, "rounds"_a, "chosen"_a.noconvert(), "centers"_a.noconvert(),
          "closest"_a.noconvert(), "labels"_a.noconvert(),
          "potential"_a.noconvert(), "sketch"_a = none, "weight"_a = none);
    m.def("tally", &tally<T>, "rows"_a.noconvert(), "middle"_a.noconvert(), "near"_a.noconvert(),
          "counts"_a.noconvert(), "crew"_a = none);
    m.def("extent", &extent<T>, "rows"_a.noconvert(), "low"_a.noconvert(), "high"_a.noconvert(),
          "taint"_a.noconvert(), "weight"_a = none, "crew"_a = none);
}

}  // namespace

NB_MODULE(core, m) {
    m.doc() = "The compiled kernels of partita; `partita._kernels.reference` is their NumPy text.";
    nb::class_<Sums>(m, "Sums")
        .def(nb::init<Array<std::int64_t, 2>, Array<std::int64_t, 2>, Vector<double>,
                      Vector<double>, double, double>(),
             "hi"_a.noconvert(), "lo"_a.noconvert(), "origin"_a.noconvert(), "up"_a.noconvert(),
             "scale"_a, "limb"_a);
    nb::class_<partita::Crew>(m, "Crew")
        .def(nb::init<std::size_t>(), "threads"_a, nb::call_guard<nb::gil_scoped_release>())
        .def("dismiss", &partita::Crew::dismiss, nb::call_guard<nb::gil_scoped_release>());
    nb::class_<KeptRows>(m, "KeptRows");
    nb::class_<partita::Target>(m, "Target")
        .def(
            "__init__",
            [](partita::Target* self, Matrix<double> centers, Vector<double> origin) {
                expect(centers.shape(0) > 0 && centers.shape(1) > 0 &&
                           origin.shape(0) == centers.shape(1),
                       "target: centers (k, d) and origin (d) expected");
                nb::gil_scoped_release release;
                new (self) partita::Target(centers.data(), origin.data(), centers.shape(0),
                                           centers.shape(1));
            },
            "centers"_a, "origin"_a);
    nb::class_<Leaves>(m, "Leaves")
        .def("forget", &Leaves::forget)
        .def_prop_ro("nodes", [](const Leaves& self) { return self.tree.nodes(); })
        .def_prop_ro("order",
                     [](const Leaves& self) {
                         return nb::ndarray<nb::numpy, const std::int32_t, nb::ndim<1>>(
                             self.tree.order().data(), {self.tree.order().size()}, nb::find(self));
                     });
    nb::class_<partita::TreeBook>(m, "TreeBook")
        .def(
            "__init__",
            [](partita::TreeBook* self, Matrix<double> centers, double scale,
               Vector<std::uint8_t> moved) {
                expect(centers.shape(0) > 0 && centers.shape(1) > 0 &&
                           moved.shape(0) == centers.shape(0),
                       "tree book: centers (k, d) and moved (k) expected");
                new (self) partita::TreeBook(centers.data(), centers.shape(0), centers.shape(1),
                                             scale, moved.data());
            },
            "centers"_a.noconvert(), "scale"_a, "moved"_a.noconvert());
    nb::class_<partita::Motion>(m, "Motion")
        .def(
            "__init__",
            [](partita::Motion* self, Vector<std::int32_t> members, Vector<std::int32_t> sizes,
               Matrix<double> centers, Vector<double> origin, double quantum, double blur,
               bool geometry) {
                const std::size_t k = centers.shape(0), d = centers.shape(1);
                expect(k > 0 && d > 0 && origin.shape(0) == d,
                       "motion: centers (k, d) and origin (d) expected");
                const partita::Grouping grouping = grouping_of(members, sizes, k);
                expect(grouping.groups <= 32 && quantum > 0, "motion: 1 to 32 groups expected");
                new (self) partita::Motion(grouping, centers.data(), origin.data(), k, d, quantum,
                                           blur, geometry);
            },
            "members"_a, "sizes"_a, "centers"_a, "origin"_a, "quantum"_a, "blur"_a, "geometry"_a)
        .def("follow", &follow, "centers"_a.noconvert(), "origin"_a.noconvert(),
             "labels"_a.noconvert(), "upper"_a.noconvert(), "other"_a.noconvert(),
             "lower"_a.noconvert(), "crew"_a = nb::none())
        .def_prop_ro("own", [](const partita::Motion& self) { return self.own(); })
        .def_prop_ro("come", [](const partita::Motion& self) { return self.come(); })
        .def_prop_ro("all", &partita::Motion::all);
    nb::class_<Sketch>(m, "Sketch")
        .def(nb::init<OutVector<std::uint8_t>, Vector<double>, double>(), "data"_a.noconvert(),
             "middle"_a.noconvert(), "step"_a);
    bind_typed<float>(m, "Codebook32", "SparseCodebook32", "Csr32");
    bind_typed<double>(m, "Codebook64", "SparseCodebook64", "Csr64");
    const auto none = nb::none();
    m.def("assign", &assign<float, double>, "book"_a, "rows"_a.noconvert(),
          "labels"_a.noconvert(), "sums"_a = none, "times"_a = none, "weight"_a = none, "crew"_a = none, "kept"_a = none, "at"_a = 0);
    m.def("summarise", &summarise, "sums"_a, "unit"_a, "centers"_a.noconvert(),
          "weight"_a.noconvert(), "mean"_a.noconvert(), "sse"_a.noconvert(), "gap"_a.noconvert(),
          "crew"_a = none);
    m.def("square_norms", &square_norms, "centers"_a.noconvert(), "out"_a.noconvert());
    m.def("exact_sum", &exact_sum, "values"_a.noconvert(), "digits"_a.noconvert());
    m.def("spin", &spin, "rounds"_a, "single"_a);
    m.def("instruction_sets", &instruction_sets);
    m.def("instruction_set", [] { return std::string(table().name); });
    m.def("use_instruction_set", &use_instruction_set, "name"_a);
}
