// Costs of rows of numbers and categories in clusters with prototypes: the squared distance to the
// center, features in order and nothing fused, plus gamma for each known code that is not the mode.
//
// Rows are in lanes, 64 to a panel. Matches are counted in lanes of bytes where codes are bytes; they
// are integers, so the order in which they are counted does not matter.
#pragma once

#include "seed_lanes.hpp"
#include "simd.hpp"
#include "views.hpp"

namespace partita::PARTITA_ISA {

constexpr std::size_t kMaxByteCount = 255;  // matches that a lane of bytes can count

// The costs of one panel of rows, which are moved to the origin once.
template <class Code>
class PanelCosts {
    using S = Simd<double>;
    static constexpr std::size_t kStripVectors = 4;

public:
    static constexpr std::size_t kStripRows = kStripVectors * S::width;  // at a time

    static std::size_t bytes(std::size_t p) {
        PanelCosts costs(nullptr, p);
        return costs.used_;
    }
    PanelCosts(unsigned char* scratch, std::size_t p) {
        ScratchArena arena(scratch);
        y_ = arena.take<double>(p * kPanelRows);
        known_ = arena.take<std::int32_t>(kPanelRows);
        cost_ = arena.take<double>(kPanelRows);
        used_ = arena.used();
    }

    void open(const MixedPanels<Code>& rows, std::size_t panel, const double* origin) {
        const double* x = rows.numbers + panel * rows.p * kPanelRows;
        codes_ = rows.codes + panel * rows.q * kPanelRows;
        for (std::size_t t = 0; t < rows.p; ++t)
            for (std::size_t i = 0; i < kPanelRows; ++i)
                y_[t * kPanelRows + i] = x[t * kPanelRows + i] - origin[t];
        for (std::size_t i = 0; i < kPanelRows; ++i) known_[i] = 0;
        for (std::size_t t = 0; t < rows.q; ++t)
            for (std::size_t i = 0; i < kPanelRows; ++i)
                known_[i] += codes_[t * kPanelRows + i] != kMissingCode<Code>;
    }

    // The costs of the rows at prototype j, valid until the next call.
    const double* at(const PrototypeView<Code>& to, std::size_t j) {
        for (std::size_t i = 0; i < kPanelRows; i += kStripRows) {
            Strip strip = strip_at(to, j, i);
            for (std::size_t v = 0; v < kStripVectors; ++v)
                S::store(cost_ + i + v * S::width, strip.cost[v]);
        }
        return cost_;
    }

    // Of the rows of a strip the cheapest cluster, the lower on ties, and what it costs.
    void nearest(const PrototypeView<Code>& to, std::size_t i, std::int64_t* label, double* cost) {
        typename S::Reg best[kStripVectors];
        typename S::IntReg own[kStripVectors];
#pragma GCC unroll 4
        for (std::size_t v = 0; v < kStripVectors; ++v) {
            best[v] = S::set1(__builtin_inf());
            own[v] = S::set1_int(0);
        }
        for (std::size_t j = 0; j < to.k; ++j) {
            const Strip now = strip_at(to, j, i);
            const typename S::IntReg number = S::set1_int(static_cast<std::int64_t>(j));
#pragma GCC unroll 4
            for (std::size_t v = 0; v < kStripVectors; ++v) {
                own[v] = S::select(S::less(now.cost[v], best[v]), number, own[v]);
                best[v] = S::min(now.cost[v], best[v]);
            }
        }
#pragma GCC unroll 4
        for (std::size_t v = 0; v < kStripVectors; ++v) {
            S::store_int(label + v * S::width, own[v]);
            S::store(cost + v * S::width, best[v]);
        }
    }

private:
    struct Strip {
        typename S::Reg cost[kStripVectors];
    };

