// Bindings of the search for equal rows, and of counting rows that stand for several.

#include "../kernels/equal_rows.hpp"

#include <limits>

#include "common.hpp"

namespace partita::binding {

namespace {

// Numbers the different rows; returns how many there are, or -1.
std::int64_t distinct_rows(Matrix<std::uint8_t> rows, OutVector<std::int32_t> inverse,
                           OutVector<std::int32_t> first, OutVector<std::int64_t> counts,
                           Crew* crew) {
    const std::size_t n = rows.shape(0), most = first.shape(0);
    expect(n <= std::numeric_limits<std::int32_t>::max(), "distinct_rows: too many rows");
    expect(inverse.shape(0) == n && counts.shape(0) == most && most <= n,
           "distinct_rows: shapes do not fit");
    nb::gil_scoped_release release;
    const Executor executor(crew);
    const ByteMatrix matrix{rows.data(), n, rows.shape(1)};
    const auto hash = make_aligned<std::uint32_t>(n);
    parallel_for(executor, n, rows_per_part(executor, n), 0,
                 [&](std::size_t from, std::size_t to, unsigned char*) {
                     hash_rows(matrix, from, to, hash.get());
                 });
    RowTable matches(matrix, hash.get(), most);
    std::atomic<bool> matched{true};
    parallel_for_evenly(executor, RowTable::kRegions, RowTable::kRegions,
                        [&](std::size_t region, std::size_t) {
                            if (!matches.match(region, inverse.data())) matched.store(false);
                        });
    if (!matched.load()) return -1;
    return static_cast<std::int64_t>(number_rows(inverse.data(), n, first.data(), counts.data()));
}

// Σ times of the labels that differ from those before, which become the present ones.
std::int64_t count_changes(Vector<std::int32_t> labels, OutVector<std::int32_t> before,
                           Vector<std::int64_t> times, Crew* crew) {
    constexpr std::size_t kRowsPerPart = 1 << 15;
    const std::size_t n = labels.shape(0);
    expect(before.shape(0) == n && times.shape(0) == n, "count_changes: shapes do not fit");
    nb::gil_scoped_release release;
    const Executor executor(crew);
    std::atomic<std::int64_t> total{0};
    const std::int32_t* now = labels.data();
    std::int32_t* old = before.data();
    parallel_for(executor, n, kRowsPerPart, 0,
                 [&](std::size_t from, std::size_t to, unsigned char*) {
                     std::int64_t changed = 0;
                     for (std::size_t i = from; i < to; ++i) {
                         changed += now[i] != old[i] ? times.data()[i] : 0;
                         old[i] = now[i];
                     }
                     total.fetch_add(changed, std::memory_order_relaxed);
                 });
    return total.load();
}

}  // namespace

void bind_equal_rows(nb::module_& m) {
    m.def("distinct_rows", &distinct_rows, "rows"_a.noconvert(), "inverse"_a.noconvert(),
          "first"_a.noconvert(), "counts"_a.noconvert(), "crew"_a = nb::none());
    m.def("count_changes", &count_changes, "labels"_a.noconvert(), "before"_a.noconvert(),
          "times"_a.noconvert(), "crew"_a = nb::none());
}

}  // namespace partita::binding
