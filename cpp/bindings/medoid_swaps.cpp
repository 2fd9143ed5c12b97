// Bindings for k-medoids: swaps, and the summary of a matrix.

#include <nanobind/stl/tuple.h>

#include <atomic>
#include <tuple>

#include "common.hpp"

namespace partita::binding {

namespace {

// The arrays of the points and their medoids; keeps them alive.
template <class T>
struct Swaps {
    OutVector<std::int64_t> medoids;
    Array<T, 2> columns;
    OutVector<std::int32_t> near, second;
    OutVector<T> closest, next;
    OutVector<double> removal;
    std::optional<Vector<double>> weight;
    double loss = 0;

    Swaps(OutVector<std::int64_t> medoids, Array<T, 2> columns, OutVector<std::int32_t> near,
          OutVector<std::int32_t> second, OutVector<T> closest, OutVector<T> next,
          OutVector<double> removal, std::optional<Vector<double>> weight)
        : medoids(medoids), columns(columns), near(near), second(second), closest(closest),
          next(next), removal(removal), weight(weight) {
        const std::size_t k = medoids.shape(0), n = near.shape(0);
        expect(k >= 2 && columns.shape(0) == k && columns.shape(1) == n && removal.shape(0) == k,
               "swaps: at least two medoids, columns (k, n) and removal (k) expected");
        expect(second.shape(0) == n && closest.shape(0) == n && next.shape(0) == n &&
                   (!weight || weight->shape(0) == n),
               "swaps: one entry per point expected");
        nb::gil_scoped_release release;
        kernels_of<T>(&table()).medoid_two_nearest(view());
        loss = kernels_of<T>(&table()).swap_apply(view(), k, nullptr);
    }
    SwapView<T> view() const {
        return {near.shape(0),
                medoids.shape(0),
                near.data(),
                second.data(),
                closest.data(),
                next.data(),
                weight ? weight->data() : nullptr,
                removal.data(),
                columns.data()};
    }
    bool has(std::int64_t id) const {
        const std::int64_t* end = medoids.data() + medoids.shape(0);
        return std::find(static_cast<const std::int64_t*>(medoids.data()), end, id) != end;
    }
};

// Candidates: rows of a table of columns, and the index of the point that each belongs to.
template <class T>
void expect_candidates(const Swaps<T>& swaps, const Matrix<T>& table,
                       const Vector<std::int64_t>& rows, const Vector<std::int64_t>& ids) {
    expect(table.shape(1) == swaps.near.shape(0),
           "candidates: one dissimilarity per point expected");
    expect(rows.shape(0) == ids.shape(0), "candidates: one number per row expected");
    for (std::size_t i = 0; i < rows.shape(0); ++i)
        expect(rows.data()[i] >= 0 && static_cast<std::size_t>(rows.data()[i]) < table.shape(0),
               "candidates: a row is outside the table");
    expect_within(swaps.near.data(), swaps.near.shape(0), swaps.medoids.shape(0), 0);
}

// Change of the loss by the best swap of every candidate, and its place; infinity for medoids.
template <class T>
void swap_scan(const Swaps<T>& swaps, Matrix<T> table, Vector<std::int64_t> rows,
               Vector<std::int64_t> ids, OutVector<double> change, OutVector<std::int32_t> place,
               Crew* crew) {
    const auto& use = kernels_of<T>(&binding::table());
    expect_candidates(swaps, table, rows, ids);
    const std::size_t count = rows.shape(0);
    expect(change.shape(0) == count && place.shape(0) == count,
           "scan: one result per row expected");
    const SwapView<T> view = swaps.view();
    nb::gil_scoped_release release;
    const Executor executor(crew);
    parallel_for(
        executor, count, items_per_part(count, kPartsPerThread * executor.threads()),
        8 * kFewLanes * view.k, [&](std::size_t first, std::size_t last, unsigned char* memory) {
            for (std::size_t i = first; i < last; ++i) {
                BestSwap best{std::numeric_limits<double>::infinity(), 0};
                if (!swaps.has(ids.data()[i]))
                    best = use.swap_change(
                        view, table.data() + static_cast<std::size_t>(rows.data()[i]) * view.n,
                        reinterpret_cast<double*>(memory));
                change.data()[i] = best.change;
                place.data()[i] = best.place;
            }
        });
}

// The first of `count` candidates that lowers the loss, or `count`. Candidates are independent, so
// threads evaluate several; those after one that gains are skipped.
template <class Evaluate>
std::size_t first_that_gains(Crew& crew, std::size_t count, std::size_t scratch, BestSwap* best,
                             Evaluate evaluate) {
    std::atomic<std::size_t> first{count};
    parallel_for(crew, count, items_per_part(count, 2 * crew.threads()), scratch,
                 [&](std::size_t begin, std::size_t end, unsigned char* memory) {
                     for (std::size_t i = begin; i < end && i < first.load(); ++i) {
                         best[i] = evaluate(i, reinterpret_cast<double*>(memory));
                         if (!(best[i].change < 0)) continue;
                         std::size_t known = first.load();
                         while (i < known && !first.compare_exchange_weak(known, i)) {
                         }
                         return;
                     }
                 });
    return first.load();
}

// Tries candidates in order and swaps whenever the loss decreases, until `limit` consecutive
// candidates brought no improvement (`idle` of them before this call). Returns the numbers of
// candidates tried, of idle ones now, and of swaps. It terminates: the loss depends on the medoids
// only, and every swap lowers it.
template <class T>
std::tuple<std::int64_t, std::int64_t, std::int64_t> swap_search(Swaps<T>& swaps, Matrix<T> table,
                                                                 Vector<std::int64_t> rows,
                                                                 Vector<std::int64_t> ids,
                                                                 std::int64_t idle,
                                                                 std::int64_t limit, Crew* crew) {
    const auto& use = kernels_of<T>(&binding::table());
    expect_candidates(swaps, table, rows, ids);
    const SwapView<T> view = swaps.view();
    nb::gil_scoped_release release;
    const Executor executor(crew);
    const std::size_t min_batch = executor.threads() == 1 ? 64 : 2 * executor.threads();
    const std::size_t max_batch = 64 * executor.threads();
    const auto row = [&](std::size_t i) {
        return table.data() + static_cast<std::size_t>(rows.data()[i]) * view.n;
    };
    std::vector<BestSwap> best(max_batch);
    std::vector<T> before(view.n);
    std::size_t tried = 0, batch = min_batch;
    std::int64_t made = 0;
    while (tried < rows.shape(0) && idle < limit) {
        const std::size_t count =
            std::min({batch, rows.shape(0) - tried, static_cast<std::size_t>(limit - idle)});
        const std::size_t first = first_that_gains(
            executor, count, 8 * kFewLanes * view.k, best.data(), [&](std::size_t i, double* sums) {
                if (swaps.has(ids.data()[tried + i])) return BestSwap{0, 0};
                return use.swap_change(view, row(tried + i), sums);
            });
        if (first == count) {
            tried += count, idle += static_cast<std::int64_t>(count);
            batch = std::min(max_batch, 2 * batch);
            continue;
        }
        const auto place = static_cast<std::size_t>(best[first].place);
        std::copy_n(view.columns + place * view.n, view.n, before.data());
        const double loss = use.swap_apply(view, place, row(tried + first));
        if (loss < swaps.loss) {
            swaps.loss = loss;
            swaps.medoids.data()[place] = ids.data()[tried + first];
            idle = 0, ++made;
            batch = min_batch;
        } else {  // the gain was a rounding error
            use.swap_apply(view, place, before.data());
            idle += static_cast<std::int64_t>(first) + 1;
        }
        tried += first + 1;
    }
    return {static_cast<std::int64_t>(tried), idle, made};
}

// Puts one candidate in a place if this lowers the loss; returns whether it did.
template <class T>
bool swap_apply(Swaps<T>& swaps, Vector<T> column, std::int64_t id, std::int64_t place) {
    const auto& use = kernels_of<T>(&table());
    const SwapView<T> view = swaps.view();
    expect(column.shape(0) == view.n, "swap: one dissimilarity per point expected");
    expect(place >= 0 && static_cast<std::size_t>(place) < view.k, "swap: no such place");
    expect_within(swaps.near.data(), view.n, view.k, 0);
    nb::gil_scoped_release release;
    const auto here = static_cast<std::size_t>(place);
    const std::vector<T> before(view.columns + here * view.n, view.columns + (here + 1) * view.n);
    const double loss = use.swap_apply(view, here, column.data());
    if (loss < swaps.loss) {
        swaps.loss = loss;
        swaps.medoids.data()[place] = id;
        return true;
    }
    use.swap_apply(view, here, before.data());
    return false;
}

// Σ w·(decrease of closest) by each candidate; without `closest`, Σ w·dissimilarity to it.
template <class T>
void swap_gain(Matrix<T> table, std::optional<Vector<T>> closest,
               std::optional<Vector<double>> weight, OutVector<double> gain, Crew* crew) {
    const auto& use = kernels_of<T>(&binding::table());
    const std::size_t count = table.shape(0), n = table.shape(1);
    expect(gain.shape(0) == count && (!closest || closest->shape(0) == n) &&
               (!weight || weight->shape(0) == n),
           "gain: shapes do not fit");
    nb::gil_scoped_release release;
    const Executor executor(crew);
    parallel_for_evenly(executor, count, kPartsPerThread * executor.threads(),
                        [&](std::size_t first, std::size_t last) {
                            for (std::size_t i = first; i < last; ++i)
                                gain.data()[i] = use.swap_gain(
                                    table.data() + i * n, closest ? closest->data() : nullptr,
                                    weight ? weight->data() : nullptr, n);
                        });
}

// summary (5): lowest, highest, NaN or 0, largest on the diagonal, largest |a − aᵀ|.
template <class T>
void summarise_matrix(Matrix<T> matrix, OutVector<double> summary, Crew* crew) {
    const auto& use = kernels_of<T>(&table());
    const std::size_t n = matrix.shape(0);
    expect(n > 0 && matrix.shape(1) == n && summary.shape(0) == 5,
           "summarise_matrix: a square matrix expected");
    nb::gil_scoped_release release;
    const Executor executor(crew);
    constexpr std::size_t step = 64;
    std::vector<MatrixSummary> parts((n + step - 1) / step);
    parallel_for(executor, n, step, 0, [&](std::size_t first, std::size_t last, unsigned char*) {
        parts[first / step] = use.summarise_matrix(matrix.data(), n, first, last);
    });
    MatrixSummary whole = parts[0];
    for (const MatrixSummary& part : parts)
        whole = {std::min(whole.low, part.low), std::max(whole.high, part.high),
                 whole.taint + part.taint, std::max(whole.diagonal, part.diagonal),
                 std::max(whole.asymmetry, part.asymmetry)};
    const double values[] = {whole.low, whole.high, whole.taint, whole.diagonal, whole.asymmetry};
    std::copy_n(values, 5, summary.data());
}

template <class T>
void bind_typed(nb::module_& m, const char* name) {
    const auto none = nb::none();
    nb::class_<Swaps<T>>(m, name)
        .def(nb::init<OutVector<std::int64_t>, Array<T, 2>, OutVector<std::int32_t>,
                      OutVector<std::int32_t>, OutVector<T>, OutVector<T>, OutVector<double>,
                      std::optional<Vector<double>>>(),
             "medoids"_a.noconvert(), "columns"_a.noconvert(), "near"_a.noconvert(),
             "second"_a.noconvert(), "closest"_a.noconvert(), "next"_a.noconvert(),
             "removal"_a.noconvert(), "weight"_a = none)
        .def_ro("loss", &Swaps<T>::loss);
    m.def("swap_scan", &swap_scan<T>, "swaps"_a, "table"_a.noconvert(), "rows"_a.noconvert(),
          "ids"_a.noconvert(), "change"_a.noconvert(), "place"_a.noconvert(), "crew"_a = none);
    m.def("swap_search", &swap_search<T>, "swaps"_a, "table"_a.noconvert(), "rows"_a.noconvert(),
          "ids"_a.noconvert(), "idle"_a, "limit"_a, "crew"_a = none);
    m.def("swap_apply", &swap_apply<T>, "swaps"_a, "column"_a.noconvert(), "id"_a, "place"_a);
    m.def("swap_gain", &swap_gain<T>, "table"_a.noconvert(), "closest"_a.noconvert().none(),
          "weight"_a.noconvert().none(), "gain"_a.noconvert(), "crew"_a = none);
    m.def("summarise_matrix", &summarise_matrix<T>, "matrix"_a.noconvert(), "summary"_a.noconvert(),
          "crew"_a = none);
}

}  // namespace

void bind_medoid_swaps(nb::module_& m) {
    bind_typed<float>(m, "Swaps32");
    bind_typed<double>(m, "Swaps64");
}

}  // namespace partita::binding
