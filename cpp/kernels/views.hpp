// What the kernels are given: plain pointers and sizes, owned by whoever calls.
//
// These structs are the same for every instruction set. They hold no containers, so that the
// files compiled for one instruction set emit no library code that another could pick up.
#pragma once

#include <cstddef>
#include <cstdint>

namespace partita {

constexpr double kFarRow = 0x1p60;  // rows beyond it, in units of a typical center, are left to D64

// Centers as D64 takes them.
struct ExactView {
    std::size_t k, d;
    const double* centers;  // (k, d) relative to `origin`, times `scale`
    const double* origin;   // (d)
    double scale;           // 1, or a power of two where squares would overflow
};

// Centers ready for the tile kernels, with what their rounding may cost. See codebook.hpp.
// Centers lie group by group, each group in tiles of its own; place p holds center member[p].
template <class T>
struct BookView {
    std::size_t k, d;
    std::size_t depth;  // d + 1 if each center has a slope of its own, else d
    std::size_t tiles, groups;
    const std::uint32_t* first;  // (tiles + 1)  place of each tile's first center
    const std::uint32_t* group;  // (groups + 1) first tile of each group
    const std::int32_t* member;  // (k) without groups it is 0, 1, 2, …
    const T* packed;             // tile after tile: (depth, rows of the tile)
    const T* start;              // (k)    score of a point at the pivot, lowered by `slack`
    const T* slope;              // (k)    error of a score per unit of the point's norm
    const T* slack;              // (k)    error of a score that does not depend on the point
    const T* pivot;              // (d)    what the fast kernel subtracts, times `fast_scale`
    const double* zero;          // (d)    the same unscaled
    T fast_scale;                // a power of two
    T drift;                     // ‖origin − pivot‖, scaled: how far the two frames are apart
    T own_error;                 // error of D64 itself per squared norm of the point
    T norm_up;                   // what covers the rounding of a computed norm
    ExactView exact;
};

// Rows of more than four bounds are padded to a multiple of 8.
constexpr std::size_t bounds_stride(std::size_t groups) {
    return groups <= 4 ? groups : (groups + 7) / 8 * 8;
}

constexpr std::int32_t kUnbounded = 1 << 29;  // an upper bound that no lower bound exceeds

// What the pruned pass remembers of every row, in whole quanta. See bounds.hpp.
struct BoundView {
    std::int32_t* upper;   // (n) distance to the own center, from above
    std::uint16_t* other;  // (n) distance to all others, from below
    std::uint16_t* lower;  // (n, stride) the same for each group of centers
    std::size_t stride;    // bounds_stride(groups)
};

// How far centers have come since bounds were last brought to zero, in quanta.
struct MotionView {
    const std::int32_t *up, *down;               // (k) rounded up, and down
    const std::uint16_t *group_up, *group_down;  // (stride) the farthest of each group
    std::int32_t all_up, all_down;               // the farthest of all
    const std::int32_t* place;                   // (k) of each center in the book
    const std::int32_t* group;                   // (k) of each center
    const std::uint16_t* near;  // (k, stride) from each center to the nearest other of each group
    const std::int32_t* alone;  // (k) an upper bound up to here proves a label by `near` alone
    double quantum;
    double blur;  // error of a filter row, per unit of its length
};

// Rows in the order of a k-d tree: leaves of near neighbours, and boxes around them, around kFan of
// these boxes, and so on. See tree.hpp.
constexpr std::size_t kFan = 4, kMostLevels = 14;
constexpr std::size_t kNodeLevel = 2, kNodeLeaves = kFan * kFan;  // a node is a box of this level

struct BoxView {
    const double *middle, *half;  // (boxes, d)
};
struct TreeView {
    std::size_t n, d, leaves, nodes, levels;
    const std::int32_t* begin;   // (leaves + 1) first row of each leaf
    const std::int32_t* order;   // (n) which row of the data each one is
    const float* values;         // (d, n)
    BoxView boxes[kMostLevels];  // of each level, the leaves' first
};

// Centers as the leaves meet them, in the frame of the tree.
struct TreeCenters {
    std::size_t k, d, padded;
    const double* values;       // (d + 1, padded) coordinates, feature by feature, then ½‖c‖²
    const std::uint8_t* moved;  // (k) since the pass before
};

// The centers that were near in the pass before; if there were more, only how many.
template <int Most>
struct Remembered {
    std::int32_t count;
    std::int32_t near[Most];
};
using LeafMemory = Remembered<7>;
using NodeMemory = Remembered<63>;
struct TreeMemory {
    LeafMemory* leaves;
    NodeMemory* nodes;
};

// The same for rows in compressed sparse form: centers feature by feature, no pivot, no origin.
template <class T>
struct SparseBookView {
    std::size_t k, d;
    std::size_t padded;   // k rounded up to a whole number of vectors
    const T* by_feature;  // (d, padded)
    const T* start;       // (padded) +inf beyond k
    const T* slope;       // (padded)
    const T* slack;       // (padded)
    T fast_scale, own_error, norm_up;
    const double* centers;  // (k, d) times `scale`
    double scale;
    const std::size_t* used_from;  // (k + 1) into `used`
    const std::int32_t* used;      // which features of a center are not zero; none if many are
};

// Exact sums of k clusters: columns 0..d-1 hold Σ w·y, column d holds Σ w, column d+1 Σ w·‖y‖²,
// with y = (x − origin)·scale, each as hi + lo / limb in units of 1 / up. See moments.hpp.
struct SumView {
    std::size_t k, d;
    const double* origin;       // (d)
    double scale;               // a power of two
    const double* up;           // (d + 2) powers of two
    double limb;                // a power of two
    std::int64_t* hi;           // inout: (k, d + 2)
    std::int64_t* lo;           // inout: (k, d + 2)
    const std::int64_t* times;  // (n) whole weights, or null
    const double* weight;       // (n) other weights, at most 1, or null
    std::uint8_t* touched;      // (k) 0: the rows of hi and lo are not yet cleared; null: all are
};

template <class T>
struct Rows {  // dense rows, one after the other
    const T* data;
    std::size_t n, d;
};

// Rows as the tiles take them, kept from pass to pass; without data they are packed anew. See
// panels.hpp.
template <class T>
struct PanelView {
    T* data;          // panel after panel: (d + 1, kPanelWidth), the last row for norms
    const T* square;  // (n, up to a whole panel) ‖y‖² of each row
};

template <class T>
struct CsrRows {
    const std::int64_t* start;  // (n + 1)
    const std::int32_t* column;
    const T* value;
    std::size_t n, d;
};

struct Pruned {
    std::int64_t moved;       // rows whose label changed
    std::int64_t measured;    // rows that were looked at: by bounds, measured to their own center
    std::int64_t met;         // rows that met other centers
    std::int64_t scanned;     // pairs of rows and centers that met
    std::int64_t candidates;  // what that left open: pairs by bounds, rows by leaves
};

// Rows in bytes: see sketch.hpp. Without data there is none.
struct SketchView {
    unsigned char* data;   // inout: panels of 16 rows
    const double* middle;  // (d) of the scaled rows
    double step;           // a power of two
};

struct Outcome {
    std::int64_t moved;      // rows whose label changed
    std::int64_t rechecked;  // rows decided by D64 because the fast scores were too close
};

// The points of k-medoids, and how far each is from the nearest medoid and from the second.
template <class T>
struct SwapView {
    std::size_t n, k;
    std::int32_t *near, *second;  // (n) places in 0..k-1
    T *closest, *next;            // (n) dissimilarities to these two
    const double* weight;         // (n), or null: all alike
    double* removal;              // (k) what the loss rises by without this medoid
    T* columns;                   // (k, n) dissimilarities to every medoid
};

// Lanes of what few rows are added to: swap_change needs room for kFew·k doubles.
constexpr std::size_t kFew = 4;

// What a candidate in the place of the best medoid adds to the loss.
struct Exchange {
    double change;
    std::int32_t place;
};

// What a matrix of dissimilarities is like.
struct Looks {
    double low, high, taint, diagonal, asymmetry;
};

// Rows in panels of kPanel points: (panels, d, kPanel), the last one filled up with zeros.
constexpr std::size_t kPanel = 64;
enum class Metric { squared, euclidean, manhattan };

// Rows in the order of their clusters. See silhouette.hpp.
struct ClusterView {
    std::size_t k, d;
    const double* rows;         // (n, d)
    const double* weight;       // (n)
    const std::int64_t* start;  // (k + 1) first row of each cluster
    const double* mass;         // (k) its weight; one of no weight is not there
};

// Up to kPanel rows of one cluster.
struct StripView {
    std::size_t cluster, first, last;
};

// Rows of a Gram matrix that move from one cluster to another. See gram.hpp.
template <class T>
struct GramMoves {
    const T* rows;  // (…, n)
    std::size_t n, count;
    const std::int64_t* which;   // (count) rows
    const std::int32_t* before;  // (count) clusters; −1: from nowhere
    const std::int32_t* after;   // (count)
    const double* row_shift;     // (count) what is subtracted from a row
    const double* column_shift;  // (n)     and from a column
    double scale, limb;          // what brings terms to the grid, and what remains
    const std::int64_t* times;   // (count) or null
    const double* weight;        // (count) or null
    std::int64_t* sums;          // (k, 2, n) high limbs, then low
};

}  // namespace partita
