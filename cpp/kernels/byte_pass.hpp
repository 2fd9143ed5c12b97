// The pass over rows as bytes: products of bytes leave each row a few candidates, double decides
// among them. The bounds are derived in byte_book.hpp.
#pragma once

#include "byte_tile.hpp"
#include "joined_sums.hpp"
#include "narrow_rows.hpp"
#include "quick_distance.hpp"

namespace partita::PARTITA_ISA {

constexpr std::size_t kLowCenters = 256;        // whose lower bounds are stored at a time
constexpr std::size_t kMaxByteCandidates = 32;  // of a row; with more, D64 decides among all

// Bit r of mask[c] is set if low[c][r] does not exceed limit[r], or is no number.
PARTITA_INLINE void mark_low(const float* low, const float* limit, std::size_t count,
                             std::uint32_t* mask) {
    using S = ByteLanes;
    S::Reg most[kTileVectors];
    for (int v = 0; v < kTileVectors; ++v) most[v] = S::load(limit + v * S::width);
    for (std::size_t c = 0; c < count; ++c, low += kByteWidth) {
#if defined(PARTITA_AVX512)
        auto* half = reinterpret_cast<__mmask16*>(mask + c);
        _store_mask16(half, _mm512_cmp_ps_mask(S::load(low), most[0], _CMP_NGT_UQ));
        _store_mask16(half + 1, _mm512_cmp_ps_mask(S::load(low + S::width), most[1], _CMP_NGT_UQ));
#else
        std::uint32_t above = 0;
        for (int v = 0; v < kTileVectors; ++v)
            above |= S::bits(S::less(most[v], S::load(low + v * S::width)))
                     << (static_cast<unsigned>(v) * S::width);
        mask[c] = ~above & first_bits(kByteWidth);
#endif
    }
}

// The places of nonzero words. May write a whole vector beyond them.
PARTITA_INLINE std::size_t list_nonzero(const std::uint32_t* word, std::size_t count,
                                        std::int32_t* place) {
    std::size_t listed = 0, c = 0;
#if defined(PARTITA_AVX512)
    __m512i at = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    for (; c + 16 <= count; c += 16) {
        const __m512i words = _mm512_loadu_si512(word + c);
        const __mmask16 used = _mm512_test_epi32_mask(words, words);
        _mm512_storeu_si512(place + listed, _mm512_maskz_compress_epi32(used, at));
        listed += static_cast<std::size_t>(__builtin_popcount(used));
        at = _mm512_add_epi32(at, _mm512_set1_epi32(16));
    }
#endif
    for (; c < count; ++c) {
        place[listed] = static_cast<std::int32_t>(c);
        listed += word[c] != 0;
    }
    return listed;
}

template <class R>
class BytePass {
public:
    BytePass(const ByteRowsView& bytes, const ByteBookView& book, const Rows<R>& rows,
             const NarrowRows& narrow, std::size_t base, std::int32_t* label, const SumView* sums,
             unsigned char* memory)
        : bytes_(bytes), book_(book), base_(base), label_(label), sums_(sums),
          tie_share_(tie_share(book.d)), accumulator_(sums ? *sums : none_, lay_out(memory)),
          joins_(sums && rows.data && JoinedSums<R>::suit_lists(*sums)),
          joined_(joins_ ? sums : nullptr, book.d, join_scratch_),
          reader_(rows, narrow, wide_row_) {}

    static std::size_t bytes(std::size_t k, std::size_t d) {
        return BytePass(k, d).used_ + RowAccumulator<R>::bytes(d);
    }

    ByteCounts run(std::size_t first, std::size_t last) {
        for (std::size_t p = first; p < last; ++p) {
            const std::size_t bytes = (book_.d + 3) / 4 * 4 * W;
            if (p + 1 < last) prefetch_bytes(bytes_.codes + (p + 1) * bytes, bytes);
            panel(p);
        }
        decide(open_[turn_]);
        if (joins_) joined_.flush();
        if (sums_) accumulator_.flush();
        return counts_;
    }

private:
    using S = ByteLanes;
    static constexpr std::size_t W = kByteWidth;

    struct Found {
        std::int32_t count[W];
        std::int32_t center[W][kMaxByteCandidates];
        float low[W][kMaxByteCandidates];
    };

    // Rows with several candidates.
    struct OpenRows {
        std::size_t count;
        std::int32_t row[W], candidates[W];
        std::int32_t center[W][kMaxByteCandidates];
    };

    BytePass(std::size_t k, std::size_t d)
        : book_{}, accumulator_(none_, nullptr), joined_(nullptr, d, nullptr),
          reader_({}, {}, nullptr) {
        book_.padded = (k + 15) / 16 * 16;
        book_.d = d;
        lay_out(nullptr);
    }

