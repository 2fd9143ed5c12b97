// The steps of the grid that exact sums are rounded to (see exact_sums.hpp), from the extent of the
// rows.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace partita {

// The power of two that brings `largest` to [½, 1), within 2^±most.
inline double power_of_two(double largest, int most) {
    int exponent = 0;
    std::frexp(largest, &exponent);
    return std::ldexp(1.0, std::clamp(-exponent, -most, most));
}

// Rows become y = (x − origin)·scale, the largest |y| in [½, 1); returns `scale`. Sets up (d + 2) to
// powers of two such that no term of a row times its `up` exceeds `largest`, that of a weight to 1
// if weights are whole numbers.
inline double grid_steps(const double* low, const double* high, const double* origin, std::size_t d,
                         double largest, bool whole, double* up) {
    constexpr int kMaxScale = 1000, kMaxStep = 900;  // exponents
    double reach = 0;
    for (std::size_t t = 0; t < d; ++t) {
        up[t] = std::max(high[t] - origin[t], origin[t] - low[t]);
        reach = std::max(reach, up[t]);
    }
    const double scale = power_of_two(reach, kMaxScale);
    double square = 0;
    for (std::size_t t = 0; t < d; ++t) {
        const double y = up[t] * scale;
        int exponent = 0;
        std::frexp(y, &exponent);
        up[t] = std::ldexp(largest, std::min(kMaxStep, -exponent));
        square += y * y;
    }
    up[d] = whole ? 1.0 : largest;
    up[d + 1] = largest * power_of_two(square, kMaxStep);
    return scale;
}

}  // namespace partita
