// The pass over a k-d tree (filtering algorithm, Kanungo et al. 2002): for each leaf, the few
// candidate centers that can be nearest to a point of its box, and dense vectors of rows against
// those.
//
// In a box with middle b and half-widths h, center j is nowhere nearer than center a if
//
//     ½‖c_j‖² − b·c_j − (½‖c_a‖² − b·c_a) − Σ_t |c_jt − c_at|·h_t > 0
//
// which is half the difference of squared distances at the worst corner of the box. This holds for
// any a; the center nearest to b prunes best. Computed in double, with a margin for the rounding.
#pragma once

#include "exact_distance.hpp"
#include "exact_sums.hpp"

namespace partita::PARTITA_ISA {

// Candidate centers of a box, feature by feature, padded to a whole vector with centers at
// infinity.
struct CandidateSet {
    const double* value;        // (d + 1, room)
    const std::int32_t* which;  // (count), ascending
    std::size_t count, room;
};

// Memory for a candidate set, padded to a whole vector; `value` is null if only indices are stored.
struct CandidateBuffer {
    double* value;
    std::int32_t* which;
    std::size_t room;
};

// Rounding error of the test per unit of ‖y‖² + ½‖c_j‖² + ½‖c_a‖²: a few roundings per feature. One
// far center does not widen the margin of the others.
PARTITA_INLINE double box_share(std::size_t d) {
    return 0x1p-41 * (1.0 + static_cast<double>(d) / 64.0);
}

PARTITA_INLINE double box_reach(const double* middle, const double* half, std::size_t d) {
    double reach = 0;
    for (std::size_t t = 0; t < d; ++t) reach += __builtin_fabs(middle[t]) + half[t];
    return reach * reach;
}

// The centers of `from` that may be nearest to a point of the box. D: number of features, 0: any.
template <std::size_t D>
CandidateSet filter_candidates(const CandidateSet& from, const double* middle, const double* half,
                               std::size_t features, const CandidateBuffer& to,
                               double* score) {  // scratch: (room of from)
    using S = Simd<double>;
    const std::size_t room = from.room, d = D ? D : features;
    const double* const squares = from.value + d * room;
    S::Reg low = S::set1(__builtin_inf());
    S::IntReg arg = S::set1_int(0);
    for (std::size_t j = 0; j < from.count; j += S::width) {
        S::Reg s = S::widen(squares + j);
        for (std::size_t t = 0; t < d; ++t)
            s = S::fnmadd(S::set1(middle[t]), S::widen(from.value + t * room + j), s);
        S::store(score + j, s);
        arg = S::select(S::less(s, low), S::set1_int(static_cast<std::int64_t>(j)), arg);
        low = S::min(s, low);
    }
    alignas(64) std::int64_t args[S::width];
    S::store_int(args, arg);
    const std::size_t lane = lowest_lane(low), a = static_cast<std::size_t>(args[lane]) + lane;
    const double share = box_share(d);
    const S::Reg own_share = S::set1(share);
    const S::Reg threshold = S::set1(score[a] + share * (box_reach(middle, half, d) + squares[a]));
    std::size_t kept = 0;
    for (std::size_t j = 0; j < from.count; j += S::width) {
        S::Reg s = S::fnmadd(own_share, S::widen(squares + j), S::load(score + j));
        for (std::size_t t = 0; t < d; ++t) {
            const S::Reg c = S::widen(from.value + t * room + j);
            const S::Reg own = S::set1(from.value[t * room + a]);
            s = S::fnmadd(S::max(S::sub(c, own), S::sub(own, c)), S::set1(half[t]), s);
        }
        const std::uint32_t near =  // NaN remains a candidate
            ~S::bits(S::less(threshold, s)) & first_bits(S::width) & first_bits(from.count - j);
        compress(from.which + j, near, to.which + kept);
        if (to.value)
            for (std::size_t t = 0; t <= d; ++t)
                compress(from.value + t * room + j, near, to.value + t * to.room + kept);
        kept += static_cast<std::size_t>(__builtin_popcount(near));
    }
    for (std::size_t e = kept; to.value && e % S::width; ++e) {
        for (std::size_t t = 0; t < d; ++t) to.value[t * to.room + e] = 0.0;
        to.value[d * to.room + e] = __builtin_inf();
    }
    return {to.value, to.which, kept, to.room};
}

template <class R>
class LeafPass {
public:
    LeafPass(const TreeView& tree, const TreeCenters& centers, const ExactView& exact,
             const Rows<R>& rows, std::int32_t* label, const TreeMemory& remembered,
             const SumView* sums, unsigned char* memory)
        : tree_(tree), centers_(centers), exact_(exact), rows_(rows), label_(label),
          remembered_(remembered), sums_(sums), s_(memory, centers.padded, exact.d, tree.levels),
          accumulator_(sums ? *sums : none_, s_.sum_scratch) {}

