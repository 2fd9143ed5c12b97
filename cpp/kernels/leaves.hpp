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

#include "bounds.hpp"

namespace partita::PARTITA_ISA {

// Centers under consideration, coordinates side by side.
struct Nearby {
    double* value;       // (d + 1, room)
    double* score;       // (room)
    std::int32_t* which;  // (room), ascending
    std::size_t count, room;
};

PARTITA_INLINE double box_margin(const double* middle, const double* half, std::size_t d,
                                 double longest) {
    double reach = longest;
    for (std::size_t t = 0; t < d; ++t) reach += __builtin_fabs(middle[t]) + half[t];
    return 0x1p-44 * reach * reach;  // some dozens of roundings of terms below reach²
}

// Keeps the centers of `from` that may be nearest to something in the box.
inline void keep_near(const Nearby& from, const double* middle, const double* half, std::size_t d,
                      double margin, Nearby& to) {
    const std::size_t m = from.count, room = from.room;
    double* __restrict score = from.score;
    const double* __restrict norm = from.value + d * room;
    for (std::size_t j = 0; j < m; ++j) score[j] = norm[j];
    for (std::size_t t = 0; t < d; ++t) {
        const double* __restrict c = from.value + t * room;
        const double b = middle[t];
        for (std::size_t j = 0; j < m; ++j) score[j] -= b * c[j];
    }
    double best = __builtin_inf();
    std::size_t a = 0;
    for (std::size_t j = 0; j < m; ++j)
        if (score[j] < best) best = score[j], a = j;
    for (std::size_t t = 0; t < d; ++t) {
        const double* __restrict c = from.value + t * room;
        const double own = c[a], h = half[t];
        for (std::size_t j = 0; j < m; ++j) score[j] -= __builtin_fabs(c[j] - own) * h;
    }
    const double bar = best + margin;
    std::size_t kept = 0;
    for (std::size_t j = 0; j < m; ++j) {
        if (score[j] > bar) continue;  // NaN stays
        to.which[kept] = from.which[j];
        for (std::size_t t = 0; t <= d; ++t) to.value[t * to.room + kept] = from.value[t * room + j];
        ++kept;
    }
    to.count = kept;
}

template <class R>
class LeafPass {
public:
    LeafPass(const TreeView& tree, const TreeCenters& centers, const ExactView& exact,
             const Rows<R>& rows, std::int32_t* label, LeafMemory* memory_of, const SumView* sums,
             unsigned char* memory)
        : tree_(tree), centers_(centers), exact_(exact), rows_(rows), label_(label),
          remembered_(memory_of), sums_(sums), s_(memory, exact.k, exact.d),
          folder_(sums ? *sums : none_, s_.fold) {}

    static std::size_t bytes(std::size_t k, std::size_t d) {
        return Scratch(nullptr, k, d).used + Folder<R>::bytes(d);
    }

    Pruned run(std::size_t first, std::size_t last) {
        const std::size_t d = tree_.d, k = centers_.k;
        Nearby all{const_cast<double*>(centers_.values), s_.score, s_.every, k, k};
        for (std::size_t j = 0; j < k; ++j) s_.every[j] = static_cast<std::int32_t>(j);
        for (std::size_t node = first; node < last; ++node) {
            const double *middle = tree_.node_middle + node * d, *half = tree_.node_half + node * d;
            Nearby near{s_.near, s_.score, s_.near_which, 0, k};
            keep_near(all, middle, half, d, box_margin(middle, half, d, centers_.longest), near);
            const std::size_t begin = node * tree_.node_leaves;
            const std::size_t end = begin + tree_.node_leaves < tree_.leaves
                                        ? begin + tree_.node_leaves
                                        : tree_.leaves;
            for (std::size_t leaf = begin; leaf < end; ++leaf) visit(leaf, near);
        }
        if (sums_) folder_.flush();
        return done_;
    }

private:
    struct Scratch {
        double *score, *near, *few;
        float* y;
        std::int32_t *every, *near_which, *few_which;
        unsigned char* fold;
        std::size_t used;

        Scratch(unsigned char* memory, std::size_t k, std::size_t d) {
            used = 0;
            auto cut = [this, memory](std::size_t size) {
                unsigned char* piece = memory ? memory + used : nullptr;
                used += aligned(size);
                return piece;
            };
            score = reinterpret_cast<double*>(cut(8 * k));
            near = reinterpret_cast<double*>(cut(8 * k * (d + 1)));
            few = reinterpret_cast<double*>(cut(8 * k * (d + 1)));
            y = reinterpret_cast<float*>(cut(8 * Simd<float>::width * d));
            every = reinterpret_cast<std::int32_t*>(cut(4 * k));
            near_which = reinterpret_cast<std::int32_t*>(cut(4 * k));
            few_which = reinterpret_cast<std::int32_t*>(cut(4 * k));
            fold = cut(0);
        }
    };

