// Bindings of greedy k-means++.

#include "../plusplus_rounds.hpp"
#include "common.hpp"

namespace partita::binding {

namespace {

// The bytes of a sketch; keeps them alive.
struct Sketch {
    OutVector<std::uint8_t> data;
    Vector<double> middle;
    double step;

    Sketch(OutVector<std::uint8_t> data, Vector<double> middle, double step)
        : data(data), middle(middle), step(step) {
        expect(middle.shape(0) > 0 && middle.shape(0) <= 32768,
               "sketch: 1 to 32768 features expected");
        expect(step > 0, "sketch: step must be positive");
    }
    static SketchView view(const Sketch* self, std::size_t n, std::size_t d) {
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
    const SketchView view = Sketch::view(&sketch, rows.shape(0), rows.shape(1));
    nb::gil_scoped_release release;
    use.sketch_rows(rows_of(rows), static_cast<T>(scale), view);
}

template <class T>
void seed_gain(Matrix<T> rows, double scale, Matrix<T> candidates, Vector<T> closest,
               Vector<std::int32_t> labels, Matrix<T> chosen, Array<std::uint64_t, 3> marks,
               Array<double, 2> gain, const Sketch* sketch, std::optional<Vector<double>> weight) {
    const auto& use = kernels_of<T>(&table());
    const std::size_t n = rows.shape(0), d = rows.shape(1), count = candidates.shape(0);
    const std::size_t leaves = (n + 255) / 256;
    expect(candidates.shape(1) == d && closest.shape(0) == n, "seed_gain: shapes do not fit");
    const std::size_t so_far = chosen.shape(0);
    expect(so_far == 0 || chosen.shape(1) == d, "chosen: (chosen, d) expected");
    if (so_far) expect_labels(labels, n, so_far, 0);
    expect(gain.shape(0) == leaves && gain.shape(1) == count,
           "gain: (leaves, candidates) expected");
    expect(marks.shape(0) == leaves && marks.shape(1) == count && marks.shape(2) == 4,
           "marks: (leaves, candidates, 4) expected");
    expect(!weight || weight->shape(0) == n, "weight: one per row expected");
    const SketchView view = Sketch::view(sketch, n, d);
    Memory memory = make_aligned<unsigned char>(use.seed_scratch(d, count, so_far));
    nb::gil_scoped_release release;
    use.seed_gain(rows_of(rows), static_cast<T>(scale), candidates.data(), count,
                  weight ? weight->data() : nullptr, closest.data(), labels.data(), chosen.data(),
                  so_far, view, marks.data(), gain.data(), memory.get());
}

template <class T>
void seed_choose(Matrix<T> rows, double scale, Matrix<T> candidates, std::size_t which,
                 OutVector<T> closest, OutVector<std::int32_t> labels, std::int32_t number,
                 Array<const std::uint64_t, 3> marks, OutVector<double> potential,
                 const Sketch* sketch, std::optional<Vector<double>> weight) {
    const auto& use = kernels_of<T>(&table());
    const std::size_t n = rows.shape(0), d = rows.shape(1), count = candidates.shape(0);
    const std::size_t leaves = (n + 255) / 256;
    expect(candidates.shape(1) == d && closest.shape(0) == n && labels.shape(0) == n &&
               potential.shape(0) == leaves,
           "seed_choose: shapes do not fit");
    expect(
        which < count && marks.shape(0) == leaves && marks.shape(1) == count && marks.shape(2) == 4,
        "marks: (leaves, candidates, 4) expected");
    expect(!weight || weight->shape(0) == n, "weight: one per row expected");
    const SketchView view = Sketch::view(sketch, n, d);
    Memory memory = make_aligned<unsigned char>(use.seed_scratch(d, 1, 0));
    nb::gil_scoped_release release;
    use.seed_choose(rows_of(rows), static_cast<T>(scale), candidates.data() + which * d,
                    weight ? weight->data() : nullptr, marks.data(), count, which, closest.data(),
                    labels.data(), number, view, {}, potential.data(), memory.get());
}

template <class T>
void plusplus(Matrix<T> rows, double scale, Vector<double> uniform, std::size_t trials,
              std::pair<std::size_t, std::size_t> rounds, OutVector<std::int64_t> chosen,
              Array<T, 2> centers, OutVector<T> closest, OutVector<std::int32_t> labels,
              OutVector<double> potential, const Sketch* sketch,
              std::optional<Vector<double>> weight, Crew* crew, FloatLeaves* copy) {
    const auto& use = kernels_of<T>(&table());
    const std::size_t n = rows.shape(0), d = rows.shape(1), k = chosen.shape(0);
    expect(centers.shape(0) == k && centers.shape(1) == d, "centers: (k, d) expected");
    expect(labels.shape(0) == n, "labels: one per row expected");
    if (rounds.first) expect_labels(labels, n, rounds.first, 0);
    expect(n > 0 && k > 0 && trials > 0 && uniform.shape(0) == 1 + (k - 1) * trials,
           "plusplus: 1 + (k - 1)·trials numbers expected");
    expect(rounds.first <= rounds.second && rounds.second <= k, "plusplus: rounds beyond k");
    for (std::size_t i = 0; i < uniform.shape(0); ++i)
        expect(uniform.data()[i] >= 0 && uniform.data()[i] < 1,
               "plusplus: uniform is not in [0, 1)");
    expect(closest.shape(0) == n && potential.shape(0) == (n + 255) / 256,
           "plusplus: shapes do not fit");
    expect(!weight || weight->shape(0) == n, "weight: one per row expected");
    expect(!copy || (copy->n == n && copy->d == d && !weight && scale == 1.0),
           "copy: of these rows, without weights and scale, expected");
    const SeedingState<T> state{
        rows_of(rows), static_cast<T>(scale), weight ? weight->data() : nullptr,
        chosen.data(), centers.data(),        closest.data(),
        labels.data(), potential.data(),      Sketch::view(sketch, n, d),
        copy};
    nb::gil_scoped_release release;
    const Executor executor(crew);
    PlusPlusRounds<T> seeding(table(), use, executor, state, trials);
    for (std::size_t j = rounds.first; j < rounds.second; ++j)
        seeding.run(j, uniform.data() + (j ? 1 + (j - 1) * trials : 0));
}

template <class T>
void bind_typed(nb::module_& m) {
    const auto none = nb::none();
    m.def("sketch_rows", &sketch_rows<T>, "rows"_a.noconvert(), "scale"_a, "sketch"_a);
    m.def("seed_gain", &seed_gain<T>, "rows"_a.noconvert(), "scale"_a, "candidates"_a.noconvert(),
          "closest"_a.noconvert(), "labels"_a.noconvert(), "chosen"_a.noconvert(),
          "marks"_a.noconvert(), "gain"_a.noconvert(), "sketch"_a = none, "weight"_a = none);
    m.def("seed_choose", &seed_choose<T>, "rows"_a.noconvert(), "scale"_a,
          "candidates"_a.noconvert(), "which"_a, "closest"_a.noconvert(), "labels"_a.noconvert(),
          "number"_a, "marks"_a.noconvert(), "potential"_a.noconvert(), "sketch"_a = none,
          "weight"_a = none);
    m.def("plusplus", &plusplus<T>, "rows"_a.noconvert(), "scale"_a, "uniform"_a.noconvert(),
          "trials"_a, "rounds"_a, "chosen"_a.noconvert(), "centers"_a.noconvert(),
          "closest"_a.noconvert(), "labels"_a.noconvert(), "potential"_a.noconvert(),
          "sketch"_a = none, "weight"_a = none, "crew"_a = none, "copy"_a = none);
}

}  // namespace

void bind_seeding(nb::module_& m) {
    nb::class_<Sketch>(m, "Sketch")
        .def(nb::init<OutVector<std::uint8_t>, Vector<double>, double>(), "data"_a.noconvert(),
             "middle"_a.noconvert(), "step"_a);
    nb::class_<FloatLeaves>(m, "FloatLeaves")
        .def(
            "__init__",
            [](FloatLeaves* self, std::size_t n, std::size_t d, double fine) {
                expect(n > 0 && d > 0 && d <= 128 && fine > 0x1p-100 && fine < 0x1p100,
                       "FloatLeaves: 1 to 128 features and a moderate scale expected");
                new (self) FloatLeaves(n, d, fine);
            },
            "n"_a, "d"_a, "fine"_a);
    bind_typed<float>(m);
    bind_typed<double>(m);
}

}  // namespace partita::binding
