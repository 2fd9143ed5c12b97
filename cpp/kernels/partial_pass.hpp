// The pass over rows with gaps (NaN): only values that a row has count, in the distances and in the
// sums. Labels are the argmin of D64 over these values; there is no faster score to filter by.
//
// Sums are those of rows twice as wide: the values, with the origin in place of gaps, so that these
// add nothing; then a mark for each value that the row has, so that means can be taken over them.
#pragma once

#include "exact_distance.hpp"
#include "exact_sums.hpp"
#include "packing.hpp"

namespace partita::PARTITA_ISA {

// All memory of a pass, in one block that the caller allocates.
struct PartialScratch {
    double *panel, *padded, *wide;
    unsigned char* sum_scratch;
    std::size_t used;  // bytes

    static std::size_t bytes(std::size_t d) { return PartialScratch(nullptr, d).used; }

    PartialScratch(unsigned char* memory, std::size_t d) {
        ScratchArena arena(memory);
        panel = arena.take<double>(d * kExactWidth);
        padded = arena.take<double>(d * kExactWidth);
        wide = arena.take<double>(2 * d);
        sum_scratch = arena.take<unsigned char>(RowAccumulator<double>::bytes(2 * d));
        used = arena.used();
    }
};

// Writes a row as the sums take it.
template <class T>
PARTITA_INLINE void widen_row(const T* x, std::size_t d, const double* origin, double mark,
                              double* wide) {
    for (std::size_t t = 0; t < d; ++t) {
        const bool known = x[t] == x[t];
        wide[t] = known ? static_cast<double>(x[t]) : origin[t];
        wide[d + t] = known ? mark : 0.0;
    }
}

// Transposes, centres and scales kExactWidth rows; gaps stay NaN.
template <class T>
PARTITA_INLINE void pack_exact(const ExactView& exact, const T* rows, double* panel) {
    using S = Simd<double>;
    constexpr std::size_t wide = Simd<T>::width;
    static_assert(kExactWidth % wide == 0 && wide % S::width == 0);
    const S::Reg scale = S::set1(exact.scale);
    auto put = [&](std::size_t t, int v, typename Simd<T>::Reg x) {
        alignas(64) T lane[wide];
        Simd<T>::store(lane, x);
        double* to = panel + t * kExactWidth + static_cast<std::size_t>(v) * wide;
        const S::Reg origin = S::set1(exact.origin[t]);
        for (std::size_t r = 0; r < wide; r += S::width)
            S::store(to + r, S::mul(S::sub(S::widen(lane + r), origin), scale));
    };
    each_column(rows, exact.d, static_cast<int>(kExactWidth / wide), put);
}

// Labels every row and moves changed rows in the sums (of 2d features). `label` holds the previous
// labels (−1: none); the lower index on ties.
template <class T>
PassCounts assign_partial(const ExactView& exact, const Rows<T>& rows, double mark,
                          const SumView* sums, std::int32_t* label, unsigned char* memory) {
    const PartialScratch s(memory, rows.d);
    const SumView none{};
    RowAccumulator<double> accumulator(sums ? *sums : none, s.sum_scratch);
    const std::size_t d = rows.d;
    alignas(64) double best[kExactWidth];
    alignas(64) std::int64_t nearest[kExactWidth];
    PassCounts outcome{0, 0};
    for (std::size_t i = 0; i < rows.n; i += kExactWidth) {
        const std::size_t m = rows.n - i < kExactWidth ? rows.n - i : kExactWidth;
        const T* first = rows.data + i * d;
        if (m < kExactWidth) {
            for (std::size_t e = 0; e < kExactWidth * d; ++e)
                s.padded[e] = static_cast<double>(e < m * d ? first[e] : T(0));
            pack_exact<double>(exact, s.padded, s.panel);
        } else {
            pack_exact(exact, first, s.panel);
        }
        for (std::size_t r = 0; r < kExactWidth; ++r) {
            best[r] = __builtin_inf();
            nearest[r] = 0;
        }
        std::size_t j = 0;
        for (; j + kExactCenters <= exact.k; j += kExactCenters)
            exact_tile<kExactCenters, true>(s.panel, exact.centers + j * d, d,
                                            static_cast<std::int64_t>(j), best, nearest);
        for (; j < exact.k; ++j)
            exact_tile<1, true>(s.panel, exact.centers + j * d, d, static_cast<std::int64_t>(j),
                                best, nearest);
        for (std::size_t r = 0; r < m; ++r) {
            const std::int32_t now = static_cast<std::int32_t>(nearest[r]);
            if (label[i + r] == now) continue;
            if (sums) {
                widen_row(rows.data + (i + r) * d, d, sums->origin, mark, s.wide);
                accumulator.push(s.wide, i + r, label[i + r], now);
            }
            label[i + r] = now;
            ++outcome.moved;
        }
    }
    if (sums) accumulator.flush();
    return outcome;
}

}  // namespace partita::PARTITA_ISA
