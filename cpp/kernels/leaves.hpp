// The pass over a tree: for each leaf the few centers that can be nearest to anything in its box,
// and dense vectors of rows against those.
//
// In a box with middle b and half-widths h, center j is nowhere nearer than center a if
//
//     ½‖c_j‖² − b·c_j − (½‖c_a‖² − b·c_a) − Σ_t |c_jt − c_at|·h_t > 0
//
// which is the value, at the box's worst corner, of half the difference of squared distances. Any a
// is right; the one nearest to b prunes best. All of it in double, with a margin for its rounding.
#pragma once

#include "exact.hpp"
#include "moments.hpp"

namespace partita::PARTITA_ISA {

// Centers under consideration, coordinates side by side; up to a whole vector, centers infinitely
// far away follow them.
struct Nearby {
    const double* value;        // (d + 1, room)
    const std::int32_t* which;  // (count), ascending
    std::size_t count, room;
};

// Room for a choice of them, up to a whole vector; without room for values, of their numbers alone.
struct Choice {
    double* value;
    std::int32_t* which;
    std::size_t room;
};

// What rounding may add to the test, per unit of ‖y‖² + ½‖c_j‖² + ½‖c_a‖²: a few roundings for each
// feature. One far center widens nobody else's margin.
PARTITA_INLINE double box_share(std::size_t d) {
    return 0x1p-41 * (1.0 + static_cast<double>(d) / 64.0);
}

PARTITA_INLINE double box_reach(const double* middle, const double* half, std::size_t d) {
    double reach = 0;
    for (std::size_t t = 0; t < d; ++t) reach += __builtin_fabs(middle[t]) + half[t];
    return reach * reach;
}

// The centers of `from` that may be nearest to something in the box. D: the number of features, 0 for
// any.
template <std::size_t D>
Nearby keep_near(const Nearby& from, const double* middle, const double* half, std::size_t features,
                 const Choice& to,
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
    const S::Reg bar = S::set1(score[a] + share * (box_reach(middle, half, d) + squares[a]));
    std::size_t kept = 0;
    for (std::size_t j = 0; j < from.count; j += S::width) {
        S::Reg s = S::fnmadd(own_share, S::widen(squares + j), S::load(score + j));
        for (std::size_t t = 0; t < d; ++t) {
            const S::Reg c = S::widen(from.value + t * room + j);
            const S::Reg own = S::set1(from.value[t * room + a]);
            s = S::fnmadd(S::max(S::sub(c, own), S::sub(own, c)), S::set1(half[t]), s);
        }
        const std::uint32_t near =  // NaN stays
            ~S::bits(S::less(bar, s)) & first_bits(S::width) & first_bits(from.count - j);
        squeeze(from.which + j, near, to.which + kept);
        if (to.value)
            for (std::size_t t = 0; t <= d; ++t)
                squeeze(from.value + t * room + j, near, to.value + t * to.room + kept);
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
          folder_(sums ? *sums : none_, s_.fold) {}

    static std::size_t bytes(std::size_t padded, std::size_t d, std::size_t levels) {
        return Scratch(nullptr, padded, d, levels).used + Folder<R>::bytes(d);
    }

    // Nodes first…last.
    Pruned run(std::size_t first, std::size_t last) {
        for (std::size_t j = 0; j < centers_.k; ++j) s_.every[j] = static_cast<std::int32_t>(j);
        const Nearby all{centers_.values, s_.every, centers_.k, centers_.padded};
        Nearby above[kMostLevels];
        for (std::size_t node = first; node < last; ++node) {
            const Nearby* from = &all;  // what is near the boxes around this one
            for (std::size_t level = tree_.levels; --level > kNodeLevel; from = &above[level]) {
                const std::size_t shift = 2 * (level - kNodeLevel), box = node >> shift;
                if (node == first || box << shift == node)
                    above[level] = keep(*from, level, box, s_.near[level]);
            }
            const Nearby near = keep(*from, kNodeLevel, node, s_.near[kNodeLevel]);
            if (unchanged(remembered_.nodes[node], near)) continue;
            for (std::size_t e = 0; e < kNodeLeaves; e += kFan) {
                const std::size_t leaf = node * kNodeLeaves + e;
                if (leaf >= tree_.leaves) break;
                const Nearby some = keep(near, 1, leaf / kFan, s_.near[1]);
                for (std::size_t i = leaf; i < leaf + kFan && i < tree_.leaves; ++i) visit(i, some);
            }
        }
        if (sums_) folder_.flush();
        return done_;
    }

private:
    struct Scratch {
        double* score;
        Choice near[kMostLevels];  // of each level; of leaves, numbers alone
        float *y, *middle, *local;
        std::int32_t* every;
        unsigned char* fold;
        std::size_t used;

        Scratch(unsigned char* memory, std::size_t k, std::size_t d, std::size_t levels) {
            Knife knife(memory);
            auto choice = [&knife, k](std::size_t values) {
                double* value = values ? knife.cut<double>(k * values) : nullptr;
                return Choice{value, knife.cut<std::int32_t>(k), k};
            };
            score = knife.cut<double>(k);
            for (std::size_t level = 0; level < levels; ++level)
                near[level] = choice(level ? d + 1 : 0);
            y = knife.cut<float>(2 * Simd<float>::width * d);
            middle = knife.cut<float>(d);
            local = knife.cut<float>(k * (d + 1));
            every = knife.cut<std::int32_t>(k);
            fold = knife.cut<unsigned char>(0);
            used = knife.used();
        }
    };

    Nearby keep(const Nearby& from, std::size_t level, std::size_t box, const Choice& to) {
        const BoxView& boxes = tree_.boxes[level];
        const double *middle = boxes.middle + box * tree_.d, *half = boxes.half + box * tree_.d;
        switch (tree_.d) {
            case 1: return keep_near<1>(from, middle, half, 1, to, s_.score);
            case 2: return keep_near<2>(from, middle, half, 2, to, s_.score);
            case 3: return keep_near<3>(from, middle, half, 3, to, s_.score);
            case 4: return keep_near<4>(from, middle, half, 4, to, s_.score);
            default: return keep_near<0>(from, middle, half, tree_.d, to, s_.score);
        }
    }

    void visit(std::size_t leaf, const Nearby& near) {
        const std::size_t d = tree_.d;
        const Nearby few = keep(near, 0, leaf, s_.near[0]);
        if (unchanged(remembered_.leaves[leaf], few)) return;
        const std::size_t first = static_cast<std::size_t>(tree_.begin[leaf]);
        const std::size_t last = static_cast<std::size_t>(tree_.begin[leaf + 1]);
        done_.measured += static_cast<std::int64_t>(last - first);
        if (few.count == 1) {
            for (std::size_t i = first; i < last; ++i) settle(i, few.which[0]);
            return;
        }
        done_.met += static_cast<std::int64_t>(last - first);
        done_.scanned += static_cast<std::int64_t>((last - first) * few.count);
        const BoxView& box = tree_.boxes[0];
        score_leaf(first, last, few, localise(few, box.middle + leaf * d, box.half + leaf * d));
    }

    // Near centers relative to the middle of the box, so that float32 need not hold more digits than
    // the box is wide; and what two scores may differ by without saying which is lower.
    //     y, c: as rounded to float32    h, C: lengths of the box and of the centers from its middle
    //     score: γ(hC + C²)    rounding of y: 2⁻²³‖y‖·C    D64: η(‖y‖ + C)²
    float localise(const Nearby& few, const double* middle, const double* half) {
        const std::size_t d = tree_.d;
        double reach = 0, width = 0, longest = 0;
        for (std::size_t t = 0; t < d; ++t) {
            const double side = __builtin_fabs(middle[t]) + half[t];
            reach += side * side;
            width += half[t] * half[t];
            s_.middle[t] = static_cast<float>(middle[t]);
        }
        for (std::size_t e = 0; e < few.count; ++e) {
            float* local = s_.local + e * (d + 1);
            double square = 0;
            for (std::size_t t = 0; t < d; ++t) {
                const std::size_t at = t * centers_.padded + static_cast<std::size_t>(few.which[e]);
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

    // No center that was near, and none that is near now, has moved: nor has any label. Remembers
    // those that are near now.
    template <class Memory>
    bool unchanged(Memory& before, const Nearby& near) const {
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

    void score_leaf(std::size_t first, std::size_t last, const Nearby& few, float doubt) {
        switch (tree_.d) {
            case 1: return score<1>(first, last, few, doubt);
            case 2: return score<2>(first, last, few, doubt);
            case 3: return score<3>(first, last, few, doubt);
            case 4: return score<4>(first, last, few, doubt);
            default: return score<0>(first, last, few, doubt);
        }
    }

    // Two vectors of rows against the near centers at a time. D: the number of features, 0 for any.
    template <std::size_t D>
    void score(std::size_t first, std::size_t last, const Nearby& few, float doubt) {
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
            for (std::size_t e = 0; e < few.count; ++e) {
                const float* c = s_.local + e * (d + 1);
                S::Reg acc[2] = {S::set1(c[0]), S::set1(c[0])};
                for (std::size_t t = 0; t < d; ++t) {
                    const S::Reg b = S::set1(c[t + 1]);
                    acc[0] = S::fnmadd(b, S::load(s_.y + t * W), acc[0]);
                    acc[1] = S::fnmadd(b, S::load(s_.y + t * W + S::width), acc[1]);
                }
                const S::IntReg id = S::set1_int(few.which[e]);
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
            std::int32_t news = 0;
            for (std::size_t r = 0; r < m; ++r)
                news |= (nearest[r] ^ label_[i + r]) | (second[r] - best[r] > doubt ? 0 : 1);
            if (!news) continue;
            for (std::size_t r = 0; r < m; ++r)
                settle(i + r, second[r] - best[r] > doubt ? nearest[r] : decide_among(i + r, few));
        }
    }

    std::int32_t decide_among(std::size_t i, const Nearby& few) {
        ++done_.candidates;
        const R* x = rows_.data + static_cast<std::size_t>(tree_.order[i]) * rows_.d;
        double low = __builtin_inf();
        std::int32_t label = few.which[0];
        for (std::size_t e = 0; e < few.count; ++e) {  // ascending: the lower index on ties
            const double square = exact_distance(exact_, x, static_cast<std::size_t>(few.which[e]));
            if (square < low) low = square, label = few.which[e];
        }
        return label;
    }

    void settle(std::size_t i, std::int32_t now) {
        const std::int32_t before = label_[i];
        if (before == now) return;
        const std::size_t row = static_cast<std::size_t>(tree_.order[i]);
        if (sums_) folder_.push(rows_.data + row * rows_.d, row, before, now);
        label_[i] = now;
        ++done_.moved;
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
    Folder<R> folder_;
    Pruned done_{};
};

template <class R>
Pruned assign_leaves(const TreeView& tree, const TreeCenters& centers, const ExactView& exact,
                     const Rows<R>& rows, std::size_t first, std::size_t last, std::int32_t* label,
                     const TreeMemory& remembered, const SumView* sums, unsigned char* memory) {
    return LeafPass<R>(tree, centers, exact, rows, label, remembered, sums, memory)
        .run(first, last);
}

}  // namespace partita::PARTITA_ISA