    void visit(std::size_t leaf, const Nearby& near) {
        const std::size_t d = tree_.d;
        const double *middle = tree_.middle + leaf * d, *half = tree_.half + leaf * d;
        Nearby few{s_.few, s_.score, s_.few_which, 0, centers_.k};
        keep_near(near, middle, half, d, box_margin(middle, half, d, centers_.longest), few);
        const bool same = settled(remembered_[leaf], few);
        remember(remembered_[leaf], few);
        if (same) return;
        const std::size_t first = static_cast<std::size_t>(tree_.begin[leaf]);
        const std::size_t last = static_cast<std::size_t>(tree_.begin[leaf + 1]);
        done_.measured += static_cast<std::int64_t>(last - first);
        if (few.count == 1) {
            for (std::size_t i = first; i < last; ++i) settle(i, few.which[0]);
            return;
        }
        done_.scanned += static_cast<std::int64_t>((last - first) * few.count);
        double reach = 0;
        for (std::size_t t = 0; t < d; ++t) {
            const double side = __builtin_fabs(middle[t]) + half[t];
            reach += side * side;
        }
        score_leaf(first, last, few, static_cast<float>(__builtin_sqrt(reach) * 1.0001));
    }

    // No center that was near, and none that is near now, has moved: nor has any label.
    bool settled(const LeafMemory& before, const Nearby& few) const {
        if (before.count < 1 || before.count > static_cast<std::int32_t>(kRemembered)) return false;
        if (few.count == 1 && before.count == 1 && before.near[0] == few.which[0]) return true;
        if (few.count > kRemembered) return false;
        std::uint32_t moved = 0;
        for (std::int32_t e = 0; e < before.count; ++e) moved |= centers_.moved[before.near[e]];
        for (std::size_t e = 0; e < few.count; ++e) moved |= centers_.moved[few.which[e]];
        return moved == 0;
    }

    static void remember(LeafMemory& memory, const Nearby& few) {
        memory.count = static_cast<std::int32_t>(few.count);
        for (std::size_t e = 0; e < few.count && e < kRemembered; ++e) memory.near[e] = few.which[e];
    }

    void score_leaf(std::size_t first, std::size_t last, const Nearby& few, float reach) {
        switch (tree_.d) {
            case 1: return score<1>(first, last, few, reach);
            case 2: return score<2>(first, last, few, reach);
            case 3: return score<3>(first, last, few, reach);
            case 4: return score<4>(first, last, few, reach);
            default: return score<0>(first, last, few, reach);
        }
    }

    // Two vectors of rows against the near centers at a time. D: the number of features, 0 for any.
    template <std::size_t D>
    void score(std::size_t first, std::size_t last, const Nearby& few, float reach) {
        using S = Simd<float>;
        constexpr std::size_t W = 2 * S::width;
        const std::size_t d = D ? D : tree_.d;
        float doubt = 0;
        for (std::size_t e = 0; e < few.count; ++e) {
            const float own = centers_.slope[few.which[e]] * reach + centers_.slack[few.which[e]];
            doubt = own > doubt ? own : doubt;
        }
        doubt = 4 * (doubt + reach * reach * centers_.own_error);
        alignas(64) float best[W], second[W];
        alignas(64) std::int32_t nearest[W];
        for (std::size_t i = first; i < last; i += W) {
            const std::size_t m = last - i < W ? last - i : W;
            for (std::size_t t = 0; t < d; ++t) {
                const float* at = tree_.values + t * tree_.n + i;
                if (m == W)
                    for (std::size_t r = 0; r < W; ++r) s_.y[t * W + r] = at[r];
                else
                    for (std::size_t r = 0; r < W; ++r) s_.y[t * W + r] = at[r < m ? r : 0];
            }
            S::Reg low[2], low2[2];
            S::IntReg arg[2];
            for (int v = 0; v < 2; ++v) {
                low[v] = low2[v] = S::set1(static_cast<float>(__builtin_inf()));
                arg[v] = S::set1_int(0);
            }
            for (std::size_t e = 0; e < few.count; ++e) {
                const std::int32_t j = few.which[e];
                const float* c = centers_.scores + static_cast<std::size_t>(j) * (d + 1);
                S::Reg acc[2] = {S::set1(c[0]), S::set1(c[0])};
                for (std::size_t t = 0; t < d; ++t) {
                    const S::Reg b = S::set1(c[t + 1]);
                    acc[0] = S::fnmadd(b, S::load(s_.y + t * W), acc[0]);
                    acc[1] = S::fnmadd(b, S::load(s_.y + t * W + S::width), acc[1]);
                }
                const S::IntReg id = S::set1_int(j);
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
    LeafMemory* remembered_;
    const SumView* sums_;
    const SumView none_{};
    Scratch s_;
    Folder<R> folder_;
    Pruned done_{0, 0, 0, 0};
};

template <class R>
Pruned assign_leaves(const TreeView& tree, const TreeCenters& centers, const ExactView& exact,
                     const Rows<R>& rows, std::size_t first, std::size_t last, std::int32_t* label,
                     LeafMemory* remembered, const SumView* sums, unsigned char* memory) {
    return LeafPass<R>(tree, centers, exact, rows, label, remembered, sums, memory).run(first, last);
}

}  // namespace partita::PARTITA_ISA
