// Bindings of the plain passes over dense rows, and distances.

#include "common.hpp"

namespace partita::binding {

namespace {

template <class R>
KeptRows* keep_rows(const Packed<Codebook<float>>& packed, Matrix<R> rows, Crew* crew) {
    const std::size_t n = rows.shape(0), d = rows.shape(1);
    const BookView<float>& book = packed.book.view();
    const auto& use = kernels_of<R>(packed.use);
    expect(d == book.d, "keep_rows: rows and centers have different numbers of features");
    nb::gil_scoped_release release;
    auto kept = std::make_unique<KeptRows>(
        KeptRows{KeptPanels(book, n, packed.use->single.panel_width), packed.use});
    const Executor executor(crew);
    parallel_for(executor, n, rows_per_part(executor, n), use.assign_single_scratch(d),
                 [&](std::size_t first, std::size_t last, unsigned char* memory) {
                     use.keep_panels(book, {rows.data() + first * d, last - first, d},
                                     kept->panels.view(first).data, kept->panels.squares(first),
                                     memory);
                 });
    return kept.release();
}

// Rows of type R against centers packed for scores in T. `kept` holds these rows from row `at` on.
template <class T, class R>
std::pair<std::int64_t, std::int64_t> assign(const Packed<Codebook<T>>& packed, Matrix<R> rows,
                                             OutVector<std::int32_t> labels, const Sums* sums,
                                             std::optional<Vector<std::int64_t>> times,
                                             std::optional<Vector<double>> weight, Crew* crew,
                                             const KeptRows* kept, std::size_t at) {
    const std::size_t n = rows.shape(0), d = rows.shape(1);
    const BookView<T>& book = packed.book.view();
    const auto& use = kernels_of<R>(packed.use);
    expect(d == book.d, "assign: rows and centers have different numbers of features");
    expect(book.groups == 1, "assign: centers without groups expected");
    expect_labels(labels, n, book.k, -1);
    expect(!sums || sums->hi.shape(0) == book.k, "assign: sums of another number of clusters");
    SumView view{};
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
    const Executor executor(crew);
    const PassCounts outcome = parallel_reduce<PassCounts>(
        executor, n, rows_per_part(executor, n), sums ? &view : nullptr, scratch,
        [&](std::size_t first, std::size_t last, const SumView* into, unsigned char* memory) {
            SumView part_sums{};
            if (into) part_sums = from_row(*into, first);
            const Rows<R> part{rows.data() + first * d, last - first, d};
            const SumView* sums_or_null = into ? &part_sums : nullptr;
            std::int32_t* label = labels.data() + first;
            PanelView<T> here{};
            if constexpr (std::is_same_v<T, float>)
                if (ready) here = kept->panels.view(at + first);
            if constexpr (alike)
                return use.assign(book, part, here, sums_or_null, label, memory);
            else
                return use.assign_single(book, part, here, sums_or_null, label, memory);
        });
    return {outcome.moved, outcome.rechecked};
}

template <class T>
bool assign_few(Matrix<T> rows, Matrix<double> centers, OutVector<std::int32_t> labels) {
    const auto& use = kernels_of<T>(&table());
    expect(rows.shape(1) == centers.shape(1) && labels.shape(0) == rows.shape(0),
           "assign_few: shapes do not fit");
    nb::gil_scoped_release release;
    return use.assign_few(rows_of(rows), centers.data(), centers.shape(0), labels.data());
}

template <class T>
void distances(Matrix<T> rows, Matrix<double> centers, Array<double, 2> out) {
    const auto& use = kernels_of<T>(&table());
    const std::size_t n = rows.shape(0), d = rows.shape(1), k = centers.shape(0);
    expect(centers.shape(1) == d && out.shape(0) == n && out.shape(1) == k,
           "distances: shapes do not fit");
    Memory memory = make_aligned<unsigned char>(use.assign_scratch(d));
    nb::gil_scoped_release release;
    use.distances(rows_of(rows), centers.data(), k, reinterpret_cast<double*>(memory.get()),
                  out.data());
}

template <class T>
void squares(Matrix<T> rows, Matrix<double> centers, Vector<double> origin, Array<double, 2> out,
             Crew* crew) {
    const auto& use = kernels_of<T>(&table());
    const std::size_t n = rows.shape(0), d = rows.shape(1), k = centers.shape(0);
    expect(centers.shape(1) == d && origin.shape(0) == d && out.shape(0) == n && out.shape(1) == k,
           "squares: shapes do not fit");
    nb::gil_scoped_release release;
    const Executor executor(crew);
    parallel_for(executor, n, rows_per_part(executor, n), use.assign_scratch(d),
                 [&](std::size_t first, std::size_t last, unsigned char* memory) {
                     use.squares({rows.data() + first * d, last - first, d}, centers.data(),
                                 origin.data(), k, reinterpret_cast<double*>(memory),
                                 out.data() + first * k);
                 });
}

template <class T>
void two_nearest(Matrix<T> rows, Matrix<double> centers, OutVector<std::int32_t> labels,
                 OutVector<double> first, OutVector<double> second, Crew* crew) {
    const auto& use = kernels_of<T>(&table());
    const std::size_t n = rows.shape(0), d = rows.shape(1), k = centers.shape(0);
    expect(k > 0 && centers.shape(1) == d && labels.shape(0) == n && first.shape(0) == n &&
               second.shape(0) == n,
           "two_nearest: shapes do not fit");
    nb::gil_scoped_release release;
    const Executor executor(crew);
    parallel_for(executor, n, rows_per_part(executor, n), use.assign_scratch(d),
                 [&](std::size_t from, std::size_t to, unsigned char* memory) {
                     use.two_nearest({rows.data() + from * d, to - from, d}, centers.data(), k,
                                     reinterpret_cast<double*>(memory), labels.data() + from,
                                     first.data() + from, second.data() + from);
                 });
}

template <class T>
void own_distance(Matrix<T> rows, Matrix<double> centers, Vector<double> origin,
                  Vector<std::int32_t> labels, OutVector<double> out, Crew* crew) {
    const auto& use = kernels_of<T>(&table());
    const std::size_t n = rows.shape(0), d = rows.shape(1);
    expect(centers.shape(1) == d && origin.shape(0) == d && out.shape(0) == n,
           "own_distance: shapes do not fit");
    expect_labels(labels, n, centers.shape(0), 0);
    nb::gil_scoped_release release;
    const Executor executor(crew);
    parallel_for(executor, n, rows_per_part(executor, n), 0,
                 [&](std::size_t first, std::size_t last, unsigned char*) {
                     use.own_distance({rows.data() + first * d, last - first, d}, centers.data(),
                                      origin.data(), labels.data() + first, out.data() + first);
                 });
}

// digits (1, 136) += the exact sum of the weighted own distances; false if one is not finite.
template <class T>
bool own_cost(Matrix<T> rows, Matrix<double> centers, Vector<double> origin,
              Vector<std::int32_t> labels, Array<std::int64_t, 2> digits,
              std::optional<Vector<double>> weight, Crew* crew) {
    constexpr std::size_t block = 256;
    const auto& use = kernels_of<T>(&table());
    const std::size_t n = rows.shape(0), d = rows.shape(1);
    expect(centers.shape(1) == d && origin.shape(0) == d && digits.shape(0) == 1 &&
               digits.shape(1) == kExactDigits && (!weight || weight->shape(0) == n),
           "own_cost: shapes do not fit");
    expect_labels(labels, n, centers.shape(0), 0);
    nb::gil_scoped_release release;
    const Executor executor(crew);
    const std::size_t step = rows_per_part(executor, n), parts = (n + step - 1) / step;
    std::vector<std::int64_t> partial(parts * (kExactDigits + 1));
    parallel_for(executor, n, step, 0, [&](std::size_t first, std::size_t last, unsigned char*) {
        std::int64_t* sum = partial.data() + first / step * (kExactDigits + 1);
        for (std::size_t i = first; i < last; i += block) {
            double distance[block];
            const std::size_t m = std::min(block, last - i);
            use.own_distance({rows.data() + i * d, m, d}, centers.data(), origin.data(),
                             labels.data() + i, distance);
            double taint = 0.0;
            for (std::size_t r = 0; r < m; ++r) taint += distance[r] * 0.0;
            if (taint == 0.0)
                table().exact_sum({distance, m, weight ? weight->data() + i : nullptr, nullptr},
                                  sum);
            else
                sum[kExactDigits] = 1;
        }
    });
    bool finite = true;
    for (std::size_t part = 0; part < parts; ++part) {
        const std::int64_t* sum = partial.data() + part * (kExactDigits + 1);
        for (std::size_t e = 0; e < kExactDigits; ++e) digits.data()[e] += sum[e];
        finite = finite && sum[kExactDigits] == 0;
    }
    return finite;
}

template <class T>
void bind_typed(nb::module_& m, const char* book) {
    const auto none = nb::none();
    nb::class_<Packed<Codebook<T>>>(m, book).def(
        "__init__",
        [](Packed<Codebook<T>>* self, Matrix<double> centers, Vector<double> origin,
           std::optional<Vector<std::int32_t>> members, std::optional<Vector<std::int32_t>> sizes,
           const KeptRows* like, Crew* crew) {
            const std::size_t k = centers.shape(0), d = centers.shape(1);
            expect(k > 0 && d > 0 && origin.shape(0) == d,
                   "codebook: centers (k, d) and origin (d) expected");
            Grouping grouping{};
            if (members) grouping = grouping_of(*members, sizes, k);
            expect(!like || sizeof(T) == 4, "codebook: kept rows are for float32 scores");
            expect(!like || like->panels.d() == d,
                   "codebook: kept rows have another number of features");
            Frame frame{};
            if (like) frame = like->panels.frame();
            nb::gil_scoped_release release;
            const KernelTable* use = &table();
            const Executor executor(crew);
            const std::size_t parts =
                std::min(k * d / kSerialCenterValues + 1, 2 * executor.threads());
            auto share = [&](std::size_t count, auto work) {
                parallel_for_evenly(executor, count, parts, work);
            };
            new (self) Packed<Codebook<T>>{
                Codebook<T>(centers.data(), origin.data(), k, d, kernels_of<T>(use).tile_rows,
                            members ? &grouping : nullptr, like ? &frame : nullptr, share),
                use};
        },
        "centers"_a, "origin"_a, "members"_a = none, "sizes"_a = none, "like"_a = none,
        "crew"_a = none);
    m.def("assign", &assign<T, T>, "book"_a, "rows"_a.noconvert(), "labels"_a.noconvert(),
          "sums"_a = none, "times"_a = none, "weight"_a = none, "crew"_a = none, "kept"_a = none,
          "at"_a = 0);
    m.def("keep_rows", &keep_rows<T>, "book"_a, "rows"_a.noconvert(), "crew"_a = none,
          nb::rv_policy::take_ownership);
    m.def("assign_few", &assign_few<T>, "rows"_a.noconvert(), "centers"_a.noconvert(),
          "labels"_a.noconvert());
    m.def("distances", &distances<T>, "rows"_a.noconvert(), "centers"_a.noconvert(),
          "out"_a.noconvert());
    m.def("squares", &squares<T>, "rows"_a.noconvert(), "centers"_a.noconvert(),
          "origin"_a.noconvert(), "out"_a.noconvert(), "crew"_a = none);
    m.def("two_nearest", &two_nearest<T>, "rows"_a.noconvert(), "centers"_a.noconvert(),
          "labels"_a.noconvert(), "first"_a.noconvert(), "second"_a.noconvert(), "crew"_a = none);
    m.def("own_distance", &own_distance<T>, "rows"_a.noconvert(), "centers"_a.noconvert(),
          "origin"_a.noconvert(), "labels"_a.noconvert(), "out"_a.noconvert(), "crew"_a = none);
    m.def("own_cost", &own_cost<T>, "rows"_a.noconvert(), "centers"_a.noconvert(),
          "origin"_a.noconvert(), "labels"_a.noconvert(), "digits"_a.noconvert(), "weight"_a = none,
          "crew"_a = none);
}

}  // namespace

void bind_assignment(nb::module_& m) {
    nb::class_<KeptRows>(m, "KeptRows");
    bind_typed<float>(m, "Codebook32");
    bind_typed<double>(m, "Codebook64");
    const auto none = nb::none();
    m.def("assign", &assign<float, double>, "book"_a, "rows"_a.noconvert(), "labels"_a.noconvert(),
          "sums"_a = none, "times"_a = none, "weight"_a = none, "crew"_a = none, "kept"_a = none,
          "at"_a = 0);
}

}  // namespace partita::binding
