// What the kernels are given: plain pointers and sizes, owned by whoever calls.
//
// These structs are the same for every instruction set. They hold no containers, so that the
// files compiled for one instruction set emit no library code that another could pick up.
#pragma once

#include <cstddef>
#include <cstdint>

namespace partita {

// Centers ready for the tile kernels, with what their rounding may cost. See codebook.hpp.
template <class T>
struct BookView {
    std::size_t k, d;
    std::size_t depth;       // d + 1 if each center has a slope of its own, else d
    std::size_t tiles;       // tiles of k/tiles or k/tiles + 1 centers, the larger ones first
    const T* packed;         // tile after tile: (depth, rows of the tile)
    const T* start;          // (k)    score of a point at the pivot, lowered by `slack`
    const T* slope;          // (k)    error of a score per unit of the point's norm
    const T* slack;          // (k)    error of a score that does not depend on the point
    const T* pivot;          // (d)    what the fast kernel subtracts, times `fast_scale`
    T fast_scale;            // a power of two
    T drift;                 // ‖origin − pivot‖, scaled: how far the two frames are apart
    T own_error;             // error of D64 itself per squared norm of the point
    T norm_up;               // what covers the rounding of a computed norm
    double square_down;      // and of a computed square, from below
    const double* centers;   // (k, d) relative to `origin`, times `scale`: what D64 uses
    const double* origin;    // (d)
    double scale;            // of D64: 1, or a power of two where squares would overflow
};

// The same for rows in compressed sparse form: centers feature by feature, no pivot, no origin.
template <class T>
struct SparseBookView {
    std::size_t k, d;
    std::size_t padded;      // k rounded up to a whole number of vectors
    const T* by_feature;     // (d, padded)
    const T* start;          // (padded) +inf beyond k
    const T* slope;          // (padded)
    const T* slack;          // (padded)
    T fast_scale, own_error, norm_up;
    const double* centers;   // (k, d) times `scale`
    double scale;
};

// Exact sums of k clusters: columns 0..d-1 hold Σ w·y, column d holds Σ w, column d+1 Σ w·‖y‖²,
// with y = (x − origin)·scale, each as hi + lo / limb in units of 1 / up. See moments.hpp.
struct SumView {
    std::size_t k, d;
    const double* origin;    // (d)
    double scale;            // a power of two
    const double* up;        // (d + 2) powers of two
    double limb;             // a power of two
    std::int64_t* hi;        // inout: (k, d + 2)
    std::int64_t* lo;        // inout: (k, d + 2)
    const std::int64_t* times;  // (n) whole weights, or null
    const double* weight;       // (n) other weights, at most 1, or null
};

template <class T>
struct Rows {  // dense rows, one after the other
    const T* data;
    std::size_t n, d;
};

template <class T>
struct CsrRows {
    const std::int64_t* start;  // (n + 1)
    const std::int32_t* column;
    const T* value;
    std::size_t n, d;
};

// Rows in bytes: see sketch.hpp. Without data there is none.
struct SketchView {
    unsigned char* data;     // inout: panels of 16 rows
    const double* middle;    // (d) of the scaled rows
    double step;             // a power of two
};

struct Outcome {
    std::int64_t moved;      // rows whose label changed
    std::int64_t rechecked;  // rows decided by D64 because the fast scores were too close
};

}  // namespace partita