    static std::size_t bytes(std::size_t padded, std::size_t d, std::size_t levels) {
        return Scratch(nullptr, padded, d, levels).used + RowAccumulator<R>::bytes(d);
    }

    // Nodes first…last−1.
    PrunedCounts run(std::size_t first, std::size_t last) {
        for (std::size_t j = 0; j < centers_.k; ++j) s_.every[j] = static_cast<std::int32_t>(j);
        const CandidateSet all{centers_.values, s_.every, centers_.k, centers_.padded};
        CandidateSet above[kMaxLevels];
        for (std::size_t node = first; node < last; ++node) {
            const CandidateSet* from = &all;  // candidates of the enclosing box
            for (std::size_t level = tree_.levels; --level > kNodeLevel; from = &above[level]) {
                const std::size_t shift = 2 * (level - kNodeLevel), box = node >> shift;
                if (node == first || box << shift == node)
                    above[level] = filter(*from, level, box, s_.near[level]);
            }
            const CandidateSet near = filter(*from, kNodeLevel, node, s_.near[kNodeLevel]);
            if (unchanged(remembered_.nodes[node], near)) continue;
            for (std::size_t e = 0; e < kNodeLeaves; e += kBoxFan) {
                const std::size_t leaf = node * kNodeLeaves + e;
                if (leaf >= tree_.leaves) break;
                const CandidateSet group = filter(near, 1, leaf / kBoxFan, s_.near[1]);
                for (std::size_t i = leaf; i < leaf + kBoxFan && i < tree_.leaves; ++i)
                    visit_leaf(i, group);
            }
        }
        if (sums_) accumulator_.flush();
        return counts_;
    }

private:
    struct Scratch {
        double* score;
        CandidateBuffer near[kMaxLevels];  // of each level; for leaves, indices only
        float *y, *middle, *local;
        std::int32_t* every;
        unsigned char* sum_scratch;
        std::size_t used;

        Scratch(unsigned char* memory, std::size_t k, std::size_t d, std::size_t levels) {
            ScratchArena arena(memory);
            auto buffer = [&arena, k](std::size_t values) {
                double* value = values ? arena.take<double>(k * values) : nullptr;
                return CandidateBuffer{value, arena.take<std::int32_t>(k), k};
            };
            score = arena.take<double>(k);
            for (std::size_t level = 0; level < levels; ++level)
                near[level] = buffer(level ? d + 1 : 0);
            y = arena.take<float>(2 * Simd<float>::width * d);
            middle = arena.take<float>(d);
            local = arena.take<float>(k * (d + 1));
            every = arena.take<std::int32_t>(k);
            sum_scratch = arena.take<unsigned char>(0);
            used = arena.used();
        }
    };

    CandidateSet filter(const CandidateSet& from, std::size_t level, std::size_t box,
                        const CandidateBuffer& to) {
        const BoxView& boxes = tree_.boxes[level];
        const double *middle = boxes.middle + box * tree_.d, *half = boxes.half + box * tree_.d;
        switch (tree_.d) {
            case 1: return filter_candidates<1>(from, middle, half, 1, to, s_.score);
            case 2: return filter_candidates<2>(from, middle, half, 2, to, s_.score);
            case 3: return filter_candidates<3>(from, middle, half, 3, to, s_.score);
            case 4: return filter_candidates<4>(from, middle, half, 4, to, s_.score);
            default: return filter_candidates<0>(from, middle, half, tree_.d, to, s_.score);
        }
    }

