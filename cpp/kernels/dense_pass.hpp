// The fused pass over dense rows: scores, nearest and second nearest center, sums. Serial: parts of
// the rows are the unit of parallelism. Scores exist only in registers and for one block.
#pragma once

#include "joined_sums.hpp"
#include "recheck.hpp"

namespace partita::PARTITA_ISA {

constexpr std::size_t kPointBlockBytes = 256 * 1024;   // packed points per block: well inside L2
constexpr std::size_t kCenterBlockBytes = 512 * 1024;  // centers swept over a block of points
constexpr std::size_t kMaxBlockPoints = 512;

template <class T>
constexpr std::size_t block_points(std::size_t d) {
    const std::size_t fit =
        kPointBlockBytes / ((d + 1) * sizeof(T)) / kPanelWidth<T> * kPanelWidth<T>;
    const std::size_t most = kMaxBlockPoints / kPanelWidth<T> * kPanelWidth<T>;
    return fit < kPanelWidth<T> ? kPanelWidth<T> : (fit > most ? most : fit);
}

// All memory of a pass, in one block that the caller allocates.
template <class T, class R>
struct Scratch {
    using Int = typename Simd<T>::Int;
    T *panels, *panel, *padded, *best, *second, *norm, *square;
    R* gathered;
    Int* nearest;
    double* exact;
    unsigned char *sum_scratch, *join_scratch;
    std::size_t used;  // bytes

    static std::size_t bytes(std::size_t d) { return Scratch(nullptr, d).used; }

