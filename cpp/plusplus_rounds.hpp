// The rounds of greedy k-means++ over all rows: candidates are drawn by the caller, their gains and
// the choice are computed by a crew, leaf by leaf. Gains of leaves are added in their order, so the
// number of threads changes no bit.
#pragma once

#include <cmath>

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

// A copy of n rows in float32 for the rounds (float_leaves.hpp), filled in the first of them.
struct FloatLeaves {
    std::size_t n, d;
    double fine;
    Aligned<float> data, length;
    double potential = -1.0;  // after the first round; negative: not filled yet, or given up
    std::size_t rounds = 0, doubtful = 0;

    FloatLeaves(std::size_t n, std::size_t d, double fine)
        : n(n), d(d), fine(fine), data(make_aligned<float>(leaves() * (d + 1) * kDrawLeafRows)),
          length(make_aligned<float>(leaves())) {}
    std::size_t leaves() const { return (n + kDrawLeafRows - 1) / kDrawLeafRows; }
    bool ready() const { return potential >= 0.0; }
    FloatLeavesView from_leaf(std::size_t leaf) const {
        return {data.get() + leaf * (d + 1) * kDrawLeafRows, length.get() + leaf, fine};
    }
    // Gives up where the gains in float32 decide too few rounds.
    void note_round(bool decided) {
        ++rounds;
        doubtful += decided ? 0 : 1;
        if (doubtful > 2 && 2 * doubtful > rounds) potential = -1.0;
    }
};

// Candidates of a round in float32 about the first chosen row, and bounds of the rounding errors of
// their gains. With p and p₁ the potentials now and after the first round, and the u, γ and b of
// float_leaves.hpp, the error of a row that comes nearer is at most
//
//     q·(2u + γ + (d + 8)·unit) + 2·√q·b + 4·b²,   where Σ√q·‖y‖ ≤ √(p·p₁) and Σ√q ≤ √(n·p)
//
// by Cauchy–Schwarz; up to 64 gains are added in a lane of float32.
class FloatGains {
public:
    FloatGains(std::size_t trials, std::size_t d) : values_(trials * d), length_(trials), d_(d) {}

    template <class T>
    void set(std::size_t c, const T* candidate, const T* first, double fine) {
        double square = 0.0;
        for (std::size_t t = 0; t < d_; ++t) {
            const float value = static_cast<float>(
                (static_cast<double>(candidate[t]) - static_cast<double>(first[t])) * fine);
            values_[c * d_ + t] = value;
            square += static_cast<double>(value) * static_cast<double>(value);
        }
        length_[c] = std::sqrt(square) * (1.0 + 0x1p-20);
    }
    FloatCandidates view(std::size_t count, double unit) const {
        return {values_.data(), length_.data(), d_, count, unit};
    }
    // In units of the data, like the potentials.
    double error(std::size_t c, const FloatLeaves& leaves, double potential, double unit) const {
        constexpr double u = 0x1p-24;
        const double squared = leaves.fine * leaves.fine, n = static_cast<double>(leaves.n);
        const double now = potential * squared, first = leaves.potential * squared,
                     length = length_[c], features = static_cast<double>(d_ + 16);
        const double blur = std::sqrt(now * first) + length * std::sqrt(n * now);
        return 1.1 *
               (now * ((70.0 + features) * u + features * unit) + 2.2 * u * blur +
                10.0 * u * u * (first + n * length * length) + n * 0x1p-100) /
               squared;
    }

private:
    std::vector<float> values_;
    std::vector<double> length_;
    std::size_t d_;
};

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
    FloatLeaves* copy;  // or null

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
    PlusPlusRounds(const KernelTable& table, const Kernels<T>& use, Crew& crew,
                   const SeedingState<T>& state, std::size_t trials)
        : leaf_gains_(table.leaf_gains), use_(use), crew_(crew), state_(state), trials_(trials),
          cumulated_(state.leaves()), gain_(state.leaves() * trials),
          marks_(state.leaves() * trials * kDrawMarkWords), candidate_(trials * state.rows.d),
          drawn_(trials), float_gains_(trials, state.rows.d),
          step_(rows_per_part(crew, state.rows.n)) {}

    // Round j; uniform: one number in [0, 1) for each candidate.
    void run(std::size_t j, const double* uniform) {
        const std::size_t d = state_.rows.d;
        count_ = j ? trials_ : 1;
        draw(uniform, j > 0);
        std::size_t best = 0;
        if (j == 0)  // there is no choice
            std::fill_n(marks_.begin(), state_.leaves() * kDrawMarkWords, ~std::uint64_t{0});
        else if (!has_copy() || !decides_in_float(best)) {
            gain(j);
            best = best_candidate();
        }
        state_.chosen[j] = drawn_[best];
        std::copy_n(candidate_.data() + best * d, d, state_.centers + j * d);
        if (j == 0 && state_.copy)
            choose_first();
        else
            choose(j, best);
    }

