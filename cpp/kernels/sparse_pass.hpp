// The fused pass over sparse rows: centers in lanes, one stored value at a time.
#pragma once

#include "exact_sums.hpp"

namespace partita::PARTITA_ISA {

constexpr double kMinSeedShare = 1e-6;  // of the squared lengths: below it, digits cancel

// Scores of V vectors of centers for one row.
template <class T, int V>
PARTITA_INLINE void sparse_scores(const SparseBookView<T>& book, const std::int32_t* column,
                                  const T* value, std::size_t stored, T norm, std::size_t at,
                                  T* score) {
    using S = Simd<T>;
    typename S::Reg acc[V];
#pragma GCC unroll 8
    for (int v = 0; v < V; ++v)
        acc[v] = S::fnmadd(S::set1(norm), S::load(book.slope + at + v * S::width),
                           S::load(book.start + at + v * S::width));
    for (std::size_t p = 0; p < stored; ++p) {
        const T* c = book.by_feature + static_cast<std::size_t>(column[p]) * book.padded + at;
        const typename S::Reg x = S::set1(value[p] * book.fast_scale);
#pragma GCC unroll 8
        for (int v = 0; v < V; ++v) acc[v] = S::fnmadd(x, S::load(c + v * S::width), acc[v]);
    }
#pragma GCC unroll 8
    for (int v = 0; v < V; ++v) S::store(score + at + v * S::width, acc[v]);
}

template <class T>
std::size_t sparse_scratch(std::size_t d, std::size_t padded) {
    return (d + 8) * 8 + (padded + 16) * sizeof(T) + 128;
}

// D64 of a row (also given as `dense`) and a center with few nonzero features. A feature that is
// zero in both adds nothing, so skipping it changes no bit.
template <class T>
double sparse_distance(const SparseBookView<T>& book, std::size_t j, const std::int32_t* column,
                       std::size_t stored, const double* dense) {
    const double* c = book.centers + j * book.d;
    const std::int32_t* used = book.used + book.used_from[j];
    const std::int32_t* end = book.used + book.used_from[j + 1];
    double sum = 0.0;
    for (std::size_t p = 0; p < stored || used != end;) {
        std::int32_t t;
        if (used == end || (p < stored && column[p] <= *used)) {
            t = column[p++];
            used += used != end && *used == t;
        } else {
            t = *used++;
        }
        const double gap = dense[t] - c[t];
        sum += gap * gap;
    }
    return sum;
}

// The nearest by D64 of the centers whose score does not exceed `threshold`; `dense` is the dense
// row.
template <class T>
std::int32_t sparse_exact(const SparseBookView<T>& book, const T* score, T threshold,
                          const std::int32_t* column, std::size_t stored, const double* dense) {
    double best = __builtin_inf();
    std::size_t nearest = 0;
    for (std::size_t j = 0; j < book.k; ++j) {
        if (score[j] > threshold) continue;
        double sum = 0.0;
        if (book.used_from[j] < book.used_from[j + 1]) {
            sum = sparse_distance(book, j, column, stored, dense);
        } else {
            const double* c = book.centers + j * book.d;
            for (std::size_t t = 0; t < book.d; ++t) {
                const double gap = dense[t] - c[t];
                sum += gap * gap;
            }
        }
        if (sum < best) {
            best = sum;
            nearest = j;
        }
    }
    return static_cast<std::int32_t>(nearest);
}

template <class T>
PassCounts assign_sparse(const SparseBookView<T>& book, const CsrRows<T>& rows, const SumView* sums,
                         std::int32_t* label, unsigned char* memory) {
    using S = Simd<T>;
    T* score = reinterpret_cast<T*>(memory);  // (padded), aligned by the caller
    double* dense =
        reinterpret_cast<double*>(memory + (book.padded * sizeof(T) + 63) / 64 * 64);  // (d)
    for (std::size_t t = 0; t < book.d; ++t) dense[t] = 0.0;
    PassCounts outcome{0, 0};
    for (std::size_t i = 0; i < rows.n; ++i) {
        const std::int64_t from = rows.start[i];
        const std::size_t stored = static_cast<std::size_t>(rows.start[i + 1] - from);
        const std::int32_t* column = rows.column + from;
        const T* value = rows.value + from;
        double squares = 0.0;
        for (std::size_t p = 0; p < stored; ++p) {
            const double y = static_cast<double>(value[p] * book.fast_scale);
            squares += y * y;
        }
        const T norm = static_cast<T>(__builtin_sqrt(squares)) * book.norm_up;
        std::size_t at = 0;
        for (; at + 8 * S::width <= book.padded; at += 8 * S::width)
            sparse_scores<T, 8>(book, column, value, stored, norm, at, score);
        for (; at + 2 * S::width <= book.padded; at += 2 * S::width)
            sparse_scores<T, 2>(book, column, value, stored, norm, at, score);
        for (; at < book.padded; at += S::width)
            sparse_scores<T, 1>(book, column, value, stored, norm, at, score);
        T best = static_cast<T>(__builtin_inf()), second = best;
        std::size_t nearest = 0;
        for (std::size_t j = 0; j < book.k; ++j) {
            const T now = score[j];
            if (now < best) {
                second = best;
                best = now;
                nearest = j;
            } else if (now < second) {
                second = now;
            }
        }
        const T margin =
            2 * (norm * book.slope[nearest] + book.slack[nearest] + norm * norm * book.own_error);
        std::int32_t now = static_cast<std::int32_t>(nearest);
        const bool in_range = norm < static_cast<T>(1ull << 60);
        if (!(in_range && second - best > margin)) {
            ++outcome.rechecked;
            for (std::size_t p = 0; p < stored; ++p)
                dense[column[p]] = static_cast<double>(value[p]) * book.scale;
            const T threshold = in_range ? best + margin : static_cast<T>(__builtin_inf());
            now = sparse_exact(book, score, threshold, column, stored, dense);
            for (std::size_t p = 0; p < stored; ++p) dense[column[p]] = 0.0;
        }
        if (label[i] == now) continue;
        if (sums) move_sparse_row(*sums, rows, i, label[i], now);
        label[i] = now;
        ++outcome.moved;
    }
    return outcome;
}

template <class T>
void move_sparse(const SumView& sums, const CsrRows<T>& rows, const std::int32_t* from,
                 const std::int32_t* to) {
    for (std::size_t i = 0; i < rows.n; ++i)
        if (from[i] != to[i]) move_sparse_row(sums, rows, i, from[i], to[i]);
}

// Twofold sums of products have the same bits with fused operations and without as long as no product
// comes near the limits of the doubles. Distances outside these bounds are D64, feature by feature.
constexpr double kMinTwofoldSquare = 0x1p-900, kMaxTwofoldSquare = 0x1p990;
constexpr double kMinTwofoldProduct = 0x1p-960;  // below it, the rounding error is left out
constexpr double kMinTwofoldShare = 0x1p-40;     // of ‖c‖²: below it, too many digits cancel

PARTITA_INLINE Twofold bounded_prod(double a, double b) {
    const Twofold p = two_prod(a, b);
    return {p.head, __builtin_fabs(p.head) < kMinTwofoldProduct ? 0.0 : p.tail};
}

// ‖c‖² of each center as head and tail, out: (k, 2).
inline void square_norms(const double* centers, std::size_t k, std::size_t d, double* out) {
    for (std::size_t j = 0; j < k; ++j) {
        Twofold sum{0.0, 0.0};
        for (std::size_t t = 0; t < d; ++t)
            sum = add(sum, bounded_prod(centers[j * d + t], centers[j * d + t]));
        out[2 * j] = sum.head;
        out[2 * j + 1] = sum.tail;
    }
}

// D64 of one sparse row and one center, feature by feature.
template <class T>
double plain_distance(const CsrRows<T>& rows, std::size_t i, const double* center) {
    std::int64_t p = rows.start[i];
    double sum = 0.0;
    for (std::size_t t = 0; t < rows.d; ++t) {
        const bool stored = p < rows.start[i + 1] && static_cast<std::size_t>(rows.column[p]) == t;
        const double gap = (stored ? static_cast<double>(rows.value[p]) : 0.0) - center[t];
        sum += gap * gap;
        p += stored;
    }
    return sum;
}

// out_i = ‖x_i − centers[label_i]‖² for sparse rows, from stored values only: ‖c‖² + Σ x² − 2·x·c
// in twofold arithmetic, rounded once. If even that cancels, D64.
template <class T>
void own_distance_sparse(const CsrRows<T>& rows, const double* centers, const double* squares,
                         const std::int32_t* label, double* out) {
    for (std::size_t i = 0; i < rows.n; ++i) {
        const std::size_t j = static_cast<std::size_t>(label[i]);
        const double norm = squares[2 * j];
        Twofold sum{norm, squares[2 * j + 1]};
        for (std::int64_t p = rows.start[i]; p < rows.start[i + 1]; ++p) {
            const double x = static_cast<double>(rows.value[p]);
            const double c = centers[j * rows.d + static_cast<std::size_t>(rows.column[p])];
            sum = add(sum, add(bounded_prod(x, x), bounded_prod(-2.0 * x, c)));
        }
        const bool in_range = sum.head > kMinTwofoldSquare && sum.head < kMaxTwofoldSquare &&
                              norm < kMaxTwofoldSquare;
        const bool clear = in_range && sum.head > kMinTwofoldShare * norm;
        out[i] = clear ? sum.head : plain_distance(rows, i, centers + j * rows.d);
    }
}

// out_i = ‖x_i·scale‖², stored values in order: D64 of dense rows to 0.
template <class T>
void square_lengths(const CsrRows<T>& rows, double scale, double* out) {
    for (std::size_t i = 0; i < rows.n; ++i) {
        double sum = 0.0;
        for (std::int64_t p = rows.start[i]; p < rows.start[i + 1]; ++p) {
            const double y = static_cast<double>(rows.value[p]) * scale;
            sum += y * y;
        }
        out[i] = sum;
    }
}

// D64 of a row times `scale` and another sparse row: features that are zero in both add nothing.
template <class T>
double merged_distance(const CsrRows<T>& rows, std::size_t i, double scale,
                       const CsrRows<double>& others, std::size_t j) {
    std::int64_t p = rows.start[i], q = others.start[j];
    const std::int64_t p_end = rows.start[i + 1], q_end = others.start[j + 1];
    double sum = 0.0;
    while (p < p_end || q < q_end) {
        const std::int32_t left = p < p_end ? rows.column[p] : INT32_MAX;
        const std::int32_t right = q < q_end ? others.column[q] : INT32_MAX;
        const double x = left <= right ? static_cast<double>(rows.value[p++]) * scale : 0.0;
        const double c = right <= left ? others.value[q++] : 0.0;
        sum += (x - c) * (x - c);
    }
    return sum;
}

// out (n, m): squared distances of scaled rows to m candidates of k-means++, as ‖x‖² + ‖c‖² − 2·x·c
// with stored values in order. Where that cancels, by differences: a duplicate is at exactly 0.
template <class T>
void seed_distances_sparse(const CsrRows<T>& rows, double scale, const double* squares,
                           const CsrRows<double>& candidates,
                           const double* by_feature,  // (d, m) the candidates, dense
                           const double* lengths,     // (m) their squared lengths
                           double* __restrict out) {
    const std::size_t m = candidates.n;
    for (std::size_t i = 0; i < rows.n; ++i, out += m) {
        for (std::size_t j = 0; j < m; ++j) out[j] = 0.0;
        for (std::int64_t p = rows.start[i]; p < rows.start[i + 1]; ++p) {
            const double x = static_cast<double>(rows.value[p]) * scale;
            const double* c = by_feature + static_cast<std::size_t>(rows.column[p]) * m;
            for (std::size_t j = 0; j < m; ++j) out[j] += x * c[j];
        }
        for (std::size_t j = 0; j < m; ++j) {
            const double both = squares[i] + lengths[j];
            out[j] = both - 2.0 * out[j];
            if (!(out[j] > kMinSeedShare * both))
                out[j] = merged_distance(rows, i, scale, candidates, j);
        }
    }
}

}  // namespace partita::PARTITA_ISA
