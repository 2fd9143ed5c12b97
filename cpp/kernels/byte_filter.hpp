// The filter of bounded_pass.hpp by products of bytes: open rows are gathered from the copy in bytes,
// a quarter of what floats would read. The bounds are derived in byte_book.hpp. Distances to own
// centers are bounds, too, so no row is read unless it has a candidate.
#pragma once

#include "bounded_pass.hpp"
#include "byte_tile.hpp"

namespace partita::PARTITA_ISA {

class ByteFilter {
public:
    static constexpr bool kOwnIsExact = false;
    static constexpr std::size_t kFetchAhead = 16;  // rows between fetching one and measuring it

    // base: row of the data that is row 0 of the call
    ByteFilter(const ByteRowsView& bytes, const ByteBookView& book, std::size_t base,
               const MotionView& motion, unsigned char* memory)
        : bytes_(bytes), book_(book), order_(motion.place), place_(bytes.place + base),
          quads_((book.d + 3) / 4), unit_(book.scale / book.exact.scale),
          per_unit_((1 + 0x1p-20) / (unit_ * unit_)), per_area_(1 / (book.scale * book.scale)),
          per_scaled_(static_cast<float>(1.0 / (motion.quantum * book.scale)) * (1 - 0x1p-20f)) {
        lay_out(memory, book.padded, quads_);
    }

    static std::size_t bytes(std::size_t k, std::size_t d) {
        ScratchArena arena(nullptr);
        arena.take<std::uint8_t>((d + 3) / 4 * 4 * W);
        arena.take<float>((k + 15) / 16 * 16);
        return arena.used();
    }

    const ByteBookView& book() const { return book_; }

    PARTITA_INLINE void fetch(std::size_t i) const {
        const std::size_t place = static_cast<std::size_t>(place_[i]);
        prefetch_bytes(bytes_.codes + place * quads_ * 4, quads_ * 4);
        __builtin_prefetch(bytes_.square + place);
        __builtin_prefetch(bytes_.panel + place / W);
    }

    // The squared distance of row i to center a, from above; infinite if bytes cannot tell it.
    double own_square(std::size_t i, std::size_t a) const {
        const std::size_t place = static_cast<std::size_t>(place_[i]);
        const BytePanel& panel = bytes_.panel[place / W];
        if (!bytes_decide(bytes_, book_, panel)) return __builtin_inf();
        const std::size_t j = static_cast<std::size_t>(order_[a]);
        const ByteErrors errors(book_, panel.reach, panel.error, row_size(bytes_, book_, panel));
        const double step = panel.step * book_.scale * static_cast<double>(book_.step[j]);
        const double score = static_cast<double>(book_.high[j]) + errors.of_one(book_, 0, j) -
                             step * static_cast<double>(product(place, j));
        const double square = 2 * score + square_of(place) * (1 + lane_sum_error(book_.d));
        return square > 0 ? square * per_unit_ : 0;
    }

    // Gathers a panel of rows; `own`: their squared distances to their own centers, from above.
    void begin(const std::int32_t* at, std::size_t count, const double* own) {
        const std::uint8_t* codes[W];
        double reach = 0, error = 0, size = 0;
        for (std::size_t r = 0; r < W; ++r) {
            threshold_[r] = -static_cast<float>(__builtin_inf());
            row_step_[r] = square_[r] = blur_[r] = 0;
            codes[r] = r < count ? codes_of(at[r]) : codes[0];
            if (r >= count) continue;
            const std::size_t place = static_cast<std::size_t>(place_[at[r]]);
            const BytePanel& panel = bytes_.panel[place / W];
            if (!bytes_decide(bytes_, book_, panel)) {  // every center is a candidate
                threshold_[r] = static_cast<float>(__builtin_inf());
                continue;
            }
            const double length = row_size(bytes_, book_, panel);
            reach = panel.reach > reach ? panel.reach : reach;
            error = panel.error > error ? panel.error : error;
            size = length > size ? length : size;
            row_step_[r] = static_cast<float>(panel.step * book_.scale);
            set_threshold(r, length, own[r], square_of(place));
        }
        errors_ = ByteErrors(book_, reach, error, size);
        transpose_codes([&](std::size_t r) { return codes[r]; }, quads_, panel_);
    }

    // The lines of a group's centers, whole vectors at a time.
    void begin_group(std::size_t g) {
        using S = ByteLanes;
        for (std::size_t r = 0; r < W; ++r) low_[r] = static_cast<float>(__builtin_inf());
        const std::size_t last = book_.first[book_.group[g + 1]];
        std::size_t j = book_.first[book_.group[g]] / S::width * S::width;
        for (; j < last; j += S::width)
            S::store(line_ + j, S::sub(S::load(book_.low + j), errors_.of(book_, 0, j)));
    }