    PARTITA_INLINE Strip strip_at(const PrototypeView<Code>& to, std::size_t j, std::size_t i) {
        Strip strip = squares(to.centers + j * to.p, to.p, i);
        if (to.q) add_mismatches(to.modes + j * to.q, to.q, to.gamma, i, strip);
        return strip;
    }
    PARTITA_INLINE Strip squares(const double* center, std::size_t p, std::size_t i) const {
        Strip strip;
#pragma GCC unroll 4
        for (std::size_t v = 0; v < kStripVectors; ++v) strip.cost[v] = S::set1(0);
        for (std::size_t t = 0; t < p; ++t) {
            const typename S::Reg c = S::set1(center[t]);
            const double* y = y_ + t * kPanelRows + i;
#pragma GCC unroll 4
            for (std::size_t v = 0; v < kStripVectors; ++v) {
                const typename S::Reg gap = S::sub(S::load(y + v * S::width), c);
                strip.cost[v] = S::add(strip.cost[v], S::mul(gap, gap));
            }
        }
        return strip;
    }
    PARTITA_INLINE void add_mismatches(const Code* mode, std::size_t q, double gamma, std::size_t i,
                                       Strip& strip) const {
        alignas(64) double differ[kStripRows];
        alignas(64) Code match[kStripRows] = {};
        if (q <= kMaxByteCount) {
            count_matches(mode, 0, q, i, match);
            for (std::size_t l = 0; l < kStripRows; ++l)
                differ[l] =
                    static_cast<double>(known_[i + l] - static_cast<std::int32_t>(match[l]));
        } else {
            add_in_blocks(mode, q, i, differ);
        }
        const typename S::Reg each = S::set1(gamma);
#pragma GCC unroll 4
        for (std::size_t v = 0; v < kStripVectors; ++v)
            strip.cost[v] = S::add(strip.cost[v], S::mul(S::load(differ + v * S::width), each));
    }
    PARTITA_INLINE void count_matches(const Code* mode, std::size_t first, std::size_t last,
                                      std::size_t i, Code* match) const {
        for (std::size_t t = first; t < last; ++t) {
            const Code wanted = mode[t];
            if (wanted == kMissingCode<Code>) continue;
            const Code* code = codes_ + t * kPanelRows + i;
            for (std::size_t l = 0; l < kStripRows; ++l)
                match[l] = static_cast<Code>(match[l] + (code[l] == wanted ? 1 : 0));
        }
    }
    // The same for more columns than a byte counts.
    void add_in_blocks(const Code* mode, std::size_t q, std::size_t i, double* differ) const {
        std::int32_t left[kStripRows];
        for (std::size_t l = 0; l < kStripRows; ++l) left[l] = known_[i + l];
        for (std::size_t first = 0; first < q; first += kMaxByteCount) {
            Code match[kStripRows] = {};
            count_matches(mode, first, first + kMaxByteCount < q ? first + kMaxByteCount : q, i,
                          match);
            for (std::size_t l = 0; l < kStripRows; ++l)
                left[l] -= static_cast<std::int32_t>(match[l]);
        }
        for (std::size_t l = 0; l < kStripRows; ++l) differ[l] = static_cast<double>(left[l]);
    }

