// Local search of K-means by single rows (Hartigan 1975): rows are taken in order, and one moves to
// another cluster when this lowers the cost. Serial: several starts are searched side by side.
//
// Moving a row of weight w from cluster a to b changes the cost by
//     w·D_b·s_b/(s_b + w) − w·D_a·s_a/(s_a − w)
// with squared distances D and weights s of the clusters. Of directions, s is the length of the sum
// of the rows; see `joining` and `leaving`.
//
// A row keeps a lower bound on its distance to all other centers, less the farthest that any center
// has moved since; while that proves that no move pays, only its own center is measured. Bounds are
// lowered by far more than rounding errors, so they change no bit of the result.
#pragma once

#include "simd.hpp"
#include "views.hpp"

namespace partita::PARTITA_ISA {

constexpr double kLeastGain = 0x1p-40;  // of what a row costs where it is: less may be rounding
constexpr std::size_t kCenterLanes = 8;

// The memory of one search, laid out in scratch.
struct SearchArrays {
    double* table;                  // (d, lanes) centers, feature by feature
    double *square, *pull, *share;  // (lanes)
    double* mass;                   // (k)
    double *sums, *reference;       // (k, d) centers when the sweep began
    double *lower, *own;            // (n)
    std::int32_t* before;           // (n) labels when the sweep began
    std::int64_t* count;            // (k)

    SearchArrays(unsigned char* memory, std::size_t n, std::size_t k, std::size_t d,
                 std::size_t* bytes = nullptr) {
        ScratchArena arena(memory);
        const std::size_t lanes = (k + kCenterLanes - 1) / kCenterLanes * kCenterLanes;
        table = arena.take<double>(d * lanes);
        square = arena.take<double>(lanes), pull = arena.take<double>(lanes);
        share = arena.take<double>(lanes);
        mass = arena.take<double>(k);
        sums = arena.take<double>(k * d), reference = arena.take<double>(k * d);
        lower = arena.take<double>(n), own = arena.take<double>(n);
        before = arena.take<std::int32_t>(n);
        count = arena.take<std::int64_t>(k);
        if (bytes) *bytes = arena.used();
    }
};

inline std::size_t search_scratch(std::size_t n, std::size_t k, std::size_t d) {
    std::size_t bytes = 0;
    SearchArrays(nullptr, n, k, d, &bytes);
    return bytes;
}

template <bool kSpherical>
class LocalSearch {
    using S = Simd<double>;

public:
    LocalSearch(const SearchView& view, unsigned char* memory)
        : v_(view), m_(memory, view.n, view.k, view.d),
          lanes_((view.k + kCenterLanes - 1) / kCenterLanes * kCenterLanes),
          slack_(4 * static_cast<double>(view.d + 8) * 0x1p-52) {}

    SearchEnd run(std::int32_t max_sweeps) {
        assign();
        fill_empty();
        double cost = update();
        begin_sweep();
        for (std::int32_t sweep = 1; sweep <= max_sweeps; ++sweep) {
            __builtin_memcpy(m_.before, v_.label, v_.n * sizeof(std::int32_t));
            if (!sweep_rows()) return {cost, sweep};
            const double lowered = update();
            if (!(lowered < cost)) {  // the gains were rounding errors
                __builtin_memcpy(v_.label, m_.before, v_.n * sizeof(std::int32_t));
                return {update(), sweep};
            }
            cost = lowered;
            begin_sweep();
        }
        return {cost, max_sweeps};
    }

private:
    void assign() {
        for (std::size_t j = 0; j < v_.k; ++j) set_column(j);
        for (std::size_t j = v_.k; j < lanes_; ++j) {
            m_.pull[j] = 1;
            for (std::size_t t = 0; t < v_.d; ++t) m_.table[t * lanes_ + j] = __builtin_inf();
        }
        for (std::size_t i = 0; i < v_.n; ++i) {
            measure(v_.rows + i * v_.d);
            const std::size_t a = lowest(m_.square, nullptr);
            v_.label[i] = static_cast<std::int32_t>(a);
            m_.own[i] = m_.square[a];
            m_.square[a] = __builtin_inf();
            m_.lower[i] = __builtin_sqrt(m_.square[lowest(m_.square, nullptr)]);
        }
    }

    // Every empty cluster takes the row that costs most.
    void fill_empty() {
        for (std::size_t j = 0; j < v_.k; ++j) m_.count[j] = 0;
        for (std::size_t i = 0; i < v_.n; ++i) ++m_.count[v_.label[i]];
        for (std::size_t j = 0; j < v_.k; ++j) {
            if (m_.count[j]) continue;
            std::size_t farthest = 0;
            double most = 0;
            for (std::size_t i = 0; i < v_.n; ++i) {
                const double price = v_.weight[i] * m_.own[i];
                if (price > most && m_.count[v_.label[i]] > 1) most = price, farthest = i;
            }
            if (!(most > 0)) continue;
            --m_.count[v_.label[farthest]];
            v_.label[farthest] = static_cast<std::int32_t>(j);
            m_.own[farthest] = 0;
            m_.lower[farthest] = -1;
            m_.count[j] = 1;
        }
        for (std::size_t e = 0; e < v_.k * v_.d; ++e) m_.reference[e] = v_.centers[e];
    }