    void visit_leaf(std::size_t leaf, const CandidateSet& near) {
        const std::size_t d = tree_.d;
        const CandidateSet candidates = filter(near, 0, leaf, s_.near[0]);
        if (unchanged(remembered_.leaves[leaf], candidates)) return;
        const std::size_t first = static_cast<std::size_t>(tree_.begin[leaf]);
        const std::size_t last = static_cast<std::size_t>(tree_.begin[leaf + 1]);
        counts_.measured += static_cast<std::int64_t>(last - first);
        if (candidates.count == 1) {
            for (std::size_t i = first; i < last; ++i) set_label(i, candidates.which[0]);
            return;
        }
        counts_.scanned_rows += static_cast<std::int64_t>(last - first);
        counts_.scanned_pairs += static_cast<std::int64_t>((last - first) * candidates.count);
        const BoxView& box = tree_.boxes[0];
        score_leaf(first, last, candidates,
                   make_local_centers(candidates, box.middle + leaf * d, box.half + leaf * d));
    }

    // Candidate centers relative to the middle of the box, so that float32 needs only the digits of
    // the box's width. Returns the margin: below it, the lower of two scores is not known.
    //     y, c: rounded to float32    h, C: lengths of the box and of the centers from its middle
    //     score: γ(hC + C²)    rounding of y: 2⁻²³‖y‖·C    D64: η(‖y‖ + C)²
    float make_local_centers(const CandidateSet& candidates, const double* middle,
                             const double* half) {
        const std::size_t d = tree_.d;
        double reach = 0, width = 0, longest = 0;
        for (std::size_t t = 0; t < d; ++t) {
            const double side = __builtin_fabs(middle[t]) + half[t];
            reach += side * side;
            width += half[t] * half[t];
            s_.middle[t] = static_cast<float>(middle[t]);
        }
        for (std::size_t e = 0; e < candidates.count; ++e) {
            float* local = s_.local + e * (d + 1);
            double square = 0;
            for (std::size_t t = 0; t < d; ++t) {
                const std::size_t at =
                    t * centers_.padded + static_cast<std::size_t>(candidates.which[e]);
                const double v = centers_.values[at] - static_cast<double>(s_.middle[t]);
                square += v * v;
                local[t + 1] = static_cast<float>(v);
            }
            local[0] = static_cast<float>(0.5 * square);
            longest = square > longest ? square : longest;
        }
        reach = __builtin_sqrt(reach) * 1.001, longest = __builtin_sqrt(longest) * 1.001;
        width = __builtin_sqrt(width) * 1.001 + 0x1p-23 * reach;
        const double gamma = static_cast<double>(d + 10) * 0x1p-24;
        const double eta = static_cast<double>(d + 10) * 0x1p-52;
        const double error = gamma * (width * longest + longest * longest) +
                             0x1p-23 * reach * longest +
                             eta * (reach + longest) * (reach + longest) + 0x1p-120;
        return static_cast<float>(4 * error);
    }

    // True if none of the previous and the present candidates has moved: then no label changes
    // either. Stores the present candidates.
    template <class Memory>
    bool unchanged(Memory& before, const CandidateSet& near) const {
        const std::size_t was = static_cast<std::size_t>(before.count);
        const std::size_t most = sizeof(before.near) / sizeof(before.near[0]);
        bool same = was > 0 && was <= most && near.count <= most;
        if (same && !(was == 1 && near.count == 1 && before.near[0] == near.which[0])) {
            std::uint32_t moved = 0;
            for (std::size_t e = 0; e < was; ++e) moved |= centers_.moved[before.near[e]];
            for (std::size_t e = 0; e < near.count; ++e) moved |= centers_.moved[near.which[e]];
            same = moved == 0;
        }
        before.count = static_cast<std::int32_t>(near.count);
        for (std::size_t e = 0; e < near.count && e < most; ++e) before.near[e] = near.which[e];
        return same;
    }

    void score_leaf(std::size_t first, std::size_t last, const CandidateSet& candidates,
                    float margin) {
        switch (tree_.d) {
            case 1: return score<1>(first, last, candidates, margin);
            case 2: return score<2>(first, last, candidates, margin);
            case 3: return score<3>(first, last, candidates, margin);
            case 4: return score<4>(first, last, candidates, margin);
            default: return score<0>(first, last, candidates, margin);
        }
    }