    Scratch(unsigned char* memory, std::size_t d) {
        const std::size_t b = block_points<T>(d), panel_size = kPanelWidth<T> * (d + 1);
        ScratchArena arena(memory);
        panels = arena.take<T>(b * (d + 1));
        panel = arena.take<T>(panel_size);
        padded = arena.take<T>(panel_size);
        gathered = arena.take<R>(panel_size);
        best = arena.take<T>(b);
        second = arena.take<T>(b);
        norm = arena.take<T>(b);
        square = arena.take<T>(b);
        nearest = arena.take<Int>(b);
        exact = arena.take<double>(d * kExactWidth);
        sum_scratch = arena.take<unsigned char>(RowAccumulator<R>::bytes(d));
        join_scratch = arena.take<unsigned char>(JoinedSums<R>::bytes(d));
        used = arena.used();
    }
};

// Prefetches the rows of a later panel, a few cache lines with every tile. Without it, transposing
// these rows would wait for every line.
class Prefetcher {
public:
    template <class T>
    Prefetcher(const T* rows, std::size_t values, std::size_t tiles)
        : at_(reinterpret_cast<const char*>(rows)), end_(at_ + values * sizeof(T)),
          share_((values * sizeof(T) / 64 + tiles) / tiles * 64) {}
    PARTITA_INLINE void step() {
        const char* stop = static_cast<std::size_t>(end_ - at_) < share_ ? end_ : at_ + share_;
        for (; at_ < stop; at_ += 64) __builtin_prefetch(at_, 0, 2);
    }

private:
    const char *at_, *end_;
    std::size_t share_;
};

// Packs m rows into panels `stride` apart; pads the last panel with zeros.
template <class T, class R>
void pack_rows(const BookView<T>& book, const R* rows, std::size_t m, const Scratch<T, R>& s,
               std::size_t stride, T* panels, T* square, T* norm) {
    constexpr std::size_t W = kPanelWidth<T>;
    const std::size_t d = book.d;
    for (std::size_t r = 0; r < m; r += W) {
        const R* from = rows + r * d;
        if (m - r < W) {
            for (std::size_t i = 0; i < W * d; ++i)
                s.gathered[i] = i < (m - r) * d ? from[i] : R(0);
            from = s.gathered;
        }
        pack_panel(book, from, s.padded, panels + r / W * stride, square + r, norm + r);
    }
}

// Packs rows to be kept between passes; the first row begins a panel.
template <class R>
void keep_panels(const BookView<float>& book, const Rows<R>& rows, float* panels, float* square,
                 unsigned char* memory) {
    const Scratch<float, R> s(memory, rows.d);
    const std::size_t b = block_points<float>(rows.d), wide = rows.d + 1;
    for (std::size_t i = 0; i < rows.n; i += b)
        pack_rows(book, rows.data + i * rows.d, rows.n - i < b ? rows.n - i : b, s,
                  kPanelWidth<float> * wide, panels + i * wide, square + i, s.norm);
}

// Compares packed panels with all centers: the lowest score of every row, the second lowest and the
// index of the lowest. A block of centers that stays in the cache is swept over all panels.
// panel_at(p): the rows of panel p; ahead(p, tiles): a prefetcher to step with so many tiles of it.
template <class T, class R, class PanelAt, class Ahead>
PARTITA_INLINE void sweep_centers(const BookView<T>& book, std::size_t panels,
                                  const Scratch<T, R>& s, PanelAt panel_at, Ahead ahead) {
    constexpr std::size_t W = kPanelWidth<T>;
    const std::size_t depth = book.depth;
    for (std::size_t r = 0; r < panels * W; ++r) {
        s.best[r] = s.second[r] = static_cast<T>(__builtin_inf());
        s.nearest[r] = 0;
    }
    const std::size_t tiles_per_sweep = kCenterBlockBytes / (depth * sizeof(T) * kTileRows) + 1;
    for (std::size_t q0 = 0; q0 < book.tiles; q0 += tiles_per_sweep) {
        const std::size_t q1 =
            book.tiles - q0 < tiles_per_sweep ? book.tiles : q0 + tiles_per_sweep;
        for (std::size_t p = 0; p < panels; ++p) {
            const T* panel = panel_at(p);
            Prefetcher fetch = q0 == 0 ? ahead(p, q1 - q0) : Prefetcher(panel, 0, 1);
            auto run = tile_of<T>(kTileRows);
            for (std::size_t q = q0, size = kTileRows; q < q1; ++q) {
                fetch.step();
                const std::size_t first = book.first[q], now = book.first[q + 1] - first;
                if (now != size) run = tile_of<T>(static_cast<int>(size = now));
                run(panel, book.packed + first * depth, book.start + first, depth,
                    static_cast<std::int64_t>(first), s.best + p * W, s.second + p * W,
                    s.nearest + p * W);
            }
        }
    }
}

// Fast scores of one block: lowest, second lowest and index of the lowest for every row. `after`
// rows follow the block in memory. `kept`: the block's packed rows, or null.
template <class T, class R>
void score_block(const BookView<T>& book, const R* rows, std::size_t m, std::size_t after,
                 const PanelView<T>& kept, const Scratch<T, R>& s) {
    constexpr std::size_t W = kPanelWidth<T>;
    const std::size_t depth = book.depth, d = book.d, panels = (m + W - 1) / W;
    const T* packed = kept.data ? kept.data : s.panels;
    const std::size_t stride = W * (kept.data ? d + 1 : depth);
    if (!kept.data) pack_rows(book, rows, m, s, stride, s.panels, s.square, s.norm);
    for (std::size_t p = 0; kept.data && p < panels; ++p)
        set_norms(book, kept.square + p * W, kept.data + p * stride, s.norm + p * W);
    sweep_centers(
        book, panels, s, [&](std::size_t p) { return packed + p * stride; },
        [&](std::size_t p, std::size_t tiles) {
            const bool more = !kept.data && (p + 1) * W <= after;
            return Prefetcher(rows + (more ? m + p * W : 0) * d, more ? W * d : 0, tiles);
        });
}

// True if a vector of rows needs no look at any single one: every score is far enough below the
// second, and that of the center in `place` (width).
template <class T, class R>
PARTITA_INLINE bool is_settled(const BookView<T>& book, const Scratch<T, R>& s, std::size_t r,
                               const std::int32_t* place) {
    using S = Simd<T>;
    const typename S::Reg norm = S::load(s.norm + r);
    typename S::Reg slope = S::set1(book.max_slope), slack = S::set1(book.max_slack);
    if (book.depth > book.d) {  // the error of a far center is too large for all others
        alignas(64) T own_slope[S::width], own_slack[S::width];
        for (std::size_t l = 0; l < S::width; ++l) {
            own_slope[l] = book.slope[s.nearest[r + l]];
            own_slack[l] = book.slack[s.nearest[r + l]];
        }
        slope = S::load(own_slope), slack = S::load(own_slack);
    }
    const typename S::Reg error = S::add(S::add(S::mul(norm, slope), slack),
                                         S::mul(S::mul(norm, norm), S::set1(book.own_error)));
    const typename S::Reg gap = S::sub(S::load(s.second + r), S::load(s.best + r));
    const std::uint32_t sure = S::bits(S::less(S::mul(S::set1(2), error), gap)) &
                               S::bits(S::less(norm, S::set1(static_cast<T>(kMaxFastNorm))));
    if (sure != first_bits(S::width)) return false;
    std::int32_t change = 0;
    for (std::size_t l = 0; l < S::width; ++l)
        change |= place[l] ^ static_cast<std::int32_t>(s.nearest[r + l]);
    return change == 0;
}

// Labels every row and moves changed rows in the sums. `label` holds the previous labels (−1:
// none). Rows that the fast scores leave open are collected and rechecked one panel at a time.
template <class T, class R>
PassCounts assign(const BookView<T>& book, const Rows<R>& rows, const PanelView<T>& kept,
                  const SumView* sums, std::int32_t* label, unsigned char* memory) {
    const Scratch<T, R> s(memory, book.d);
    const SumView none{};
    RowAccumulator<R> accumulator(sums ? *sums : none, s.sum_scratch);
    // long rows are added one by one, while they are in the cache
    const bool joins = sums && rows.n && label[0] < 0 && rows.d <= JoinedSums<R>::kShortRow &&
                       JoinedSums<R>::suit_lists(*sums);
    JoinedSums<R> joined(joins ? sums : nullptr, rows.d, s.join_scratch);
    const std::size_t b = block_points<T>(book.d);
    const T limit = static_cast<T>(kMaxFastNorm);
    PassCounts outcome{0, 0};
    auto set_label = [&](std::size_t i, std::int32_t now) {
        if (label[i] == now) return;
        if (joins && label[i] < 0)
            joined.list(rows.data + i * rows.d, now);
        else if (sums)
            accumulator.push(rows.data + i * rows.d, i, label[i], now);
        label[i] = now;
        ++outcome.moved;
    };
    RecheckPanel<T> open;
    auto recheck = [&] {
        decide_by_d64(book, rows.data, open, s.gathered, s.padded, s.panel, s.exact);
        for (std::size_t r = 0; r < open.count; ++r) set_label(open.row[r], open.label[r]);
        outcome.rechecked += static_cast<std::int64_t>(open.count);
        open.count = 0;
    };
    for (std::size_t i = 0; i < rows.n; i += b) {
        const std::size_t m = rows.n - i < b ? rows.n - i : b;
        const PanelView<T> block_panels =
            kept.data ? PanelView<T>{kept.data + i * (rows.d + 1), kept.square + i} : kept;
        score_block(book, rows.data + i * rows.d, m, rows.n - i - m, block_panels, s);
        for (std::size_t r = 0; r < m; ++r) {
            if (r % Simd<T>::width == 0 && r + Simd<T>::width <= m &&
                is_settled(book, s, r, label + i + r)) {
                r += Simd<T>::width - 1;
                continue;
            }
            const std::size_t j = static_cast<std::size_t>(s.nearest[r]);
            const T norm = s.norm[r];
            const T margin =
                2 * (norm * book.slope[j] + book.slack[j] + norm * norm * book.own_error);
            if (norm < limit && s.second[r] - s.best[r] > margin) {
                set_label(i + r, static_cast<std::int32_t>(j));
                continue;
            }
            open.push(i + r, norm < limit ? s.best[r] + margin : static_cast<T>(__builtin_inf()));
            if (open.count == kPanelWidth<T>) recheck();
        }
    }
    if (open.count) recheck();
    if (joins) joined.flush();
    if (sums) accumulator.flush();
    return outcome;
}

// Adds all rows to the first cluster.
template <class T>
void add_rows(const SumView& sums, const Rows<T>& rows, unsigned char* memory) {
    if (JoinedSums<T>::suit(sums))
        return JoinedSums<T>(&sums, rows.d, memory).add(rows.data, rows.n, 0);
    RowAccumulator<T> accumulator(sums, memory);
    for (std::size_t i = 0; i < rows.n; ++i) accumulator.push(rows.data + i * rows.d, i, -1, 0);
    accumulator.flush();
}

// Moves rows in the sums from cluster from[i] (−1: none) to cluster to[i]: for the first sums, and
// for changes that no assignment made.
template <class T>
void move_rows(const SumView& sums, const Rows<T>& rows, const std::int32_t* from,
               const std::int32_t* to, unsigned char* memory) {
    RowAccumulator<T> accumulator(sums, memory);
    for (std::size_t i = 0; i < rows.n; ++i)
        if (from[i] != to[i]) accumulator.push(rows.data + i * rows.d, i, from[i], to[i]);
    accumulator.flush();
}

}  // namespace partita::PARTITA_ISA
