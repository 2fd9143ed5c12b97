// Gower's dissimilarity between all rows and a few of them: Σ w·s / Σ w over the features that both
// have. Points are in lanes; the sums are over the features, in order, and nothing is fused, so the
// bits are the same for every instruction set, and for a pair in either order.
//
// A feature that the center lacks is skipped for all points. Of asymmetric features a center has a
// 1, which every observed value counts against, or a 0, which only a 1 counts against.
#pragma once

#include "simd.hpp"
#include "views.hpp"

namespace partita::PARTITA_ISA {

// Sums of some vectors of points against one center.
struct GowerSums {
    using S = Simd<double>;
    static constexpr std::size_t vectors = 2;
    S::Reg sum[vectors], mass[vectors];
    S::Reg absent[vectors];  // 1 where an asymmetric feature is absent in both

    GowerSums() {
        for (std::size_t v = 0; v < vectors; ++v) sum[v] = mass[v] = absent[v] = S::set1(0);
    }
    PARTITA_INLINE void add_number(const double* x, double center, double weight) {
        const S::Reg at = S::set1(center), w = S::set1(weight);
#pragma GCC unroll 2
        for (std::size_t v = 0; v < vectors; ++v) {
            const S::Reg gap = S::sub(S::widen(x + v * S::width), at);
            const S::Mask known = S::equal(gap, gap);
            const S::Reg size = S::max(gap, S::sub(S::set1(0), gap));
            sum[v] = S::add(sum[v], S::where(known, size));
            mass[v] = S::add(mass[v], S::where(known, w));
        }
    }
    PARTITA_INLINE void add_code(const double* x, double center, double weight) {
        const S::Reg at = S::set1(center), w = S::set1(weight);
#pragma GCC unroll 2
        for (std::size_t v = 0; v < vectors; ++v) {
            const S::Reg code = S::widen(x + v * S::width);
            const S::Reg counted = S::where(S::equal(code, code), w);
            sum[v] = S::add(sum[v], S::sub(counted, S::where(S::equal(code, at), w)));
            mass[v] = S::add(mass[v], counted);
        }
    }
    PARTITA_INLINE void add_presence(const double* x, double weight) {
        const S::Reg one = S::set1(1), w = S::set1(weight);
#pragma GCC unroll 2
        for (std::size_t v = 0; v < vectors; ++v) {
            const S::Reg code = S::widen(x + v * S::width);
            const S::Reg counted = S::where(S::equal(code, one), w);
            sum[v] = S::add(sum[v], counted);
            mass[v] = S::add(mass[v], counted);
            absent[v] = S::max(absent[v], S::where(S::equal(code, S::set1(0)), one));
        }
    }
    PARTITA_INLINE void add_all(const double* x, const MixedFeatures& features,
                                const double* center) {
        const std::size_t codes = features.numbers + features.nominal;
        for (std::size_t t = 0; t < features.d; ++t) {
            if (center[t] != center[t]) continue;
            if (t < features.numbers)
                add_number(x + t * kPanelRows, center[t], features.weight[t]);
            else if (t < codes || center[t] != 0)
                add_code(x + t * kPanelRows, center[t], features.weight[t]);
            else
                add_presence(x + t * kPanelRows, features.weight[t]);
        }
    }
    PARTITA_INLINE void finish(double* out) const {
        for (std::size_t v = 0; v < vectors; ++v) {
            const S::Mask nothing = S::equal(mass[v], S::set1(0));
            const S::Reg other = S::where(nothing, S::sub(S::set1(1), absent[v]));
            const S::Reg value = S::add(S::ratio(sum[v], mass[v]), other);
            __builtin_memcpy(out + v * S::width, &value, sizeof value);
        }
    }
};

// `points` rows in panels against k centers (k, d); writes out[j·stride + i].
inline void gower_columns(const double* panels, const MixedFeatures& features, std::size_t points,
                          const double* centers, std::size_t k, double* out, std::size_t stride) {
    constexpr std::size_t step = GowerSums::vectors * Simd<double>::width;
    double values[kPanelRows];
    for (std::size_t first = 0; first < points; first += kPanelRows) {
        const double* panel = panels + first * features.d;
        const std::size_t here = points - first < kPanelRows ? points - first : kPanelRows;
        for (std::size_t j = 0; j < k; ++j) {
            for (std::size_t i = 0; i < kPanelRows; i += step) {
                GowerSums sums;
                sums.add_all(panel + i, features, centers + j * features.d);
                sums.finish(values + i);
            }
            __builtin_memcpy(out + j * stride + first, values, here * sizeof(double));
        }
    }
}

}  // namespace partita::PARTITA_ISA
