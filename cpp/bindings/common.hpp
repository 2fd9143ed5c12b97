// Shared by the bindings: array types, checks, and the executor.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <optional>
#include <stdexcept>
#include <string>
#include <type_traits>

#include "../kernels/byte_book.hpp"
#include "../kernels/row_margins.hpp"
#include "../parallel.hpp"
#include "../simd/dispatch.hpp"

namespace partita::binding {

namespace nb = nanobind;
using namespace nb::literals;

using Memory = Aligned<unsigned char>;

template <class T, std::size_t N>
using Array = nb::ndarray<T, nb::ndim<N>, nb::c_contig, nb::device::cpu>;
template <class T>
using Matrix = Array<const T, 2>;
template <class T>
using Vector = Array<const T, 1>;
template <class T>
using OutVector = Array<T, 1>;

constexpr std::size_t kSerialCenterValues = 1024;  // so few values of centers are faster serially

inline const KernelTable& table() { return *active_table().load(); }

inline void expect(bool held, const char* what) {
    if (!held) throw std::invalid_argument(what);
}

// Labels index the sums and the centers: a label out of range must raise, not write out of bounds.
inline void expect_within(const std::int32_t* label, std::size_t n, std::size_t k,
                          std::int32_t lowest) {
    const std::uint32_t most = static_cast<std::uint32_t>(k) - static_cast<std::uint32_t>(lowest);
    std::uint32_t wrong = 0;  // no branch, for vectorisation
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
Rows<T> rows_of(const Matrix<T>& rows) {
    return {rows.data(), rows.shape(0), rows.shape(1)};
}

// The given crew, or the calling thread only.
class Executor {
public:
    explicit Executor(Crew* crew) : crew_(crew ? crew : &alone_.emplace(1)) {}
    operator Crew&() const { return *crew_; }
    std::size_t threads() const { return crew_->threads(); }

private:
    std::optional<Crew> alone_;
    Crew* crew_;
};

// Centers packed for one kernel table. Only kernels of this table may read them.
template <class Book>
struct Packed {
    Book book;
    const KernelTable* use;
};

template <class T>
const Kernels<T>& kernels_of(const KernelTable* use) {
    if constexpr (std::is_same_v<T, float>)
        return use->single;
    else
        return use->full;
}

// The arrays of exact sums; keeps them alive.
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
    SumView view(const std::optional<Vector<std::int64_t>>& times,
                 const std::optional<Vector<double>>& weight, std::size_t n, std::size_t d) const {
        expect(origin.shape(0) == d, "sums: the rows have another number of features");
        expect(!times || times->shape(0) == n, "times: one per row expected");
        expect(!weight || weight->shape(0) == n, "weight: one per row expected");
        return {hi.shape(0),
                d,
                origin.data(),
                scale,
                up.data(),
                limb,
                hi.data(),
                lo.data(),
                times ? times->data() : nullptr,
                weight ? weight->data() : nullptr,
                nullptr};
    }
};

template <class T>
struct Csr {
    Vector<std::int64_t> start;
    Vector<std::int32_t> column;
    Vector<T> value;
    std::size_t d;

    CsrRows<T> view() const {
        return {start.data(), column.data(), value.data(), start.shape(0) - 1, d};
    }
};

// Rows packed by the kernels of one table, for this table only.
struct KeptRows {
    KeptPanels panels;
    const KernelTable* use;
};

// The same in the order of their margins.
struct SortedRows : KeptRows {
    RowMargins margins;
};

// Values as kernels read them: in place, or row by row if they are narrow (from row `first` on).
template <class Value>
struct Reading {
    using Type = Value;
    static Rows<Value> rows(const Matrix<Value>& rows) { return rows_of(rows); }
    static NarrowRows narrow(const Matrix<Value>&, std::size_t) { return {}; }
};
template <>
struct Reading<std::uint8_t> {
    using Type = float;
    static Rows<float> rows(const Matrix<std::uint8_t>& rows) {
        return {nullptr, rows.shape(0), rows.shape(1)};
    }
    static NarrowRows narrow(const Matrix<std::uint8_t>& rows, std::size_t first) {
        return {rows.data() + first * rows.shape(1), nullptr};
    }
};
template <>
struct Reading<std::uint16_t> {  // the bits of halves
    using Type = float;
    static Rows<float> rows(const Matrix<std::uint16_t>& rows) {
        return {nullptr, rows.shape(0), rows.shape(1)};
    }
    static NarrowRows narrow(const Matrix<std::uint16_t>& rows, std::size_t first) {
        return {nullptr, rows.data() + first * rows.shape(1)};
    }
};

// Rows rounded to bytes by the kernels of one table, for this table only.
struct ByteCopy {
    ByteRows rows;
    const KernelTable* use;
};

// Checks that every center is listed once and no group is empty.
inline Grouping grouping_of(const Vector<std::int32_t>& members,
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

// The metric with this name.
inline Metric metric_named(const std::string& name) {
    if (name == "sqeuclidean") return Metric::squared;
    if (name == "euclidean") return Metric::euclidean;
    expect(name == "manhattan", "metric: sqeuclidean, euclidean or manhattan expected");
    return Metric::manhattan;
}

// One function per file of bindings.
void bind_assignment(nb::module_& m);
void bind_byte_tiles(nb::module_& m);
void bind_sparse_rows(nb::module_& m);
void bind_data_survey(nb::module_& m);
void bind_equal_rows(nb::module_& m);
void bind_exact_sums(nb::module_& m);
void bind_neighbour_passes(nb::module_& m);
void bind_panel_passes(nb::module_& m);
void bind_partial_pass(nb::module_& m);
void bind_pruned_passes(nb::module_& m);
void bind_seeding(nb::module_& m);
void bind_medoid_swaps(nb::module_& m);
void bind_split_layers(nb::module_& m);
void bind_pairwise(nb::module_& m);
void bind_gower(nb::module_& m);
void bind_mixed_costs(nb::module_& m);
void bind_gram_sums(nb::module_& m);
void bind_silhouette_sums(nb::module_& m);
void bind_local_search(nb::module_& m);
void bind_transport(nb::module_& m);

}  // namespace partita::binding
