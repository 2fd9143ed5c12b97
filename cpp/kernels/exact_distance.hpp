// D64: the distance that defines a label.
//
//     D64(x, c) = Σ_t ((x_t − origin_t)·scale − c_t)²   in double, features in order
//
// Compiled with contraction off: every product is rounded before it is added, on every machine.
//
// With `gaps`, a NaN in a row is a missing value: the sum is over the values that the row has.
#pragma once

#include "packing.hpp"

namespace partita::PARTITA_ISA {

constexpr std::size_t kExactWidth = 2 * Simd<double>::width;  // rows at a time
constexpr int kExactCenters = 4;                              // centers at a time

// D64 of kExactWidth points to R centers.
template <int R, bool gaps = false>
PARTITA_INLINE void exact_distances(const double* panel,    // in: (d, kExactWidth)
                                    const double* centers,  // in: (R, d)
                                    std::size_t d, Simd<double>::Reg (&acc)[R][2]) {
    using S = Simd<double>;
    for (int r = 0; r < R; ++r) acc[r][0] = acc[r][1] = S::set1(0.0);
    for (std::size_t t = 0; t < d; ++t) {
        const typename S::Reg y0 = S::load(panel + t * kExactWidth);
        const typename S::Reg y1 = S::load(panel + t * kExactWidth + S::width);
        const typename S::Mask known0 = S::equal(y0, y0), known1 = S::equal(y1, y1);
#pragma GCC unroll 4
        for (int r = 0; r < R; ++r) {
            const typename S::Reg c = S::set1(centers[r * d + t]);
            typename S::Reg gap0 = S::sub(y0, c), gap1 = S::sub(y1, c);
            if constexpr (gaps) gap0 = S::where(known0, gap0), gap1 = S::where(known1, gap1);
            acc[r][0] = S::add(acc[r][0], S::mul(gap0, gap0));
            acc[r][1] = S::add(acc[r][1], S::mul(gap1, gap1));
        }
    }
}

// Nearest of kExactWidth points by D64, lower index on ties.
template <int R, bool gaps = false>
PARTITA_INLINE void exact_tile(const double* panel, const double* centers, std::size_t d,
                               std::int64_t first, double* best, std::int64_t* nearest) {
    using S = Simd<double>;
    typename S::Reg acc[R][2];
    exact_distances<R, gaps>(panel, centers, d, acc);
    for (int r = 0; r < R; ++r)
        for (int v = 0; v < 2; ++v) {
            double* low = best + v * S::width;
            std::int64_t* arg = nearest + v * S::width;
            const typename S::Reg now = S::load(low);
            const auto closer = S::less(acc[r][v], now);
            S::store(low, S::min(acc[r][v], now));
            S::store_int(arg, S::select(closer, S::set1_int(first + r), S::load_int(arg)));
        }
}

// D64 of one row and one center.
template <class R>
double exact_distance(const ExactView& exact, const R* x, std::size_t j) {
    const double* c = exact.centers + j * exact.d;
    double sum = 0.0;
    for (std::size_t t = 0; t < exact.d; ++t) {
        const double gap = (static_cast<double>(x[t]) - exact.origin[t]) * exact.scale - c[t];
        sum += gap * gap;
    }
    return sum;
}

// Labels of up to kExactWidth listed rows by D64 to all centers.
template <class R>
void exact_nearest(const ExactView& exact, const R* rows, const std::int32_t* listed,
                   std::size_t count, double* panel,  // scratch: (d, kExactWidth)
                   std::int32_t* label) {
    alignas(64) double best[kExactWidth];
    alignas(64) std::int64_t nearest[kExactWidth];
    const std::size_t d = exact.d;
    for (std::size_t r = 0; r < kExactWidth; ++r) {
        const R* x = rows + static_cast<std::size_t>(listed[r < count ? r : 0]) * d;
        for (std::size_t t = 0; t < d; ++t)
            panel[t * kExactWidth + r] =
                (static_cast<double>(x[t]) - exact.origin[t]) * exact.scale;
        best[r] = __builtin_inf();
        nearest[r] = 0;
    }
    std::size_t j = 0;
    for (; j + kExactCenters <= exact.k; j += kExactCenters)
        exact_tile<kExactCenters>(panel, exact.centers + j * d, d, static_cast<std::int64_t>(j),
                                  best, nearest);
    for (; j < exact.k; ++j)
        exact_tile<1>(panel, exact.centers + j * d, d, static_cast<std::int64_t>(j), best, nearest);
    for (std::size_t r = 0; r < count; ++r) label[r] = static_cast<std::int32_t>(nearest[r]);
}

// finish(D64) of every row, less the origin, to every center, out: (n, k).
template <bool gaps, class T, class Finish>
PARTITA_INLINE void measure_pairs(const Rows<T>& rows, const double* centers, const double* origin,
                                  std::size_t k,
                                  double* panel,  // scratch: (d, kExactWidth)
                                  double* out, Finish finish) {
    using S = Simd<double>;
    const std::size_t d = rows.d;
    alignas(64) double lane[kExactWidth];
    for (std::size_t i = 0; i < rows.n; i += kExactWidth) {
        const std::size_t m = rows.n - i < kExactWidth ? rows.n - i : kExactWidth;
        for (std::size_t r = 0; r < kExactWidth; ++r) {
            const T* x = rows.data + (i + (r < m ? r : 0)) * d;
            for (std::size_t t = 0; t < d; ++t)
                panel[t * kExactWidth + r] = static_cast<double>(x[t]) - (origin ? origin[t] : 0.0);
        }
        auto write = [&](std::size_t j, S::Reg low, S::Reg high) {
            S::store(lane, low);
            S::store(lane + S::width, high);
            for (std::size_t r = 0; r < m; ++r) out[(i + r) * k + j] = finish(lane[r]);
        };
        std::size_t j = 0;
        for (; j + kExactCenters <= k; j += kExactCenters) {
            S::Reg acc[kExactCenters][2];
            exact_distances<kExactCenters, gaps>(panel, centers + j * d, d, acc);
            for (std::size_t r = 0; r < kExactCenters; ++r) write(j + r, acc[r][0], acc[r][1]);
        }
        for (; j < k; ++j) {
            S::Reg acc[1][2];
            exact_distances<1, gaps>(panel, centers + j * d, d, acc);
            write(j, acc[0][0], acc[0][1]);
        }
    }
}

// √D64 of every row to every center, out: (n, k).
template <class T, bool gaps = false>
void distances(const Rows<T>& rows, const double* centers, std::size_t k, double* panel,
               double* out) {
    measure_pairs<gaps>(rows, centers, nullptr, k, panel, out,
                        [](double square) { return __builtin_sqrt(square); });
}

// D64 of every row to every center about an origin, out: (n, k).
template <class T>
void squares(const Rows<T>& rows, const double* centers, const double* origin, std::size_t k,
             double* panel, double* out) {
    measure_pairs<false>(rows, centers, origin, k, panel, out,
                         [](double square) { return square; });
}

// Labels of a few rows from unpacked centers, in eight independent chains. For single predictions,
// where packing the centers would cost more than the distances. Returns false if squares overflow
// or underflow, so that scaled distances are needed.
template <class T>
bool assign_few(const Rows<T>& rows, const double* centers, std::size_t k, std::int32_t* label) {
    constexpr std::size_t chains = 8;
    const std::size_t d = rows.d;
    bool sure = true;
    for (std::size_t i = 0; i < rows.n; ++i) {
        const T* x = rows.data + i * d;
        double best = __builtin_inf(), second = best;
        std::size_t nearest = 0;
        for (std::size_t j = 0; j < k; j += chains) {
            const std::size_t m = k - j < chains ? k - j : chains;
            const double* c[chains];
            for (std::size_t r = 0; r < chains; ++r) c[r] = centers + (j + (r < m ? r : 0)) * d;
            double acc[chains] = {};
            for (std::size_t t = 0; t < d; ++t) {
                const double y = static_cast<double>(x[t]);
#pragma GCC unroll 8
                for (std::size_t r = 0; r < chains; ++r) {
                    const double gap = y - c[r][t];
                    acc[r] += gap * gap;
                }
            }
            for (std::size_t r = 0; r < m; ++r)
                if (acc[r] < best) {
                    second = best;
                    best = acc[r];
                    nearest = j + r;
                } else if (acc[r] < second) {
                    second = acc[r];
                }
        }
        label[i] = static_cast<std::int32_t>(nearest);
        sure = sure && best < 1e280 && second > 1e-280;
    }
    return sure;
}

// Updates the two lowest distances of kExactWidth points; lower index on ties.
template <int R>
PARTITA_INLINE void two_tile(const double* panel, const double* centers, std::size_t d,
                             std::int64_t first, double* best, double* second,
                             std::int64_t* nearest) {
    using S = Simd<double>;
    typename S::Reg acc[R][2];
    exact_distances<R>(panel, centers, d, acc);
    for (int v = 0; v < 2; ++v) {
        typename S::Reg low = S::load(best + v * S::width);
        typename S::Reg next = S::load(second + v * S::width);
        typename S::IntReg arg = S::load_int(nearest + v * S::width);
        for (int r = 0; r < R; ++r) {
            arg = S::select(S::less(acc[r][v], low), S::set1_int(first + r), arg);
            next = S::min(next, S::max(low, acc[r][v]));
            low = S::min(low, acc[r][v]);
        }
        S::store(best + v * S::width, low);
        S::store(second + v * S::width, next);
        S::store_int(nearest + v * S::width, arg);
    }
}

// The label of every row, and √D64 to its center and to the second nearest (infinity if k is 1).
template <class T>
void two_nearest(const Rows<T>& rows, const double* centers, std::size_t k,
                 double* panel,  // scratch: (d, kExactWidth)
                 std::int32_t* label, double* first, double* second) {
    const std::size_t d = rows.d;
    alignas(64) double best[kExactWidth], next[kExactWidth];
    alignas(64) std::int64_t nearest[kExactWidth];
    for (std::size_t i = 0; i < rows.n; i += kExactWidth) {
        const std::size_t m = rows.n - i < kExactWidth ? rows.n - i : kExactWidth;
        for (std::size_t r = 0; r < kExactWidth; ++r) {
            const T* x = rows.data + (i + (r < m ? r : 0)) * d;
            for (std::size_t t = 0; t < d; ++t)
                panel[t * kExactWidth + r] = static_cast<double>(x[t]);
            best[r] = next[r] = __builtin_inf();
            nearest[r] = 0;
        }
        std::size_t j = 0;
        for (; j + kExactCenters <= k; j += kExactCenters)
            two_tile<kExactCenters>(panel, centers + j * d, d, static_cast<std::int64_t>(j), best,
                                    next, nearest);
        for (; j < k; ++j)
            two_tile<1>(panel, centers + j * d, d, static_cast<std::int64_t>(j), best, next,
                        nearest);
        for (std::size_t r = 0; r < m; ++r) {
            label[i + r] = static_cast<std::int32_t>(nearest[r]);
            first[i + r] = __builtin_sqrt(best[r]);
            second[i + r] = __builtin_sqrt(next[r]);
        }
    }
}

// D64 of a vector of rows to their own centers, transposed a few features at a time.
PARTITA_INLINE void own_distances_across(const double* rows, std::size_t d, const double* centers,
                                         const double* origin, const std::int32_t* label,
                                         double* out) {
    using S = Simd<double>;
    const double* own[S::width];
    for (std::size_t l = 0; l < S::width; ++l)
        own[l] = centers + static_cast<std::size_t>(label[l]) * d;
    S::Reg sum = S::set1(0.0);
    for (std::size_t t = 0; t < d; t += S::group) {
        const std::size_t from = t + S::group <= d ? t : d - S::group;  // a whole group
        S::Reg x[S::group], c[S::group];
        S::columns([&](std::size_t l) { return rows + l * d + from; }, x);
        S::columns([&](std::size_t l) { return own[l] + from; }, c);
#pragma GCC unroll 4
        for (std::size_t g = 0; g < S::group; ++g) {
            if (from + g < t) continue;
            const S::Reg gap = S::sub(S::sub(x[g], S::set1(origin[from + g])), c[g]);
            sum = S::add(sum, S::mul(gap, gap));
        }
    }
    __builtin_memcpy(out, &sum, sizeof(sum));
}

// out_i = D64(x_i, centers[label_i]), unscaled. The weighted sum is the objective.
template <class T, bool gaps = false>
void own_distance(const Rows<T>& rows, const double* centers, const double* origin,
                  const std::int32_t* label, double* out) {
    constexpr std::size_t chains = 8;  // a single row would wait for each addition
    const std::size_t d = rows.d;
    std::size_t done = 0;
    if constexpr (sizeof(T) == 8 && !gaps)
        for (; d >= Simd<T>::group && done + Simd<T>::width <= rows.n; done += Simd<T>::width)
            own_distances_across(rows.data + done * d, d, centers, origin, label + done,
                                 out + done);
    for (std::size_t i = done; i < rows.n; i += chains) {
        const std::size_t m = rows.n - i < chains ? rows.n - i : chains;
        const T* x[chains];
        const double* c[chains];
        for (std::size_t r = 0; r < chains; ++r) {
            const std::size_t row = i + (r < m ? r : 0);
            x[r] = rows.data + row * d;
            c[r] = centers + static_cast<std::size_t>(label[row]) * d;
        }
        double acc[chains] = {};
        for (std::size_t t = 0; t < d; ++t)
#pragma GCC unroll 8
            for (std::size_t r = 0; r < chains; ++r) {
                double gap = (static_cast<double>(x[r][t]) - origin[t]) - c[r][t];
                if constexpr (gaps) gap = x[r][t] == x[r][t] ? gap : 0.0;
                acc[r] += gap * gap;
            }
        for (std::size_t r = 0; r < m; ++r) out[i + r] = acc[r];
    }
}

}  // namespace partita::PARTITA_ISA