private:
    bool has_copy() const { return state_.copy && state_.copy->ready(); }

    void draw(const double* uniform, bool by_distance) {
        const Rows<T>& rows = state_.rows;
        double sum = 0.0;
        for (std::size_t leaf = 0; by_distance && leaf < state_.leaves(); ++leaf)
            cumulated_[leaf] = sum += state_.potential[leaf];
        for (std::size_t c = 0; c < count_; ++c) {
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

    // Chooses the first row, and copies every leaf while it is in the cache.
    void choose_first() {
        const std::size_t d = state_.rows.d;
        parallel_for(crew_, state_.rows.n, step_, use_.seed_scratch(d, 1, 0),
                     [&](std::size_t first, std::size_t last, unsigned char* memory) {
                         for (std::size_t i = first; i < last; i += kDrawLeafRows) {
                             const std::size_t end = std::min(last, i + kDrawLeafRows);
                             choose_in(i, end, 0, 0, {}, memory);
                             use_.fill_leaves({state_.rows.data + i * d, end - i, d}, state_.scale,
                                              state_.centers, state_.closest + i,
                                              state_.copy->from_leaf(i / kDrawLeafRows));
                         }
                     });
        state_.copy->potential = 0.0;
        for (std::size_t leaf = 0; leaf < state_.leaves(); ++leaf)
            state_.copy->potential += state_.potential[leaf];
    }

    // Computes the gains in float32. True if they leave one candidate, `best`; else those that may
    // be the best are left for `gain`.
    bool decides_in_float(std::size_t& best) {
        constexpr double unit = sizeof(T) == 4 ? 0x1p-24 : 0x1p-53;
        const std::size_t d = state_.rows.d;
        FloatLeaves& copy = *state_.copy;
        for (std::size_t c = 0; c < count_; ++c)
            float_gains_.set(c, candidate_.data() + c * d, state_.centers, copy.fine);
        const FloatCandidates candidates = float_gains_.view(count_, unit);
        parallel_for(crew_, state_.rows.n, step_, 0,
                     [&](std::size_t first, std::size_t last, unsigned char*) {
                         leaf_gains_(copy.from_leaf(0), first / kDrawLeafRows,
                                     (last + kDrawLeafRows - 1) / kDrawLeafRows, candidates,
                                     marks_.data(), gain_.data());
                     });
        best = best_candidate();
        const double squared = copy.fine * copy.fine, now = cumulated_.back();
        auto low = [&](std::size_t c) {
            return gain_of(c) / squared - float_gains_.error(c, copy, now, unit);
        };
        auto high = [&](std::size_t c) {
            return gain_of(c) / squared + float_gains_.error(c, copy, now, unit);
        };
        const double least = low(best);
        std::vector<std::size_t> left;
        for (std::size_t c = 0; c < count_; ++c)
            if (!(high(c) < least) && !is_repeated(c)) left.push_back(c);
        copy.note_round(left.size() == 1);
        if (left.size() == 1) return true;
        count_ = left.size();
        for (std::size_t c = 0; c < count_; ++c) {
            drawn_[c] = drawn_[left[c]];
            std::copy_n(candidate_.data() + left[c] * d, d, candidate_.data() + c * d);
        }
        return false;
    }

    // Whether an earlier candidate has the same values, hence the same gain: it is preferred.
    bool is_repeated(std::size_t c) const {
        const std::size_t d = state_.rows.d;
        const T* values = candidate_.data() + c * d;
        for (std::size_t b = 0; b < c; ++b)
            if (std::equal(values, values + d, candidate_.data() + b * d)) return true;
        return false;
    }

    void gain(std::size_t j) {
        const std::size_t d = state_.rows.d;
        parallel_for(crew_, state_.rows.n, step_, use_.seed_scratch(d, count_, j),
                     [&](std::size_t first, std::size_t last, unsigned char* memory) {
                         const std::size_t leaf = first / kDrawLeafRows;
                         use_.seed_gain({state_.rows.data + first * d, last - first, d},
                                        state_.scale, candidate_.data(), count_, weight(first),
                                        state_.closest + first, state_.labels + first,
                                        state_.centers, j, state_.sketch_from(first),
                                        marks_.data() + leaf * count_ * kDrawMarkWords,
                                        gain_.data() + leaf * count_, memory);
                     });
    }

    double gain_of(std::size_t c) const {
        double total = 0.0;
        for (std::size_t leaf = 0; leaf < state_.leaves(); ++leaf)
            total += gain_[leaf * count_ + c];
        return total;
    }

    std::size_t best_candidate() const {
        std::size_t best = 0;
        double most = -1.0;
        for (std::size_t c = 0; c < count_; ++c) {
            const double total = gain_of(c);
            if (total > most) most = total, best = c;
        }
        return best;
    }

    void choose(std::size_t j, std::size_t best) {
        parallel_for(crew_, state_.rows.n, step_, use_.seed_scratch(state_.rows.d, 1, 0),
                     [&](std::size_t first, std::size_t last, unsigned char* memory) {
                         FloatLeavesView copy{};
                         if (has_copy()) copy = state_.copy->from_leaf(first / kDrawLeafRows);
                         choose_in(first, last, j, best, copy, memory);
                     });
    }

    // The same for some rows, of which `copy` begins with the first.
    void choose_in(std::size_t first, std::size_t last, std::size_t j, std::size_t best,
                   const FloatLeavesView& copy, unsigned char* memory) {
        const std::size_t d = state_.rows.d, leaf = first / kDrawLeafRows;
        use_.seed_choose({state_.rows.data + first * d, last - first, d}, state_.scale,
                         candidate_.data() + best * d, weight(first),
                         marks_.data() + leaf * count_ * kDrawMarkWords, count_, best,
                         state_.closest + first, state_.labels + first,
                         static_cast<std::int32_t>(j), state_.sketch_from(first), copy,
                         state_.potential + leaf, memory);
    }

    const double* weight(std::size_t row) const {
        return state_.weight ? state_.weight + row : nullptr;
    }

    decltype(KernelTable::leaf_gains) leaf_gains_;
    const Kernels<T>& use_;
    Crew& crew_;
    const SeedingState<T>& state_;
    std::size_t trials_, count_ = 1;  // candidates of a round; of the present one
    std::vector<double> cumulated_, gain_;
    std::vector<std::uint64_t> marks_;
    std::vector<T> candidate_;
    std::vector<std::int64_t> drawn_;
    FloatGains float_gains_;
    std::size_t step_;
};

}  // namespace partita
