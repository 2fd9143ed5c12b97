// Arguments of the kernels: plain pointers and sizes, owned by the caller.
//
// These structs are the same for every instruction set. They hold no containers, so that a file
// compiled for one instruction set emits no library code that another could link to.
#pragma once

#include <cstddef>
#include <cstdint>

namespace partita {

constexpr double kMaxFastNorm =
    0x1p60;  // D64 decides longer rows; 1 is the size of a typical center

// Centers for D64.
struct ExactView {
    std::size_t k, d;
    const double* centers;  // (k, d) relative to `origin`, times `scale`
    const double* origin;   // (d)
    double scale;           // 1, or a power of two if squares would overflow
};

// Centers packed for the tile kernels, with the bounds of their rounding errors: see codebook.hpp.
// Centers are stored group by group, each group in tiles of its own; place p holds center
// member[p].
template <class T>
struct BookView {
    std::size_t k, d;
    std::size_t depth;  // d + 1 if each center has its own slope, else d
    std::size_t tiles, groups;
    const std::uint32_t* first;  // (tiles + 1)  place of the first center of each tile
    const std::uint32_t* group;  // (groups + 1) first tile of each group
    const std::int32_t* member;  // (k) 0, 1, 2, … without groups
    const T* packed;             // tile after tile: (depth, centers of the tile)
    const T* start;              // (k) score of a point at the pivot, minus `slack`
    const T* slope;              // (k) error of a score per unit of the norm of the point
    const T* slack;              // (k) error of a score that does not depend on the point
    const T* pivot;              // (d) subtracted from scaled rows by the fast kernel
    const double* zero;          // (d) the pivot unscaled
    T fast_scale;                // a power of two
    T drift;                     // ‖origin − pivot‖, scaled: distance between the two frames
    T own_error;                 // error of D64 itself per squared norm of the point
    T norm_up;                   // factor that covers the rounding of a computed norm
    T max_slope, max_slack;      // of all centers
    ExactView exact;
};

// Length of a row of bounds: more than four are padded to a multiple of 8.
constexpr std::size_t bounds_stride(std::size_t groups) {
    return groups <= 4 ? groups : (groups + 7) / 8 * 8;
}

constexpr std::int32_t kUnbounded = 1 << 29;  // an upper bound that no lower bound exceeds

// Bounds of every row, in whole quanta: see bounded_pass.hpp.
struct BoundView {
    std::int32_t* upper;   // (n) distance to the row's own center, from above
    std::uint16_t* other;  // (n) distance to all other centers, from below
    std::uint16_t* lower;  // (n, stride) the same for each group of centers
    std::size_t stride;    // bounds_stride(groups)
};

// What the rounding of D64 takes from a margin, per unit of the lengths in it: see
// panel_margins.hpp.
constexpr double margin_error(std::size_t d) { return 8.1 * static_cast<double>(d + 8) * 0x1p-52; }

// Bounds of margins are sums of travels, lowered by far more than the rounding of their terms.
constexpr float kTravelRounding = 0x1p-20f;
[[gnu::always_inline]] inline float lowered(float bound) {
    return bound - (bound < 0 ? -bound : bound) * kTravelRounding;
}

// Length of a row of margins to groups, in whole vectors of every instruction set.
constexpr std::size_t margin_stride(std::size_t groups) { return (groups + 15) / 16 * 16; }

// Rows packed in an order of their own, with bounds for them and their panels: see panel_pass.hpp.
// Bounds are the travel up to which labels hold, scaled as the rows.
struct MarginView {
    std::size_t panels;
    float* data;                // (panels, d + 1, width) rows packed for tiles
    const float* square;        // (panels, width) ‖y‖²
    const std::int32_t* order;  // (panels, width) index of each row; −1: none
    std::int32_t* own;          // (panels, width) label of each row
    float* until;               // (panels, width) travel of the own label
    float* panel_until;         // (panels) travel of `panel_label`, or of the farthest
    std::int32_t* panel_label;  // (panels) label of all rows of a panel; −1: they differ
    float* group_until;         // (panels, stride) own travel of the label plus that of a group
    const std::int32_t* group;  // (k) of each center
    const std::int32_t* place;  // (k) of each center in the book
    std::size_t last_rows;      // rows of the last panel
};

// Travel of the centers since the rows were packed, scaled, from above: of a label, what its center
// moved plus what the farthest other one did, added over all passes.
struct TravelView {
    const float* of;     // (k)
    float all;           // at least as much as any
    const float* own;    // (k) what the center itself moved
    float own_all;       // at least as much as any
    const float* group;  // (stride) what the farthest of a group moved
    float blur;          // error of D64 in this pass that no margin accounts for
};

// Rows packed in panels of one label each, with bounds for every panel and center, all scaled as the
// rows: see neighbour_pass.hpp. Bounds are the travel up to which labels hold.
struct NeighbourView {
    float* data;                // (panels, d + 1, width) rows packed for tiles
    const float* square;        // (panels, width) ‖y‖²
    const std::int32_t* order;  // (panels, width) index of each row; −1: a copy of another
    const std::int32_t* label;  // (panels) of all rows of a panel; −1: none
    float* away;                // (panels, width) distance to the own center, when last compared
    float* until;               // (panels, stride) own travel of the label plus that of a center
    float* panel_until;         // (panels) travel of the label
    unsigned char* changed;     // (panels) out: what became of the labels, a PanelChange
    const float* centers;       // (k + 1, center_stride) center after center, and one far away
    const float* start;         // (k + 1) of their scores
    std::size_t center_stride;  // whole vectors
    const float* gap;           // (k, stride) distances of centers, from below; null: not known
    std::size_t stride;         // gap_stride(k)
    const float* travel;        // (k) what each center moved plus what the farthest other one did
    const float* own;           // (stride) what each center moved itself
    float blur;                 // error of D64 in this pass that no margin accounts for
};
enum PanelChange : unsigned char { kUnchanged, kMoved, kMovedByD64 };

// Length of a row of distances between centers, in whole panels of every instruction set.
constexpr std::size_t gap_stride(std::size_t k) { return (k + 31) / 32 * 32; }

// Travel of the centers since the bounds were last set, in quanta: see center_motion.hpp.
struct MotionView {
    const std::int32_t *up, *down;               // (k) of each center, rounded up and down
    const std::uint16_t *group_up, *group_down;  // (stride) of the farthest in each group
    std::int32_t all_up, all_down;               // of the farthest of all
    const std::int32_t* place;                   // (k) of each center in the book
    const std::int32_t* group;                   // (k) of each center
    const std::uint16_t* near;  // (k, stride) distance to the nearest other of each group, or null
    const std::int32_t* safe_upper;  // (k) upper bounds up to this prove a label by `near` alone
    double quantum;
    double blur;  // error of a filter row per unit of its length
};

// Rows in the order of a k-d tree: leaves of neighbouring rows, boxes around the leaves, boxes
// around kBoxFan of these boxes, and so on: see kd_tree.hpp.
constexpr std::size_t kBoxFan = 4, kMaxLevels = 14;
constexpr std::size_t kNodeLevel = 2;  // a node is a box of this level
constexpr std::size_t kNodeLeaves = kBoxFan * kBoxFan;

struct BoxView {
    const double *middle, *half;  // (boxes, d)
};
struct TreeView {
    std::size_t n, d, leaves, nodes, levels;
    const std::int32_t* begin;  // (leaves + 1) first row of each leaf
    const std::int32_t* order;  // (n) index of each row in the data
    const float* values;        // (d, n)
    BoxView boxes[kMaxLevels];  // level 0: the leaves
};

// Centers in the frame of the tree.
struct TreeCenters {
    std::size_t k, d, padded;
    const double* values;       // (d + 1, padded) coordinates feature by feature, then ½‖c‖²
    const std::uint8_t* moved;  // (k) 1 if the center moved since the last pass
};

// Candidate centers of a box in the last pass; only their number if there were more than Max.
template <int Max>
struct NearCenters {
    std::int32_t count;
    std::int32_t near[Max];
};
using LeafMemory = NearCenters<7>;
using NodeMemory = NearCenters<63>;
struct TreeMemory {
    LeafMemory* leaves;
    NodeMemory* nodes;
};

// Centers for sparse rows: feature by feature, without pivot and origin.
template <class T>
struct SparseBookView {
    std::size_t k, d;
    std::size_t padded;   // k rounded up to whole vectors
    const T* by_feature;  // (d, padded)
    const T* start;       // (padded) +inf beyond k
    const T* slope;       // (padded)
    const T* slack;       // (padded)
    T fast_scale, own_error, norm_up;
    const double* centers;  // (k, d) times `scale`
    double scale;
    const std::size_t* used_from;  // (k + 1) into `used`
    const std::int32_t* used;      // nonzero features of each center; none listed if there are many
};

// Exact sums of k clusters: columns 0..d−1 hold Σ w·y, column d holds Σ w, column d+1 Σ w·‖y‖²,
// with y = (x − origin)·scale, each as hi + lo / limb in units of 1 / up: see exact_sums.hpp.
struct SumView {
    std::size_t k, d;
    const double* origin;       // (d)
    double scale;               // a power of two
    const double* up;           // (d + 2) powers of two
    double limb;                // a power of two
    std::int64_t* hi;           // inout: (k, d + 2)
    std::int64_t* lo;           // inout: (k, d + 2)
    const std::int64_t* times;  // (n) integer weights, or null
    const double* weight;       // (n) other weights, at most 1, or null
    std::uint8_t* cleared;      // (k) 0: this cluster's hi and lo are not yet zeroed; null: all are
};

// The terms of exact sums of doubles: value, or weight·value, for the sum of its label.
struct ExactTerms {
    const double* value;  // (n)
    std::size_t n;
    const double* weight;       // (n), or null
    const std::int32_t* label;  // (n), or null: all 0
};
constexpr std::size_t kExactDigits = 136;  // 32-bit digits of an exact sum
constexpr int kExactPoint = 2176;          // bits of them after the binary point

template <class T>
struct Rows {  // dense, row after row
    const T* data;
    std::size_t n, d;
};

// The values of rows as bytes or as the bits of halves, whichever is not null: see narrow_rows.hpp.
struct NarrowRows {
    const std::uint8_t* bytes;
    const std::uint16_t* halves;
};

// Packed rows that are kept between passes: see kept_panels.hpp. Null: pack in every pass.
template <class T>
struct PanelView {
    T* data;          // panel after panel: (d + 1, kPanelWidth), the last row for norms
    const T* square;  // (n, padded to a whole panel) ‖y‖² of each row
};

template <class T>
struct CsrRows {
    const std::int64_t* start;  // (n + 1)
    const std::int32_t* column;
    const T* value;
    std::size_t n, d;
};

// What a plain pass did.
struct PassCounts {
    std::int64_t moved;      // rows whose label changed
    std::int64_t rechecked;  // rows decided by D64 because the fast scores were too close
};

// What a pass over panels of rows did.
struct PanelCounts {
    std::int64_t moved, rechecked;  // as in PassCounts
    std::int64_t pairs;             // of rows and centers that were compared
    std::int64_t open_pairs;        // those with rows whose own bound did not hold
};

// What a pass over panels of one label did.
struct NeighbourCounts {
    std::int64_t moved, rechecked;  // as in PassCounts
    std::int64_t pairs;             // of rows and centers that were compared
    std::int64_t rows;              // that were compared with any
};

// What a pruned pass did.
struct PrunedCounts {
    std::int64_t moved;          // rows whose label changed
    std::int64_t measured;       // bounds: rows measured to their own center; leaves: rows visited
    std::int64_t scanned_rows;   // rows compared with other centers
    std::int64_t scanned_pairs;  // pairs of rows and centers compared
    std::int64_t candidates;     // left open by that: pairs with bounds, rows with leaves
};

// Rows as bytes: see sketch.hpp. Null: there is no sketch.
struct SketchView {
    unsigned char* data;   // inout: panels of 16 rows
    const double* middle;  // (d) of the scaled rows
    double step;           // a power of two
};

// Rows in float32 about the first chosen row: see float_leaves.hpp. Null: there are none.
struct FloatLeavesView {
    float* data;    // inout: (leaves, d + 1, 256)
    float* length;  // inout: (leaves) of the longest row, from above
    double fine;    // power of two that values are multiplied by
};

// Candidates of a round, about the same row.
struct FloatCandidates {
    const float* values;   // (count, d)
    const double* length;  // (count) from above
    std::size_t d, count;
    double unit;  // of the type of the rows: 2 to the power of −24 or −53
};

// Codes of centers in bytes, and what is taken off those of rows: see byte_simd.hpp.
struct ByteCodes {
    std::int32_t max_code, max_pair_sum, offset;
};

// Rows rounded to bytes, in panels: see byte_book.hpp.
struct BytePanel {
    double step;   // of the codes
    double error;  // ‖y − step·q‖ of the farthest rounded row, from above
    double reach;  // ‖step·q‖ of the longest, from above; infinite: D64 decides these rows
    std::int32_t pivot;
};
struct ByteRowsView {
    std::size_t n, d, panels, pivots;
    std::uint8_t* codes;        // panel after panel: (quads, width, 4), or row after row
    std::int32_t* order;        // (panels, width) row of each place; −1: none
    std::int32_t* place;        // (n) place of each row
    float* square;              // (panels, width) ‖y / step‖², up to the rounding of its sum
    BytePanel* panel;           // (panels)
    const double* origin;       // (d)
    const double* pivot;        // (pivots, d) relative to the origin
    const float* pivot_single;  // (pivots, d) the same in the coordinates of float rows
    const double* pivot_norm;   // (pivots)
};

// Centers rounded to bytes, with the bounds of their scores; all lengths are scaled. As in BookView,
// centers are stored group by group, and place p holds center member[p].
struct ByteBookView {
    std::size_t k, d;
    std::size_t padded;  // k rounded up to whole vectors
    std::size_t tiles, groups;
    const std::uint32_t* first;      // (tiles + 1) place of the first center of each tile
    const std::uint32_t* group;      // (groups + 1) first tile of each group
    const std::int32_t* member;      // (k) 0, 1, 2, … without groups
    const std::int8_t* codes;        // tile after tile: (quads, centers of the tile, 4)
    const std::int8_t* flat;         // (k, flat_codes(d)) center after center; null without groups
    const std::int32_t* start;       // (padded) what the offset of the codes of rows adds
    const float* step;               // (padded)
    const float* lost;               // (padded) length of what rounding lost
    const float *low, *high;         // (pivots, padded) ½‖c − pivot‖²
    const float* apart;              // (pivots, padded) ‖c − pivot‖
    const double* away;              // (pivots) distance to the middle of the centers
    double scale, drift, d64_error;  // a power of two; ‖origin − that of the rows‖; η·scale²
    ExactView exact;
};

// Length of the codes of a center that are read without those of others: whole vectors, filled up
// with zeros.
constexpr std::size_t flat_codes(std::size_t d) { return (d + 63) / 64 * 64; }

// What a pass over bytes did.
struct ByteCounts {
    std::int64_t moved;       // rows whose label changed
    std::int64_t open;        // rows with more than one candidate
    std::int64_t candidates;  // centers that bytes leave to these rows
};

// Points of k-medoids with their nearest and second nearest medoid.
template <class T>
struct SwapView {
    std::size_t n, k;
    std::int32_t *near, *second;  // (n) places in 0..k−1
    T *closest, *next;            // (n) dissimilarities to these two
    const double* weight;         // (n), or null: all 1
    double* removal;              // (k) increase of the loss if this medoid is removed
    T* columns;                   // (k, n) dissimilarities to every medoid
};

// Lanes of the sums over the points that a candidate attracts; swap_change needs kFewLanes·k
// doubles.
constexpr std::size_t kFewLanes = 4;

// The best medoid to replace by a candidate, and the change of the loss.
struct BestSwap {
    double change;
    std::int32_t place;
};

// Extremes of a matrix of dissimilarities; `taint` is NaN if a value is not finite.
struct MatrixSummary {
    double low, high, taint, diagonal, asymmetry;
};

// Rows in panels of kPanelRows points: (panels, d, kPanelRows), the last panel padded with zeros.
constexpr std::size_t kPanelRows = 64;
enum class Metric { squared, euclidean, manhattan, dot, chi2 };  // the last two: pairs only

// Mixed features of rows: numbers times their weights, then codes that are equal or not, then
// 1 (present) or 0 (absent); NaN is missing: see gower.hpp.
struct MixedFeatures {
    std::size_t numbers, nominal, d;
    const double* weight;  // (d)
};

// The code of a missing category, the largest of its type.
template <class Code>
constexpr Code kMissingCode = static_cast<Code>(sizeof(Code) == 1 ? 255 : 2147483647);

// Rows of numbers and categories in panels of kPanelRows, padded with any values: see
// mixed_costs.hpp.
template <class Code>
struct MixedPanels {
    std::size_t p, q;
    const double* numbers;  // (panels, p, kPanelRows)
    const Code* codes;      // (panels, q, kPanelRows)
};

// Prototypes of clusters: a center relative to the origin, and a mode.
template <class Code>
struct PrototypeView {
    std::size_t k, p, q;
    const double* centers;  // (k, p)
    const double* origin;   // (p)
    const Code* modes;      // (k, q)
    double gamma;           // the cost of a code that is not the mode
};

// Rows that move between clusters, and the counts of the levels of their codes.
template <class Code>
struct CodeMoves {
    std::size_t count, q;
    const Code* codes;           // (panels, q, kPanelRows)
    const std::int64_t* offset;  // (q + 1) first level of each column
    const std::int64_t* rows;    // (count)
    const std::int32_t* before;  // (count) −1: none
    const std::int32_t* after;   // (count)
    const std::int64_t* times;   // (count) how often a row counts, or null: once
    std::int64_t* counts;        // (k, stride)
    std::size_t stride;
};

// Rows sorted by cluster: see silhouette_sums.hpp.
struct ClusterView {
    std::size_t k, d;
    const double* rows;         // (n, d)
    const double* weight;       // (n)
    const std::int64_t* start;  // (k + 1) first row of each cluster
    const double* mass;         // (k) total weight; clusters of weight 0 are skipped
};

// Up to kPanelRows rows of one cluster.
struct StripView {
    std::size_t cluster, first, last;
};

// Rows of a Gram matrix that move between clusters: see gram_sums.hpp.
template <class T>
struct GramMoves {
    const T* rows;  // (…, n)
    std::size_t n, count;
    const std::int64_t* which;   // (count) rows
    const std::int32_t* before;  // (count) clusters; −1: none
    const std::int32_t* after;   // (count)
    const double* row_shift;     // (count) subtracted from each row
    const double* column_shift;  // (n)     subtracted from each column
    double scale, limb;          // of the grid
    const std::int64_t* times;   // (count) integer weights, or null
    const double* weight;        // (count) other weights, or null
    std::int64_t* sums;          // (k, 2, n) high limbs, then low
};

// A local search of K-means from one start: see local_search.hpp.
struct SearchView {
    std::size_t n, k, d;
    const double* rows;    // (n, d)
    const double* weight;  // (n) positive
    double* centers;       // (k, d) the start, then the best centers of the labels
    std::int32_t* label;   // (n)
};

// The cost at the end of a search, and how often all rows were looked at.
struct SearchEnd {
    double cost;
    std::int32_t sweeps;
};

// Sorted points on a line, and a layer of the dynamic programme: see split_layers.hpp.
struct LineView {
    std::size_t stride;    // n + 1
    const double* prefix;  // (6, n + 1) Σ w·y², Σ w·y and Σ w, heads and tails
};

struct LayerView {
    std::size_t layer;     // the number of clusters
    const double* before;  // (2, n + 1) costs of one cluster less
    double* after;         // (2, n + 1)
    std::int32_t* split;   // (n + 1)
};

// Rows and the clusters that they may be assigned to: see transport.hpp.
struct TransportView {
    std::size_t n, k, capacity;      // of the list of a pair of clusters
    const double* cost;              // (n, k)
    const std::int32_t* rank;        // (n) all different
    const std::int64_t *low, *high;  // (k) limits on the number of rows
    std::int32_t* label;             // (n) −1: none yet
    double* price;                   // (k + 1) of a place in each cluster, and of the sink
};

}  // namespace partita
