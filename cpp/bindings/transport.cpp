// Bindings of the assignment of rows to clusters with limits on their sizes.

#include "common.hpp"

namespace partita::binding {

namespace {

// The arrays of one problem, and its memory.
struct Transport {
    Matrix<double> costs;
    Vector<std::int32_t> rank;
    Vector<std::int64_t> low, high;
    OutVector<std::int32_t> labels;
    OutVector<double> prices;
    std::size_t capacity;
    const KernelTable* use = &table();
    Memory memory;

    Transport(Matrix<double> costs, Vector<std::int32_t> rank, Vector<std::int64_t> low,
              Vector<std::int64_t> high, OutVector<std::int32_t> labels, OutVector<double> prices,
              std::int64_t capacity)
        : costs(costs), rank(rank), low(low), high(high), labels(labels), prices(prices),
          capacity(static_cast<std::size_t>(capacity)) {
        const std::size_t n = costs.shape(0), k = costs.shape(1);
        expect(k > 0 && n <= 0x7fffffff && capacity > 0, "transport: costs (n, k) expected");
        expect(rank.shape(0) == n && low.shape(0) == k && high.shape(0) == k &&
                   prices.shape(0) == k + 1,
               "transport: rank (n), limits (k) and prices (k + 1) expected");
        expect_labels(labels, n, k, -1);
        std::int64_t least = 0, most = 0;
        for (std::size_t j = 0; j < k; ++j) {
            const auto rows = static_cast<std::int64_t>(n);
            expect(low.data()[j] >= 0 && low.data()[j] <= high.data()[j] && high.data()[j] <= rows,
                   "transport: limits must be from 0 to n, the lower first");
            least += low.data()[j], most += high.data()[j];
        }
        expect(least <= static_cast<std::int64_t>(n) && static_cast<std::int64_t>(n) <= most,
               "transport: no sizes within these limits add up to n");
        memory = make_aligned<unsigned char>(use->transport_scratch(k, this->capacity));
        nb::gil_scoped_release release;
        use->transport_begin(view(), memory.get());
    }
    TransportView view() const {
        return {costs.shape(0), costs.shape(1), capacity,      costs.data(), rank.data(),
                low.data(),     high.data(),    labels.data(), prices.data()};
    }
};

std::int64_t transport_paths(Transport& problem, std::int64_t most) {
    expect_labels(problem.labels, problem.costs.shape(0), problem.costs.shape(1), 0);
    nb::gil_scoped_release release;
    return problem.use->transport_run(problem.view(), most, problem.memory.get());
}

}  // namespace

void bind_transport(nb::module_& m) {
    nb::class_<Transport>(m, "Transport")
        .def(nb::init<Matrix<double>, Vector<std::int32_t>, Vector<std::int64_t>,
                      Vector<std::int64_t>, OutVector<std::int32_t>, OutVector<double>,
                      std::int64_t>(),
             "costs"_a.noconvert(), "rank"_a.noconvert(), "low"_a.noconvert(), "high"_a.noconvert(),
             "labels"_a.noconvert(), "prices"_a.noconvert(), "capacity"_a);
    m.def("transport_paths", &transport_paths, "problem"_a, "most"_a);
}

}  // namespace partita::binding