    double* y_;            // (p, rows)
    double* cost_;         // (rows)
    std::int32_t* known_;  // (rows) codes that are not missing
    const Code* codes_ = nullptr;
    std::size_t used_;
};

inline std::size_t rows_in_panel(std::size_t points, std::size_t panel) {
    const std::size_t left = points - panel * kPanelRows;
    return left < kPanelRows ? left : kPanelRows;
}

// Labels each row by the cheapest cluster, the lower on ties, and writes what it costs.
template <class Code>
PassCounts mixed_assign(const MixedPanels<Code>& rows, std::size_t points,
                        const PrototypeView<Code>& to, std::int32_t* label, double* cost,
                        unsigned char* scratch) {
    PanelCosts<Code> costs(scratch, rows.p);
    PassCounts counts{};
    for (std::size_t panel = 0; panel * kPanelRows < points; ++panel) {
        alignas(64) double best[kPanelRows];
        alignas(64) std::int64_t nearest[kPanelRows];
        costs.open(rows, panel, to.origin);
        for (std::size_t i = 0; i < kPanelRows; i += PanelCosts<Code>::kStripRows)
            costs.nearest(to, i, nearest + i, best + i);
        const std::size_t first = panel * kPanelRows, here = rows_in_panel(points, panel);
        for (std::size_t i = 0; i < here; ++i) {
            const std::int32_t own = static_cast<std::int32_t>(nearest[i]);
            counts.moved += own != label[first + i];
            label[first + i] = own;
            cost[first + i] = best[i];
        }
    }
    return counts;
}

// out[j·stride + i]: the cost of row i in cluster j.
template <class Code>
void mixed_columns(const MixedPanels<Code>& rows, std::size_t points, const PrototypeView<Code>& to,
                   double* out, std::size_t stride, unsigned char* scratch) {
    PanelCosts<Code> costs(scratch, rows.p);
    for (std::size_t panel = 0; panel * kPanelRows < points; ++panel) {
        costs.open(rows, panel, to.origin);
        for (std::size_t j = 0; j < to.k; ++j)
            __builtin_memcpy(out + j * stride + panel * kPanelRows, costs.at(to, j),
                             rows_in_panel(points, panel) * sizeof(double));
    }
}

constexpr std::size_t kLeafPanels = kSeedLeafRows / kPanelRows;

// Adds w·value of some rows to eight lanes.
PARTITA_INLINE void add_to_lanes(const double* value, const double* weight, std::size_t count,
                                 double (&lane)[8]) {
    for (std::size_t i = 0; i < count; ++i) {
        const double term = !weight ? value[i] : weight[i] > 0 ? value[i] * weight[i] : 0.0;
        lane[i % 8] += term;
    }
}

// gain[leaf·k + j]: what prototype j would take from `closest` over a leaf; as `leaf_sums`.
template <class Code>
void mixed_gain(const MixedPanels<Code>& rows, std::size_t points, const PrototypeView<Code>& to,
                const double* closest, const double* weight, double* gain, unsigned char* scratch) {
    PanelCosts<Code> costs(scratch, rows.p);
    double (*lane)[8] = reinterpret_cast<double (*)[8]>(scratch + PanelCosts<Code>::bytes(rows.p));
    for (std::size_t leaf = 0; leaf * kSeedLeafRows < points; ++leaf) {
        for (std::size_t e = 0; e < 8 * to.k; ++e) lane[e / 8][e % 8] = 0.0;
        for (std::size_t panel = leaf * kLeafPanels;
             panel < (leaf + 1) * kLeafPanels && panel * kPanelRows < points; ++panel) {
            const std::size_t first = panel * kPanelRows, here = rows_in_panel(points, panel);
            costs.open(rows, panel, to.origin);
            for (std::size_t j = 0; j < to.k; ++j) {
                const double* now = costs.at(to, j);
                double less[kPanelRows];
                for (std::size_t i = 0; i < here; ++i) {
                    const double gap = closest[first + i] - now[i];
                    less[i] = gap > 0 ? gap : 0.0;
                }
                add_to_lanes(less, weight ? weight + first : nullptr, here, lane[j]);
            }
        }
        for (std::size_t j = 0; j < to.k; ++j) gain[leaf * to.k + j] = sum_eight(lane[j]);
    }
}

// Lowers `closest` to the costs of the prototypes; potential[leaf] = Σ w·closest.
template <class Code>
void mixed_lower(const MixedPanels<Code>& rows, std::size_t points, const PrototypeView<Code>& to,
                 double* closest, const double* weight, double* potential, unsigned char* scratch) {
    PanelCosts<Code> costs(scratch, rows.p);
    for (std::size_t leaf = 0; leaf * kSeedLeafRows < points; ++leaf) {
        double lane[8] = {};
        for (std::size_t panel = leaf * kLeafPanels;
             panel < (leaf + 1) * kLeafPanels && panel * kPanelRows < points; ++panel) {
            const std::size_t first = panel * kPanelRows, here = rows_in_panel(points, panel);
            costs.open(rows, panel, to.origin);
            for (std::size_t j = 0; j < to.k; ++j) {
                const double* now = costs.at(to, j);
                for (std::size_t i = 0; i < here; ++i)
                    closest[first + i] = now[i] < closest[first + i] ? now[i] : closest[first + i];
            }
            add_to_lanes(closest + first, weight ? weight + first : nullptr, here, lane);
        }
        potential[leaf] = sum_eight(lane);
    }
}

template <class Code>
std::size_t mixed_scratch(std::size_t p, std::size_t k) {
    return PanelCosts<Code>::bytes(p) + aligned(8 * k * sizeof(double));
}

// Moves rows between clusters in the counts of the levels of one column.
template <class Code>
void count_codes(const CodeMoves<Code>& moves, std::size_t column) {
    const std::int64_t offset = moves.offset[column];
    const std::int64_t levels = moves.offset[column + 1] - offset;
    for (std::size_t r = 0; r < moves.count; ++r) {
        const std::size_t i = static_cast<std::size_t>(moves.rows[r]);
        const std::int64_t code = static_cast<std::int64_t>(
            moves.codes[(i / kPanelRows * moves.q + column) * kPanelRows + i % kPanelRows]);
        if (code >= levels) continue;
        const std::int64_t count = moves.times ? moves.times[r] : 1;
        std::int64_t* level = moves.counts + offset + code;
        const std::ptrdiff_t stride = static_cast<std::ptrdiff_t>(moves.stride);
        level[moves.after[r] * stride] += count;
        if (moves.before[r] >= 0) level[moves.before[r] * stride] -= count;
    }
}

}  // namespace partita::PARTITA_ISA
