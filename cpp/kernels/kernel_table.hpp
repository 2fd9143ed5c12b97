// The kernels of one instruction set as a table of function pointers. One table is chosen when the
// module is loaded; simd/fill_table.inc fills it. The arguments are documented at the kernels.
#pragma once

#include "views.hpp"

namespace partita {

template <class R, class F>
using Bounded = PrunedCounts(const BookView<float>&, const ExactView&, const Rows<R>&, const F*,
                             const MotionView&, const BoundView&, std::int32_t*, bool,
                             const SumView*, unsigned char*);

// Passes over rows of type T as bytes. Tables may differ in these alone.
template <class T>
struct ByteKernels {
    std::size_t width, tile_rows;  // rows of a panel, centers of a tile
    ByteCodes codes;
    bool fast;
    void (*round_rows)(const ByteRowsView&, const T*, std::size_t, std::size_t, std::size_t, bool,
                       double);
    std::size_t (*assign_scratch)(std::size_t k, std::size_t d);
    ByteCounts (*assign)(const ByteRowsView&, const ByteBookView&, const Rows<T>&,
                         const NarrowRows&, std::size_t, std::size_t, std::size_t, std::int32_t*,
                         const SumView*, unsigned char*);
    void (*turn)(const ByteRowsView&, std::size_t, std::size_t, bool, unsigned char*);
    std::size_t (*bounded_scratch)(std::size_t n, std::size_t k, std::size_t d);
    PrunedCounts (*assign_bounded)(const ByteRowsView&, const ByteBookView&, std::size_t,
                                   const Rows<T>&, const NarrowRows&, const MotionView&,
                                   const BoundView&, std::int32_t*, bool, const SumView*,
                                   unsigned char*);
};

template <class T>
struct Kernels {
    std::size_t tile_rows, panel_width;
    std::size_t (*assign_scratch)(std::size_t d);
    PassCounts (*assign)(const BookView<T>&, const Rows<T>&, const PanelView<T>&, const SumView*,
                         std::int32_t*, unsigned char*);
    // the same with fast scores in float32, for rows of type T
    std::size_t (*assign_single_scratch)(std::size_t d);
    PassCounts (*assign_single)(const BookView<float>&, const Rows<T>&, const PanelView<float>&,
                                const SumView*, std::int32_t*, unsigned char*);
    void (*keep_panels)(const BookView<float>&, const Rows<T>&, float*, float*, unsigned char*);
    void (*keep_in_order)(const BookView<float>&, const Rows<T>&, const std::int32_t*, std::size_t,
                          float*, float*, unsigned char*);
    std::size_t (*panels_scratch)(std::size_t d, std::size_t groups);
    PanelCounts (*assign_panels)(const BookView<float>&, const Rows<T>&, const MarginView&,
                                 const TravelView&, std::size_t, std::size_t, std::int32_t*,
                                 const SumView*, unsigned char*);
    std::size_t (*neighbours_scratch)(std::size_t k, std::size_t d);
    NeighbourCounts (*assign_neighbours)(const BookView<float>&, const Rows<T>&,
                                         const NeighbourView&, std::size_t, std::size_t,
                                         std::int32_t*, const SumView*, unsigned char*);
    std::size_t (*assign_bounded_scratch)(std::size_t n, std::size_t k, std::size_t d);
    Bounded<T, T>* assign_bounded;
    Bounded<T, float>* assign_bounded_by;  // with separate filter rows
    std::size_t (*partial_scratch)(std::size_t d);
    PassCounts (*assign_partial)(const ExactView&, const Rows<T>&, double, const SumView*,
                                 std::int32_t*, unsigned char*);
    std::size_t (*leaves_scratch)(std::size_t k, std::size_t d, std::size_t levels);
    PrunedCounts (*assign_leaves)(const TreeView&, const TreeCenters&, const ExactView&,
                                  const Rows<T>&, std::size_t, std::size_t, std::int32_t*,
                                  const TreeMemory&, const SumView*, unsigned char*);
    std::size_t (*sparse_scratch)(std::size_t d, std::size_t padded);
    PassCounts (*assign_sparse)(const SparseBookView<T>&, const CsrRows<T>&, const SumView*,
                                std::int32_t*, unsigned char*);
    void (*add_rows)(const SumView&, const Rows<T>&, unsigned char*);
    void (*move_rows)(const SumView&, const Rows<T>&, const std::int32_t*, const std::int32_t*,
                      unsigned char*);
    void (*move_sparse)(const SumView&, const CsrRows<T>&, const std::int32_t*,
                        const std::int32_t*);
    bool (*assign_few)(const Rows<T>&, const double*, std::size_t, std::int32_t*);
    void (*distances)(const Rows<T>&, const double*, std::size_t, double*, double*);
    void (*squares)(const Rows<T>&, const double*, const double*, std::size_t, double*, double*);
    void (*two_nearest)(const Rows<T>&, const double*, std::size_t, double*, std::int32_t*, double*,
                        double*);
    void (*own_distance)(const Rows<T>&, const double*, const double*, const std::int32_t*,
                         double*);
    void (*distances_partial)(const Rows<T>&, const double*, std::size_t, double*, double*);
    void (*own_distance_partial)(const Rows<T>&, const double*, const double*, const std::int32_t*,
                                 double*);
    void (*own_distance_sparse)(const CsrRows<T>&, const double*, const double*,
                                const std::int32_t*, double*);
    void (*square_lengths)(const CsrRows<T>&, double, double*);
    void (*seed_distances_sparse)(const CsrRows<T>&, double, const double*, const CsrRows<double>&,
                                  const double*, const double*, double*);
    void (*sketch_rows)(const Rows<T>&, T, const SketchView&);
    std::size_t (*seed_scratch)(std::size_t d, std::size_t count, std::size_t chosen);
    void (*seed_gain)(const Rows<T>&, T, const T*, std::size_t, const double*, const T*,
                      const std::int32_t*, const T*, std::size_t, const SketchView&, std::uint64_t*,
                      double*, unsigned char*);
    void (*seed_choose)(const Rows<T>&, T, const T*, const double*, const std::uint64_t*,
                        std::size_t, std::size_t, T*, std::int32_t*, std::int32_t,
                        const SketchView&, const FloatLeavesView&, double*, unsigned char*);
    void (*fill_leaves)(const Rows<T>&, T, const T*, const T*, const FloatLeavesView&);
    void (*extent)(const Rows<T>&, const double*, T*, T*, T*);
    void (*count_beyond)(const Rows<T>&, const T*, const std::int64_t*, std::int64_t*);
    bool (*are_whole)(const T*, std::size_t);
    void (*gram_move)(const GramMoves<T>&, std::size_t, std::size_t);
    double (*spin)(std::int64_t, T*);
    void (*medoid_two_nearest)(const SwapView<T>&);
    BestSwap (*swap_change)(const SwapView<T>&, const T*, double*);
    double (*swap_apply)(const SwapView<T>&, std::size_t, const T*);
    double (*swap_gain)(const T*, const T*, const double*, std::size_t);
    void (*pair_columns)(const T*, std::size_t, std::size_t, const T*, std::size_t, Metric, T*,
                         std::size_t);
    void (*pair_columns_in_double)(const T*, std::size_t, std::size_t, const double*, std::size_t,
                                   Metric, double*, std::size_t);
    MatrixSummary (*summarise_matrix)(const T*, std::size_t, std::size_t, std::size_t);
    ByteKernels<T> bytes;
};

// Kernels for rows of numbers and categories, by the type of the codes.
template <class Code>
struct MixedKernels {
    std::size_t (*scratch)(std::size_t p, std::size_t k);
    PassCounts (*assign)(const MixedPanels<Code>&, std::size_t, const PrototypeView<Code>&,
                         std::int32_t*, double*, unsigned char*);
    void (*columns)(const MixedPanels<Code>&, std::size_t, const PrototypeView<Code>&, double*,
                    std::size_t, unsigned char*);
    void (*gain)(const MixedPanels<Code>&, std::size_t, const PrototypeView<Code>&, const double*,
                 const double*, double*, unsigned char*);
    void (*lower)(const MixedPanels<Code>&, std::size_t, const PrototypeView<Code>&, double*,
                  const double*, double*, unsigned char*);
    void (*count)(const CodeMoves<Code>&, std::size_t);
};

struct KernelTable {
    const char* name;
    Kernels<float> single;
    Kernels<double> full;
    MixedKernels<std::uint8_t> byte_codes;
    MixedKernels<std::int32_t> word_codes;
    void (*summarise)(const SumView&, double, std::size_t, std::size_t, const double*, double*,
                      double*, double*, double*);
    void (*square_norms)(const double*, std::size_t, std::size_t, double*);
    void (*lower_bounds)(float*, const float*, float, std::size_t);
    std::size_t (*gaps_scratch)(std::size_t d);
    void (*center_gaps)(const BookView<float>&, const float*, std::size_t, std::size_t, float*,
                        std::size_t, unsigned char*);
    void (*exponentials)(double*, std::size_t);
    void (*exponentials_less_one)(double*, std::size_t);
    void (*gower_columns)(const double*, const MixedFeatures&, std::size_t, const double*,
                          std::size_t, double*, std::size_t);
    void (*exact_sum)(const ExactTerms&, std::int64_t*);
    void (*leaf_gains)(const FloatLeavesView&, std::size_t, std::size_t, const FloatCandidates&,
                       std::uint64_t*, double*);
    void (*widen_halves)(const std::uint16_t*, std::size_t, float*);
    PassCounts (*gram_assign)(const double*, std::size_t, std::size_t, std::size_t, std::size_t,
                              std::int32_t*);
    void (*silhouette)(const ClusterView&, Metric, const double*, std::size_t, const std::int32_t*,
                       double*, double*);
    void (*silhouette_strip)(const ClusterView&, Metric, const StripView&, double*, double*,
                             double*, double*);
    std::size_t (*search_scratch)(std::size_t n, std::size_t k, std::size_t d);
    SearchEnd (*local_search)(const SearchView&, bool, std::int32_t, unsigned char*);
    std::size_t (*transport_scratch)(std::size_t k, std::size_t capacity);
    void (*transport_begin)(const TransportView&, unsigned char*);
    std::int64_t (*transport_run)(const TransportView&, std::int64_t, unsigned char*);
    void (*split_points)(const LineView&, const LayerView&, std::size_t, std::size_t, std::size_t);
    void (*split_costs)(const LineView&, const LayerView&, std::size_t, std::size_t);
};

// The kernels for bytes of an instruction set that has products of them.
struct ByteTable {
    const char* name;
    ByteKernels<float> single;
    ByteKernels<double> full;
};

const KernelTable* portable_table();
const KernelTable* avx2_table();  // only where PARTITA_X86 is defined
const KernelTable* avx512_table();
const ByteTable* avx2vnni_bytes();
const ByteTable* avx2evex_bytes();  // those of avx2vnni as AVX-512 encodes them
const ByteTable* avx512vnni_bytes();
const ByteTable* dotprod_bytes();  // only where PARTITA_ARM is defined

}  // namespace partita
