// Bindings of the costs of rows of numbers and categories.

#include "common.hpp"

namespace partita::binding {

namespace {

constexpr std::size_t kLeafRows = 256;  // rows whose gain is summed together

template <class Code>
const MixedKernels<Code>& mixed_table() {
    if constexpr (sizeof(Code) == 1)
        return table().byte_codes;
    else
        return table().word_codes;
}

// Checked arguments that all kernels here share.
template <class Code>
struct Mixed {
    MixedPanels<Code> rows;
    PrototypeView<Code> to;
    std::size_t n;

    Mixed(const Array<const double, 3>& numbers, const Array<const Code, 3>& codes,
          const Matrix<double>& centers, const Vector<double>& origin, const Matrix<Code>& modes,
          double gamma, std::size_t n)
        : n(n) {
        const std::size_t panels = (n + kPanelRows - 1) / kPanelRows, k = centers.shape(0);
        const std::size_t p = numbers.shape(1), q = codes.shape(1);
        expect(numbers.shape(2) == kPanelRows && codes.shape(2) == kPanelRows &&
                   numbers.shape(0) == panels && codes.shape(0) == panels,
               "mixed: numbers and codes must be (n / 64, features, 64), rounded up");
        expect(centers.shape(1) == p && origin.shape(0) == p && modes.shape(0) == k &&
                   modes.shape(1) == q,
               "mixed: centers (k, p), origin (p), modes (k, q) expected");
        rows = {p, q, numbers.data(), codes.data()};
        to = {k, p, q, centers.data(), origin.data(), modes.data(), gamma};
    }
    // The panels from a row on, which is the first of one.
    MixedPanels<Code> from(std::size_t row) const {
        return {rows.p, rows.q, rows.numbers + row * rows.p, rows.codes + row * rows.q};
    }
    std::size_t scratch() const { return mixed_table<Code>().scratch(rows.p, to.k); }
};

const double* from_row_of(const std::optional<Vector<double>>& weight, std::size_t first) {
    return weight ? weight->data() + first : nullptr;
}

template <class Code>
std::int64_t mixed_assign(Array<const double, 3> numbers, Array<const Code, 3> codes,
                          Matrix<double> centers, Vector<double> origin, Matrix<Code> modes,
                          double gamma, OutVector<std::int32_t> labels, OutVector<double> costs,
                          Crew* crew) {
    const std::size_t n = labels.shape(0);
    const Mixed<Code> mixed(numbers, codes, centers, origin, modes, gamma, n);
    expect(costs.shape(0) == n && mixed.to.k > 0, "mixed: one cost per row, and k > 0 expected");
    nb::gil_scoped_release release;
    const Executor executor(crew);
    const PassCounts counts = parallel_reduce<PassCounts>(
        executor, n, rows_per_part(executor, n), nullptr, mixed.scratch(),
        [&](std::size_t first, std::size_t last, const SumView*, unsigned char* scratch) {
            return mixed_table<Code>().assign(mixed.from(first), last - first, mixed.to,
                                              labels.data() + first, costs.data() + first, scratch);
        });
    return counts.moved;
}

template <class Code>
void mixed_columns(Array<const double, 3> numbers, Array<const Code, 3> codes,
                   Matrix<double> centers, Vector<double> origin, Matrix<Code> modes, double gamma,
                   Array<double, 2> out, Crew* crew) {
    const std::size_t n = out.shape(1);
    const Mixed<Code> mixed(numbers, codes, centers, origin, modes, gamma, n);
    expect(out.shape(0) == mixed.to.k, "mixed: out must be (k, n)");
    nb::gil_scoped_release release;
    const Executor executor(crew);
    parallel_for(executor, n, rows_per_part(executor, n), mixed.scratch(),
                 [&](std::size_t first, std::size_t last, unsigned char* scratch) {
                     mixed_table<Code>().columns(mixed.from(first), last - first, mixed.to,
                                                 out.data() + first, n, scratch);
                 });
}

template <class Code>
void mixed_gain(Array<const double, 3> numbers, Array<const Code, 3> codes, Matrix<double> centers,
                Vector<double> origin, Matrix<Code> modes, double gamma, Vector<double> closest,
                Array<double, 2> gain, std::optional<Vector<double>> weight, Crew* crew) {
    const std::size_t n = closest.shape(0);
    const Mixed<Code> mixed(numbers, codes, centers, origin, modes, gamma, n);
    expect(gain.shape(0) == (n + kLeafRows - 1) / kLeafRows && gain.shape(1) == mixed.to.k &&
               (!weight || weight->shape(0) == n),
           "mixed: gain (n / 256, k), rounded up, and weight (n) expected");
    nb::gil_scoped_release release;
    const Executor executor(crew);
    parallel_for(executor, gain.shape(0),
                 items_per_part(gain.shape(0), kPartsPerThread * executor.threads()),
                 mixed.scratch(), [&](std::size_t begin, std::size_t end, unsigned char* scratch) {
                     const std::size_t first = begin * kLeafRows;
                     mixed_table<Code>().gain(mixed.from(first),
                                              std::min(n, end * kLeafRows) - first, mixed.to,
                                              closest.data() + first, from_row_of(weight, first),
                                              gain.data() + begin * mixed.to.k, scratch);
                 });
}

template <class Code>
void mixed_lower(Array<const double, 3> numbers, Array<const Code, 3> codes, Matrix<double> centers,
                 Vector<double> origin, Matrix<Code> modes, double gamma, OutVector<double> closest,
                 OutVector<double> potential, std::optional<Vector<double>> weight, Crew* crew) {
    const std::size_t n = closest.shape(0);
    const Mixed<Code> mixed(numbers, codes, centers, origin, modes, gamma, n);
    expect(
        potential.shape(0) == (n + kLeafRows - 1) / kLeafRows && (!weight || weight->shape(0) == n),
        "mixed: potential (n / 256), rounded up, and weight (n) expected");
    nb::gil_scoped_release release;
    const Executor executor(crew);
    parallel_for(executor, potential.shape(0),
                 items_per_part(potential.shape(0), kPartsPerThread * executor.threads()),
                 mixed.scratch(), [&](std::size_t begin, std::size_t end, unsigned char* scratch) {
                     const std::size_t first = begin * kLeafRows;
                     mixed_table<Code>().lower(mixed.from(first),
                                               std::min(n, end * kLeafRows) - first, mixed.to,
                                               closest.data() + first, from_row_of(weight, first),
                                               potential.data() + begin, scratch);
                 });
}

template <class Code>
void count_codes(Array<const Code, 3> codes, Vector<std::int64_t> offsets,
                 Vector<std::int64_t> rows, Vector<std::int32_t> before, Vector<std::int32_t> after,
                 Array<std::int64_t, 2> counts, std::optional<Vector<std::int64_t>> times,
                 Crew* crew) {
    const std::size_t m = rows.shape(0), q = codes.shape(1), k = counts.shape(0);
    expect(codes.shape(2) == kPanelRows && offsets.shape(0) == q + 1,
           "codes: panels (n / 64, q, 64) and offsets (q + 1) expected");
    expect(before.shape(0) == m && after.shape(0) == m && (!times || times->shape(0) == m),
           "codes: one cluster before and after, and one count, for each row expected");
    const std::int64_t points = static_cast<std::int64_t>(codes.shape(0) * kPanelRows);
    bool fits =
        offsets.data()[0] >= 0 && offsets.data()[q] <= static_cast<std::int64_t>(counts.shape(1));
    for (std::size_t t = 0; t < q; ++t) fits &= offsets.data()[t] <= offsets.data()[t + 1];
    for (std::size_t r = 0; r < m; ++r) fits &= rows.data()[r] >= 0 && rows.data()[r] < points;
    expect(fits, "codes: a row or an offset is out of range");
    expect_within(before.data(), m, k, -1);
    expect_within(after.data(), m, k, 0);
    const CodeMoves<Code> moves{m,
                                q,
                                codes.data(),
                                offsets.data(),
                                rows.data(),
                                before.data(),
                                after.data(),
                                times ? times->data() : nullptr,
                                counts.data(),
                                counts.shape(1)};
    nb::gil_scoped_release release;
    const Executor executor(crew);
    parallel_for_evenly(executor, q, q, [&](std::size_t first, std::size_t last) {
        for (std::size_t t = first; t < last; ++t) mixed_table<Code>().count(moves, t);
    });
}

template <class Code>
void bind_codes(nb::module_& m) {
    m.def("mixed_assign", &mixed_assign<Code>, "numbers"_a.noconvert(), "codes"_a.noconvert(),
          "centers"_a.noconvert(), "origin"_a.noconvert(), "modes"_a.noconvert(), "gamma"_a,
          "labels"_a.noconvert(), "costs"_a.noconvert(), "crew"_a = nb::none());
    m.def("mixed_columns", &mixed_columns<Code>, "numbers"_a.noconvert(), "codes"_a.noconvert(),
          "centers"_a.noconvert(), "origin"_a.noconvert(), "modes"_a.noconvert(), "gamma"_a,
          "out"_a.noconvert(), "crew"_a = nb::none());
    m.def("mixed_gain", &mixed_gain<Code>, "numbers"_a.noconvert(), "codes"_a.noconvert(),
          "centers"_a.noconvert(), "origin"_a.noconvert(), "modes"_a.noconvert(), "gamma"_a,
          "closest"_a.noconvert(), "gain"_a.noconvert(), "weight"_a.noconvert() = nb::none(),
          "crew"_a = nb::none());
    m.def("mixed_lower", &mixed_lower<Code>, "numbers"_a.noconvert(), "codes"_a.noconvert(),
          "centers"_a.noconvert(), "origin"_a.noconvert(), "modes"_a.noconvert(), "gamma"_a,
          "closest"_a.noconvert(), "potential"_a.noconvert(), "weight"_a.noconvert() = nb::none(),
          "crew"_a = nb::none());
    m.def("count_codes", &count_codes<Code>, "codes"_a.noconvert(), "offsets"_a.noconvert(),
          "rows"_a.noconvert(), "before"_a.noconvert(), "after"_a.noconvert(),
          "counts"_a.noconvert(), "times"_a.noconvert() = nb::none(), "crew"_a = nb::none());
}

}  // namespace

void bind_mixed_costs(nb::module_& m) {
    bind_codes<std::uint8_t>(m);
    bind_codes<std::int32_t>(m);
}

}  // namespace partita::binding