    unsigned char* lay_out(unsigned char* memory) {
        ScratchArena arena(memory);
        lines_.slope = arena.take<float>(book_.padded);
        lines_.low = arena.take<float>(book_.padded);
        lines_.high = arena.take<float>(book_.padded);
        low_ = arena.take<float>(kLowCenters * W);
        mask_ = arena.take<std::uint32_t>(kLowCenters);
        hit_ = arena.take<std::int32_t>(kLowCenters + 16);
        found_ = arena.take<Found>(1);
        open_ = arena.take<OpenRows>(2);
        if (memory) open_[0].count = open_[1].count = 0;
        panel_ = arena.take<double>(kExactWidth * book_.d);
        if (sizeof(R) == 4) wide_row_ = arena.take<R>(book_.d);
        join_scratch_ = arena.take<unsigned char>(JoinedSums<R>::bytes(book_.d));
        used_ = arena.used();
        return memory + used_;
    }

    // The values of row i of the data; of narrow rows, until the next call.
    const R* row(std::int32_t i) const { return reader_.row(static_cast<std::size_t>(i) - base_); }

    void panel(std::size_t p) {
        const BytePanel& panel = bytes_.panel[p];
        const std::int32_t* order = bytes_.order + p * W;
        if (!bytes_decide(bytes_, book_, panel)) {
            for (std::size_t r = 0; r < W && order[r] >= 0; ++r) decide_among_all(order[r]);
            return;
        }
        set_lines(panel);
        alignas(64) float lowest[W];
        for (std::size_t r = 0; r < W; ++r) {
            lowest[r] = static_cast<float>(__builtin_inf());
            found_->count[r] = 0;
        }
        const std::size_t quads = (book_.d + 3) / 4;
        const std::uint8_t* codes = bytes_.codes + p * quads * 4 * W;
        auto run = byte_tile_of(kByteTileRows);
        std::size_t size = kByteTileRows;
        for (std::size_t q0 = 0; q0 < book_.tiles;) {
            std::size_t q = q0;
            const std::size_t begin = book_.first[q0];
            for (; q < book_.tiles && book_.first[q + 1] - begin <= kLowCenters; ++q) {
                const std::size_t j = book_.first[q], now = book_.first[q + 1] - j;
                if (now != size) run = byte_tile_of(static_cast<int>(size = now));
                run(codes, book_.codes + j * quads * 4, quads, book_.start + j,
                    {lines_.slope + j, lines_.low + j, lines_.high + j}, low_ + (j - begin) * W,
                    lowest);
            }
            find(begin, book_.first[q], lowest);
            q0 = q;
        }
        settle(order, lowest);
    }

    // The lines of all centers for one panel.
    void set_lines(const BytePanel& panel) {
        const S::Reg step = S::set1(static_cast<float>(panel.step * book_.scale));
        const ByteErrors errors(book_, panel.reach, panel.error, row_size(bytes_, book_, panel));
        const std::size_t at = static_cast<std::size_t>(panel.pivot) * book_.padded;
        for (std::size_t j = 0; j < book_.padded; j += S::width) {
            const S::Reg error = errors.of(book_, at, j);
            S::store(lines_.slope + j, S::mul(step, S::load(book_.step + j)));
            S::store(lines_.low + j, S::sub(S::load(book_.low + at + j), error));
            S::store(lines_.high + j, S::add(S::load(book_.high + at + j), error));
        }
    }

    // Lists the centers of the stored tiles that may be nearest. Without branches up to the few
    // centers that are candidates of a row, as the processor could not predict them.
    void find(std::size_t begin, std::size_t end, const float* lowest) {
        const std::size_t count = end - begin;
        mark_low(low_, lowest, count, mask_);
        const std::size_t listed = list_nonzero(mask_, count, hit_);
        for (std::size_t e = 0; e < listed; ++e) {
            const std::size_t at = static_cast<std::size_t>(hit_[e]);
            for (std::uint32_t hits = mask_[at]; hits; hits &= hits - 1) {
                const std::size_t r = static_cast<std::size_t>(__builtin_ctz(hits));
                const std::int32_t have = found_->count[r]++;
                if (have >= static_cast<std::int32_t>(kMaxByteCandidates)) continue;
                found_->center[r][have] = static_cast<std::int32_t>(begin + at);
                found_->low[r][have] = low_[at * W + r];
            }
        }
    }