    // Centers and sizes of the clusters by the labels; returns the cost.
    double update() {
        const std::size_t d = v_.d;
        for (std::size_t j = 0; j < v_.k; ++j) m_.mass[j] = 0, m_.count[j] = 0;
        for (std::size_t e = 0; e < v_.k * d; ++e) m_.sums[e] = 0;
        for (std::size_t i = 0; i < v_.n; ++i) {
            const auto j = static_cast<std::size_t>(v_.label[i]);
            const double w = v_.weight[i], *x = v_.rows + i * d;
            ++m_.count[j];
            m_.mass[j] += w;
            for (std::size_t t = 0; t < d; ++t) m_.sums[j * d + t] += w * x[t];
        }
        for (std::size_t j = 0; j < v_.k; ++j) {
            m_.pull[j] = m_.mass[j];
            if (m_.count[j]) center_cluster(j);
        }
        double cost = 0;
        for (std::size_t i = 0; i < v_.n; ++i)
            cost += v_.weight[i] * own_square(v_.rows + i * d, v_.label[i]);
        return cost;
    }

    void center_cluster(std::size_t j) {
        const std::size_t d = v_.d;
        const double* sum = m_.sums + j * d;
        double divisor = m_.mass[j];
        if constexpr (kSpherical) {
            double total = 0;
            for (std::size_t t = 0; t < d; ++t) total += sum[t] * sum[t];
            divisor = m_.pull[j] = __builtin_sqrt(total);
            if (!(divisor > 0)) return;
        }
        for (std::size_t t = 0; t < d; ++t) v_.centers[j * d + t] = sum[t] / divisor;
        set_column(j);
    }

    void set_column(std::size_t j) {
        for (std::size_t t = 0; t < v_.d; ++t) m_.table[t * lanes_ + j] = v_.centers[j * v_.d + t];
    }

    double own_square(const double* x, std::int32_t j) const {
        return gap_square(x, v_.centers + static_cast<std::size_t>(j) * v_.d);
    }

    double gap_square(const double* x, const double* c) const {
        double total = 0;
        for (std::size_t t = 0; t < v_.d; ++t) {
            const double gap = x[t] - c[t];
            total += gap * gap;
        }
        return total;
    }

    // square_j = ‖x − c_j‖² in lanes of centers, features in order.
    template <int R>
    PARTITA_INLINE void measure_lanes(const double* x, std::size_t j) {
        typename S::Reg acc[R];
        for (int r = 0; r < R; ++r) acc[r] = S::set1(0);
        const double* column = m_.table + j;
        for (std::size_t t = 0; t < v_.d; ++t, column += lanes_) {
            const typename S::Reg value = S::set1(x[t]);
#pragma GCC unroll 8
            for (int r = 0; r < R; ++r) {
                const typename S::Reg gap = S::sub(value, S::load(column + r * S::width));
                acc[r] = S::add(acc[r], S::mul(gap, gap));
            }
        }
        for (int r = 0; r < R; ++r) S::store(m_.square + j + r * S::width, acc[r]);
    }

    void measure(const double* x) {
        constexpr int few = kCenterLanes / S::width;
        std::size_t j = 0;
        for (; j + 4 * kCenterLanes <= lanes_; j += 4 * kCenterLanes) {
            measure_lanes<2 * few>(x, j);
            measure_lanes<2 * few>(x, j + 2 * kCenterLanes);
        }
        for (; j < lanes_; j += kCenterLanes) measure_lanes<few>(x, j);
    }

    // Index of the lowest value, times `factor` if given; the lower index on ties.
    std::size_t lowest(const double* value, const double* factor) const {
        typename S::Reg best = S::set1(__builtin_inf());
        typename S::IntReg at = S::set1_int(0), first = at;
        for (std::size_t j = 0; j < lanes_; j += S::width) {
            typename S::Reg now = S::load(value + j);
            if (factor) now = S::mul(now, S::load(factor + j));
            const auto closer = S::less(now, best);
            best = S::min(now, best);
            at = S::select(closer, first, at);
            first = S::next(first);
        }
        alignas(64) double lane_best[S::width];
        alignas(64) std::int64_t lane_block[S::width];
        S::store(lane_best, best);
        S::store_int(lane_block, at);
        double low = __builtin_inf();
        std::size_t where = 0;
        for (std::size_t r = 0; r < S::width; ++r) {
            const std::size_t j = static_cast<std::size_t>(lane_block[r]) * S::width + r;
            if (lane_best[r] < low || (lane_best[r] == low && j < where))
                low = lane_best[r], where = j;
        }
        return where < v_.k ? where : 0;
    }