    bool scan(std::size_t q, std::uint32_t* hits) {
        const std::size_t first = book_.first[q];
        return byte_tile_filter_of(tile_rows(book_, q))(
            panel_, book_.codes + first * quads_ * 4, quads_, book_.start + first,
            book_.step + first, line_ + first, row_step_, threshold_, low_, hits);
    }

    // The distances to the nearest of the centers scanned since begin_group() that are no
    // candidates, in quanta, from below.
    void low_quanta(std::int32_t* quanta) const {
        for (std::size_t r = 0; r < W; ++r) {
            const float size = __builtin_fabsf(low_[r]);
            float v = square_[r] + 2 * low_[r] - size * 0x1p-20f;
            v = v > 0 ? v : 0;
            quanta[r] = whole_quanta(__builtin_sqrtf(v) - blur_[r], per_scaled_);
        }
    }

private:
    static constexpr std::size_t W = kByteWidth;

    void lay_out(unsigned char* memory, std::size_t padded, std::size_t quads) {
        ScratchArena arena(memory);
        panel_ = arena.take<std::uint8_t>(quads * 4 * W);
        line_ = arena.take<float>(padded);
    }

    const std::uint8_t* codes_of(std::int32_t i) const {
        return bytes_.codes + static_cast<std::size_t>(place_[i]) * quads_ * 4;
    }

    // ‖y‖² of a place, scaled, up to the rounding of its sum.
    double square_of(std::size_t place) const {
        const double step = bytes_.panel[place / W].step * book_.scale;
        return static_cast<double>(bytes_.square[place]) * step * step;
    }

    // The product of the codes of a place with those of the center in place j.
    std::int32_t product(std::size_t place, std::size_t j) const {
        using S = ByteLanes;
        const std::size_t length = quads_ * 4, step = S::width * 4;
        const std::uint8_t* x = bytes_.codes + place * length;
        const std::int8_t* c = book_.flat + j * flat_codes(book_.d);
        ByteReg sum = S::set1_int(0);
        for (std::size_t b = 0; b < length; b += step)  // codes of centers end in zeros
            sum = Bytes::dot(sum, Bytes::load_any(x + b),
                             S::load_int(reinterpret_cast<const std::int32_t*>(c + b)));
        return book_.start[j] + sum_of_lanes(sum);
    }

    // A nearer center's score is at most (own² − ‖y‖²) / 2, plus the error of D64.
    void set_threshold(std::size_t r, double size, double own, double square) {
        const double least = square * (1 - lane_sum_error(book_.d));
        const double far = own * (unit_ * unit_) * (1 + 0x1p-20);
        const double d64 = book_.d64_error * (3 * size * size + 2 * far * per_area_);
        const double most = 0.5 * (far - least) + d64;
        threshold_[r] = static_cast<float>(most + __builtin_fabs(most) * 0x1p-20 + 0x1p-100);
        square_[r] = static_cast<float>(least * (1 - 0x1p-20));
        blur_[r] = static_cast<float>(0x1p-48 * size * book_.scale);
    }

    const ByteRowsView& bytes_;
    const ByteBookView& book_;
    const std::int32_t *order_, *place_;  // of the centers in the book; of the rows in the copy
    std::size_t quads_;
    double unit_;       // a length of D64 in scaled units
    double per_area_;   // squared lengths of D64 in those of the data's units
    double per_unit_;   // squared lengths in the units of D64, from above
    float per_scaled_;  // quanta of a scaled unit, from below
    std::uint8_t* panel_ = nullptr;
    float* line_ = nullptr;  // (padded)
    ByteErrors errors_{book_, 0, 0, 0};
    alignas(64) float threshold_[W], low_[W], row_step_[W], square_[W], blur_[W];
};

template <class R>
std::size_t byte_bounded_scratch(std::size_t n, std::size_t k, std::size_t d) {
    return BoundScratch(nullptr, n, k, ByteFilter::bytes(k, d), RowAccumulator<R>::bytes(d),
                        d * sizeof(R))
        .used;
}

// The pass with bounds over rows of which row i is row base + i of the copy in bytes. If `rows` has no
// values, `narrow` has them.
template <class R>
PrunedCounts assign_byte_bounded(const ByteRowsView& bytes, const ByteBookView& book,
                                 std::size_t base, const Rows<R>& rows, const NarrowRows& narrow,
                                 const MotionView& motion, const BoundView& bounds,
                                 std::int32_t* label, bool whole, const SumView* sums,
                                 unsigned char* memory) {
    const BoundScratch scratch(memory, rows.n, book.k, ByteFilter::bytes(book.k, book.d),
                               RowAccumulator<R>::bytes(book.d), book.d * sizeof(R));
    const RowReader<R> reader(rows, narrow, reinterpret_cast<R*>(scratch.wide));
    ByteFilter filter(bytes, book, base, motion, scratch.filter);
    return BoundedPass<R, ByteFilter>(filter, book.exact, reader, motion, bounds, label, sums,
                                      scratch)
        .run(whole);
}

}  // namespace partita::PARTITA_ISA