    // Labels the rows with one candidate, and hands on those with several. They are prefetched, and
    // decided after the next panel: their values have arrived by then.
    void settle(const std::int32_t* order, const float* lowest) {
        OpenRows& next = open_[turn_ ^= 1];
        next.count = 0;
        for (std::size_t r = 0; r < W && order[r] >= 0; ++r) {
            const std::int32_t have = found_->count[r];
            if (have == 1) {
                set_label(order[r], found_->center[r][0]);
                continue;
            }
            if (have < 1 || have > static_cast<std::int32_t>(kMaxByteCandidates)) {
                decide_among_all(order[r]);
                continue;
            }
            std::int32_t left = 0, *center = next.center[next.count];
            for (std::int32_t c = 0; c < have; ++c) {  // those of earlier tiles may be ruled out
                center[left] = found_->center[r][c];
                left += !(found_->low[r][c] > lowest[r]);
            }
            if (left == 1) {
                set_label(order[r], center[0]);
                continue;
            }
            next.row[next.count] = order[r];
            next.candidates[next.count++] = left;
            reader_.prefetch(static_cast<std::size_t>(order[r]) - base_);
        }
        decide(open_[turn_ ^ 1]);
    }

    void decide(OpenRows& open) {
        for (std::size_t e = 0; e < open.count; ++e)
            decide(open.row[e], open.center[e], open.candidates[e]);
        open.count = 0;
    }

    // Decides among the candidates of a row, in ascending order.
    void decide(std::int32_t i, const std::int32_t* center, std::int32_t candidates) {
        ++counts_.open;
        counts_.candidates += candidates;
        const R* x = row(i);
        scale_row(book_.exact, x, panel_);
        std::int32_t nearest = center[0];
        double best = scaled_distance(book_.exact, panel_, static_cast<std::size_t>(nearest));
        for (std::int32_t c = 1; c < candidates; ++c) {
            const std::int32_t j = center[c];
            const double square = scaled_distance(book_.exact, panel_, static_cast<std::size_t>(j));
            if (square > best * (1 + tie_share_)) continue;
            if (!(square < best * (1 - tie_share_))) {
                const double here = exact_distance(book_.exact, x, static_cast<std::size_t>(j));
                const double there =
                    exact_distance(book_.exact, x, static_cast<std::size_t>(nearest));
                if (!(here < there)) continue;  // the lower index on ties
            }
            best = square;
            nearest = j;
        }
        if (!(best < __builtin_inf())) return decide_among_all(i);
        set_label(i, nearest);
    }

    void decide_among_all(std::int32_t i) {
        ++counts_.open;
        counts_.candidates += static_cast<std::int64_t>(book_.k);
        std::int32_t listed = 0, label = 0;
        exact_nearest(book_.exact, row(i), &listed, 1, panel_, &label);
        set_label(i, label);
    }

    void set_label(std::int32_t i, std::int32_t now) {
        const std::size_t at = static_cast<std::size_t>(i) - base_;
        if (label_[at] == now) return;
        if (joins_ && label_[at] < 0)
            joined_.list(row(i), now);
        else if (sums_)
            accumulator_.push(row(i), at, label_[at], now);
        label_[at] = now;
        ++counts_.moved;
    }

    ByteRowsView bytes_{};
    ByteBookView book_;
    R* wide_row_ = nullptr;
    std::size_t base_ = 0;
    std::int32_t* label_ = nullptr;
    const SumView* sums_ = nullptr;
    const SumView none_{};
    double tie_share_ = 0;
    ByteLines lines_{};
    float* low_ = nullptr;
    std::uint32_t* mask_ = nullptr;
    std::int32_t* hit_ = nullptr;
    Found* found_ = nullptr;
    OpenRows* open_ = nullptr;
    std::size_t turn_ = 0;
    double* panel_ = nullptr;
    unsigned char* join_scratch_ = nullptr;
    std::size_t used_ = 0;
    RowAccumulator<R> accumulator_;
    bool joins_ = false;  // rows without a label, which stay where they are, are added together
    JoinedSums<R> joined_;
    RowReader<R> reader_;
    ByteCounts counts_{};
};

// Labels the rows of panels first … last − 1, of which `rows` has those from row `base` on; if it
// has no values, `narrow` has them.
template <class R>
ByteCounts assign_bytes(const ByteRowsView& bytes, const ByteBookView& book, const Rows<R>& rows,
                        const NarrowRows& narrow, std::size_t base, std::size_t first,
                        std::size_t last, std::int32_t* label, const SumView* sums,
                        unsigned char* memory) {
    return BytePass<R>(bytes, book, rows, narrow, base, label, sums, memory).run(first, last);
}

}  // namespace partita::PARTITA_ISA