    // Bounds count from the present centers.
    void begin_sweep() {
        const std::size_t d = v_.d;
        double farthest = 0;
        for (std::size_t j = 0; j < v_.k; ++j) {
            const double moved = gap_square(v_.centers + j * d, m_.reference + j * d);
            farthest = moved > farthest ? moved : farthest;
        }
        farthest = __builtin_sqrt(farthest) * (1 + slack_);
        for (std::size_t i = 0; i < v_.n; ++i)
            m_.lower[i] -= farthest + slack_ * (m_.lower[i] + farthest);
        for (std::size_t e = 0; e < v_.k * d; ++e) m_.reference[e] = v_.centers[e];
        farthest_ = 0;
        least_pull_ = __builtin_inf();
        for (std::size_t j = 0; j < v_.k; ++j)
            least_pull_ = m_.pull[j] < least_pull_ ? m_.pull[j] : least_pull_;
        share_weight_ = -1;
    }

    std::size_t sweep_rows() {
        std::size_t moves = 0;
        for (std::size_t i = 0; i < v_.n; ++i) {
            const auto a = static_cast<std::size_t>(v_.label[i]);
            if (m_.count[a] == 1) continue;
            const double *x = v_.rows + i * v_.d, w = v_.weight[i];
            const double square = gap_square(x, v_.centers + a * v_.d);
            if (!(square > 0)) continue;
            const double leave = leaving(a, square, w);
            const double near = (m_.lower[i] - farthest_) - 4 * slack_ * (m_.lower[i] + farthest_);
            if (near > 0 && near * near * (least_pull_ / (least_pull_ + w)) > leave) continue;
            const std::size_t b = best_other(x, a, w, i);
            if (b == a || !(m_.square[b] * m_.share[b] < leave)) continue;
            if (!(joining(b, m_.square[b], w) < leave * (1 - kLeastGain))) continue;
            move(x, w, a, b);
            v_.label[i] = static_cast<std::int32_t>(b);
            m_.lower[i] = -1;
            ++moves;
        }
        return moves;
    }

    // The cluster other than a that the row would cost least in, and the row's bound.
    std::size_t best_other(const double* x, std::size_t a, double w, std::size_t i) {
        measure(x);
        m_.square[a] = __builtin_inf();
        if (w != share_weight_) {
            for (std::size_t j = 0; j < lanes_; ++j) m_.share[j] = m_.pull[j] / (m_.pull[j] + w);
            share_weight_ = w;
        }
        const double distance = __builtin_sqrt(m_.square[lowest(m_.square, nullptr)]);
        m_.lower[i] = distance - farthest_ - slack_ * (distance + farthest_);
        const double before = m_.share[a];
        m_.share[a] = 1;  // not 0, whose product with infinity is NaN
        const std::size_t b = lowest(m_.square, m_.share);
        m_.share[a] = before;
        return m_.square[b] < __builtin_inf() ? b : a;
    }

    // Decrease of the cost, for each unit of weight, if a row leaves its cluster.
    double leaving(std::size_t a, double square, double w) const {
        double pull = m_.pull[a], rest = pull - w;
        if constexpr (kSpherical) {
            rest += __builtin_sqrt(rest * rest + w * pull * square);
            pull *= 2;
        }
        return rest > 0 ? square * (pull / rest) : 0;
    }

    // Increase of the cost, for each unit of weight, if a row joins another cluster.
    double joining(std::size_t b, double square, double w) const {
        double pull = m_.pull[b], whole = pull + w;
        if constexpr (kSpherical) {
            const double length = whole * whole - w * pull * square;
            whole += __builtin_sqrt(length > 0 ? length : 0);
            pull *= 2;
        }
        return square * (pull / whole);
    }

    void move(const double* x, double w, std::size_t a, std::size_t b) {
        --m_.count[a], ++m_.count[b];
        m_.mass[a] -= w, m_.mass[b] += w;
        for (std::size_t t = 0; t < v_.d; ++t) {
            const double term = w * x[t];
            m_.sums[a * v_.d + t] -= term;
            m_.sums[b * v_.d + t] += term;
        }
        for (const std::size_t j : {a, b}) {
            m_.pull[j] = m_.mass[j];
            center_cluster(j);
            m_.share[j] = m_.pull[j] / (m_.pull[j] + share_weight_);
            least_pull_ = m_.pull[j] < least_pull_ ? m_.pull[j] : least_pull_;
            const double moved = gap_square(v_.centers + j * v_.d, m_.reference + j * v_.d);
            const double drift = __builtin_sqrt(moved) * (1 + slack_);
            farthest_ = drift > farthest_ ? drift : farthest_;
        }
    }

    SearchView v_;
    SearchArrays m_;
    std::size_t lanes_;
    double slack_, farthest_ = 0, least_pull_ = 0, share_weight_ = -1;
};

inline SearchEnd local_search(const SearchView& view, bool spherical, std::int32_t max_sweeps,
                              unsigned char* scratch) {
    return spherical ? LocalSearch<true>(view, scratch).run(max_sweeps)
                     : LocalSearch<false>(view, scratch).run(max_sweeps);
}

}  // namespace partita::PARTITA_ISA
