// The rounds of greedy k-means++ over all rows: candidates are drawn by the caller, their gains and
// the choice are computed by a crew, leaf by leaf. Gains of leaves are added in their order, so the
// number of threads changes no bit.
#pragma once

#include "kernels/kernel_table.hpp"
#include "parallel.hpp"

namespace partita {

constexpr std::size_t kDrawLeafRows = 256;                  // as kSeedLeafRows
constexpr std::size_t kDrawMarkWords = kDrawLeafRows / 64;  // as kMarkWords

// Index of the step of a cumulated sum that contains `place`; never a step of height zero.
inline std::size_t index_in_cumsum(const double* cumulated, std::size_t n, double place) {
    std::size_t last = n - 1;
    while (last > 0 && cumulated[last - 1] == cumulated[n - 1]) --last;
    const double* step = std::upper_bound(cumulated, cumulated + n, place);
    return std::min(static_cast<std::size_t>(step - cumulated), last);
}

// Draws a row with probability proportional to its weight.
inline std::size_t draw_any(const double* weight, std::size_t n, double uniform) {
    if (!weight) return static_cast<std::size_t>(uniform * static_cast<double>(n));
    double total = 0.0, sum = 0.0;
    std::size_t last = 0;  // last row of positive weight
    for (std::size_t i = 0; i < n; ++i) {
        if (total + weight[i] > total) last = i;
        total += weight[i];
    }
    for (std::size_t i = 0; i < last; ++i)
        if ((sum += weight[i]) > uniform * total) return i;
    return last;
}

// What the rounds read and write; the arrays are those of the caller.
template <class T>
struct SeedingState {
    Rows<T> rows;
    T scale;
    const double* weight;  // (n) or null
    std::int64_t* chosen;  // out: (k)
    T* centers;            // inout: (k, d) the chosen rows times scale
    T* closest;            // inout: (n)
    std::int32_t* labels;  // inout: (n)
    double* potential;     // inout: (leaves)
    SketchView sketch;

    std::size_t leaves() const { return (rows.n + kDrawLeafRows - 1) / kDrawLeafRows; }
    SketchView sketch_from(std::size_t row) const {
        SketchView some = sketch;
        if (some.data) some.data += row / 16 * ((rows.d + 3) / 4 * 64 + 192);
        return some;
    }
};

template <class T>
class PlusPlusRounds {
public:
    PlusPlusRounds(const Kernels<T>& use, Crew& crew, const SeedingState<T>& state,
                   std::size_t trials)
        : use_(use), crew_(crew), state_(state), trials_(trials), cumulated_(state.leaves()),
          gain_(state.leaves() * trials), marks_(state.leaves() * trials * kDrawMarkWords),
          candidate_(trials * state.rows.d), drawn_(trials),
          step_(rows_per_part(crew, state.rows.n)) {}

    // Round j; uniform: one number in [0, 1) for each candidate.
    void run(std::size_t j, const double* uniform) {
        const std::size_t d = state_.rows.d, count = j ? trials_ : 1;
        draw(uniform, count, j > 0);
        if (j == 0)  // there is no choice
            std::fill_n(marks_.begin(), state_.leaves() * kDrawMarkWords, ~std::uint64_t{0});
        else
            gain(j);
        const std::size_t best = j ? best_candidate() : 0;
        state_.chosen[j] = drawn_[best];
        std::copy_n(candidate_.data() + best * d, d, state_.centers + j * d);
        choose(j, best, count);
    }

private:
    void draw(const double* uniform, std::size_t count, bool by_distance) {
        const Rows<T>& rows = state_.rows;
        double sum = 0.0;
        for (std::size_t leaf = 0; by_distance && leaf < state_.leaves(); ++leaf)
            cumulated_[leaf] = sum += state_.potential[leaf];
        for (std::size_t c = 0; c < count; ++c) {
            const std::size_t row =
                sum > 0.0 ? draw_row(uniform[c]) : draw_any(state_.weight, rows.n, uniform[c]);
            drawn_[c] = static_cast<std::int64_t>(row);
            for (std::size_t t = 0; t < rows.d; ++t)
                candidate_[c * rows.d + t] = rows.data[row * rows.d + t] * state_.scale;
        }
    }

    // Draws a row with probability proportional to weight·closest: first the leaf, then the row.
    std::size_t draw_row(double uniform) const {
        const std::size_t leaves = state_.leaves();
        const double place = uniform * cumulated_[leaves - 1];
        const std::size_t leaf = index_in_cumsum(cumulated_.data(), leaves, place);
        const std::size_t first = leaf * kDrawLeafRows,
                          m = std::min(state_.rows.n - first, kDrawLeafRows);
        double inside[kDrawLeafRows], sum = 0.0;
        for (std::size_t i = 0; i < m; ++i) {
            double term = static_cast<double>(state_.closest[first + i]);
            if (state_.weight)  // 0 if the weight is zero, even at an infinite distance
                term = state_.weight[first + i] > 0 ? term * state_.weight[first + i] : 0.0;
            inside[i] = sum += term;
        }
        return first + index_in_cumsum(inside, m, place - (leaf ? cumulated_[leaf - 1] : 0.0));
    }

    void gain(std::size_t j) {
        const std::size_t d = state_.rows.d;
        parallel_for(crew_, state_.rows.n, step_, use_.seed_scratch(d, trials_, j),
                     [&](std::size_t first, std::size_t last, unsigned char* memory) {
                         const std::size_t leaf = first / kDrawLeafRows;
                         use_.seed_gain({state_.rows.data + first * d, last - first, d},
                                        state_.scale, candidate_.data(), trials_, weight(first),
                                        state_.closest + first, state_.labels + first,
                                        state_.centers, j, state_.sketch_from(first),
                                        marks_.data() + leaf * trials_ * kDrawMarkWords,
                                        gain_.data() + leaf * trials_, memory);
                     });
    }

    std::size_t best_candidate() const {
        std::size_t best = 0;
        double most = -1.0;
        for (std::size_t c = 0; c < trials_; ++c) {
            double total = 0.0;
            for (std::size_t leaf = 0; leaf < state_.leaves(); ++leaf)
                total += gain_[leaf * trials_ + c];
            if (total > most) most = total, best = c;
        }
        return best;
    }

    void choose(std::size_t j, std::size_t best, std::size_t count) {
        const std::size_t d = state_.rows.d;
        parallel_for(crew_, state_.rows.n, step_, use_.seed_scratch(d, 1, 0),
                     [&](std::size_t first, std::size_t last, unsigned char* memory) {
                         const std::size_t leaf = first / kDrawLeafRows;
                         use_.seed_choose({state_.rows.data + first * d, last - first, d},
                                          state_.scale, candidate_.data() + best * d, weight(first),
                                          marks_.data() + leaf * count * kDrawMarkWords, count,
                                          best, state_.closest + first, state_.labels + first,
                                          static_cast<std::int32_t>(j), state_.sketch_from(first),
                                          state_.potential + leaf, memory);
                     });
    }

    const double* weight(std::size_t row) const {
        return state_.weight ? state_.weight + row : nullptr;
    }

    const Kernels<T>& use_;
    Crew& crew_;
    const SeedingState<T>& state_;
    std::size_t trials_;
    std::vector<double> cumulated_, gain_;
    std::vector<std::uint64_t> marks_;
    std::vector<T> candidate_;
    std::vector<std::int64_t> drawn_;
    std::size_t step_;
};

}  // namespace partita