    // Two vectors of rows against the candidates. D: number of features, 0: any.
    template <std::size_t D>
    void score(std::size_t first, std::size_t last, const CandidateSet& candidates, float margin) {
        using S = Simd<float>;
        constexpr std::size_t W = 2 * S::width;
        const std::size_t d = D ? D : tree_.d;
        alignas(64) float best[W], second[W];
        alignas(64) std::int32_t nearest[W];
        for (std::size_t i = first; i < last; i += W) {
            const std::size_t m = last - i < W ? last - i : W;
            for (std::size_t t = 0; t < d; ++t) {
                const float* at = tree_.values + t * tree_.n + i;
                const float b = s_.middle[t];
                if (m == W)
                    for (std::size_t r = 0; r < W; ++r) s_.y[t * W + r] = at[r] - b;
                else
                    for (std::size_t r = 0; r < W; ++r) s_.y[t * W + r] = at[r < m ? r : 0] - b;
            }
            S::Reg low[2], low2[2];
            S::IntReg arg[2];
            for (int v = 0; v < 2; ++v) {
                low[v] = low2[v] = S::set1(static_cast<float>(__builtin_inf()));
                arg[v] = S::set1_int(0);
            }
            for (std::size_t e = 0; e < candidates.count; ++e) {
                const float* c = s_.local + e * (d + 1);
                S::Reg acc[2] = {S::set1(c[0]), S::set1(c[0])};
                for (std::size_t t = 0; t < d; ++t) {
                    const S::Reg b = S::set1(c[t + 1]);
                    acc[0] = S::fnmadd(b, S::load(s_.y + t * W), acc[0]);
                    acc[1] = S::fnmadd(b, S::load(s_.y + t * W + S::width), acc[1]);
                }
                const S::IntReg id = S::set1_int(candidates.which[e]);
                for (int v = 0; v < 2; ++v) {
                    const S::Mask closer = S::less(acc[v], low[v]);
                    low2[v] = S::min(low2[v], S::max(low[v], acc[v]));
                    low[v] = S::min(low[v], acc[v]);
                    arg[v] = S::select(closer, id, arg[v]);
                }
            }
            for (int v = 0; v < 2; ++v) {
                S::store(best + static_cast<std::size_t>(v) * S::width, low[v]);
                S::store(second + static_cast<std::size_t>(v) * S::width, low2[v]);
                S::store_int(nearest + static_cast<std::size_t>(v) * S::width, arg[v]);
            }
            std::int32_t changed = 0;
            for (std::size_t r = 0; r < m; ++r)
                changed |= (nearest[r] ^ label_[i + r]) | (second[r] - best[r] > margin ? 0 : 1);
            if (!changed) continue;
            for (std::size_t r = 0; r < m; ++r)
                set_label(i + r, second[r] - best[r] > margin ? nearest[r]
                                                              : decide_by_d64(i + r, candidates));
        }
    }

    std::int32_t decide_by_d64(std::size_t i, const CandidateSet& candidates) {
        ++counts_.candidates;
        const R* x = rows_.data + static_cast<std::size_t>(tree_.order[i]) * rows_.d;
        double low = __builtin_inf();
        std::int32_t label = candidates.which[0];
        for (std::size_t e = 0; e < candidates.count; ++e) {  // ascending: lower index on ties
            const double square =
                exact_distance(exact_, x, static_cast<std::size_t>(candidates.which[e]));
            if (square < low) low = square, label = candidates.which[e];
        }
        return label;
    }

    void set_label(std::size_t i, std::int32_t now) {
        const std::int32_t before = label_[i];
        if (before == now) return;
        const std::size_t row = static_cast<std::size_t>(tree_.order[i]);
        if (sums_) accumulator_.push(rows_.data + row * rows_.d, row, before, now);
        label_[i] = now;
        ++counts_.moved;
    }

    const TreeView& tree_;
    const TreeCenters& centers_;
    const ExactView& exact_;
    const Rows<R>& rows_;
    std::int32_t* label_;
    const TreeMemory& remembered_;
    const SumView* sums_;
    const SumView none_{};
    Scratch s_;
    RowAccumulator<R> accumulator_;
    PrunedCounts counts_{};
};

template <class R>
PrunedCounts assign_leaves(const TreeView& tree, const TreeCenters& centers, const ExactView& exact,
                           const Rows<R>& rows, std::size_t first, std::size_t last,
                           std::int32_t* label, const TreeMemory& remembered, const SumView* sums,
                           unsigned char* memory) {
    return LeafPass<R>(tree, centers, exact, rows, label, remembered, sums, memory)
        .run(first, last);
}

}  // namespace partita::PARTITA_ISA
