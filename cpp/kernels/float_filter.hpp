// The filter of bounded_pass.hpp by scores in float32, of all features or of fewer ones whose
// distances are never larger (a rotated prefix and the length of the rest).
#pragma once

#include "bounded_pass.hpp"

namespace partita::PARTITA_ISA {

// F: type of the filter rows; R: type of the data.
template <class R, class F>
class FloatFilter {
public:
    static constexpr bool kOwnIsExact = true;
    static constexpr std::size_t kFetchAhead = 6;  // rows between fetching one and measuring it

    FloatFilter(const BookView<float>& book, const ExactView& exact, const Rows<R>& rows,
                const F* filter_rows, const MotionView& motion, unsigned char* memory)
        : book_(book), exact_(exact), rows_(rows), filter_rows_(filter_rows),
          tie_share_(tie_share(exact.d)), motion_blur_(motion.blur),
          per_scaled_(
              static_cast<float>(1.0 / (motion.quantum * static_cast<double>(book.fast_scale))) *
              (1 - 0x1p-20f)) {
        lay_out(memory, book.d);
    }

    static std::size_t bytes(std::size_t depth) {
        ScratchArena arena(nullptr);
        arena.take<float>(W * depth);
        arena.take<float>(W * (depth + 1));
        arena.take<F>(W * depth);
        return arena.used();
    }

    const BookView<float>& book() const { return book_; }

    PARTITA_INLINE void fetch(std::size_t i) const {
        prefetch_row(rows_.data + i * rows_.d, rows_.d);
    }

    PARTITA_INLINE double own_square(std::size_t i, std::size_t a) const {
        return quick_distance(exact_, rows_.data + i * rows_.d, a, __builtin_inf());
    }

    // Packs a panel of rows; `own`: their squared distances to their own centers.
    void begin(const std::int32_t* at, std::size_t count, const double* own) {
        pack(at, count);
        const double unit = static_cast<double>(book_.fast_scale) / exact_.scale;
        for (std::size_t r = 0; r < W; ++r) {
            if (r >= count) {
                threshold_[r] = -static_cast<float>(__builtin_inf());
                shared_[r] = blur_[r] = 0;
                continue;
            }
            // A nearer center's score is at most (own² − ‖y‖²) / 2, plus rounding errors.
            const double length = static_cast<double>(norm_[r]);
            const double fuzz = motion_blur_ * length;
            const double far = __builtin_sqrt(own[r]) * unit * (1 + tie_share_) + fuzz;
            shared_[r] = book_.depth > book_.d ? 0.0f : norm_[r] * book_.slope[0];
            blur_[r] = static_cast<float>(fuzz);
            const double margin =
                length * length * (static_cast<double>(book_.own_error) + own_gamma()) +
                static_cast<double>(shared_[r]);
            const double most = 0.5 * (far * far - static_cast<double>(square_[r])) + margin;
            threshold_[r] = static_cast<float>(most + __builtin_fabs(most) * 0x1p-22 + 0x1p-100);
            if (!(length < kMaxFastNorm)) threshold_[r] = static_cast<float>(__builtin_inf());
        }
    }

    void begin_group(std::size_t) {
        for (std::size_t r = 0; r < W; ++r) low_[r] = static_cast<float>(__builtin_inf());
    }

    bool scan(std::size_t q, std::uint32_t* hits) {
        const std::size_t first = book_.first[q];
        return tile_filter_of<float>(tile_rows(book_, q))(
            panel_, book_.packed + first * book_.depth, book_.start + first, book_.depth,
            threshold_, low_, hits);
    }

    // The distances to the nearest of the centers scanned since begin_group() that are no
    // candidates, in quanta, from below.
    void low_quanta(std::int32_t* quanta) const {
        const float loose = static_cast<float>(own_gamma()) + 0x1p-21f;
        for (std::size_t r = 0; r < W; ++r) {
            const float score = low_[r] - shared_[r];
            const float size = __builtin_fabsf(score);
            float v = square_[r] + 2 * score - (norm_[r] * norm_[r] * loose + size * 0x1p-21f);
            v = v > 0 ? v : 0;
            quanta[r] = whole_quanta(__builtin_sqrtf(v) - blur_[r], per_scaled_);
        }
    }

private:
    static constexpr std::size_t W = kPanelWidth<float>;

    void lay_out(unsigned char* memory, std::size_t depth) {
        ScratchArena arena(memory);
        padded_ = arena.take<float>(W * depth);
        panel_ = arena.take<float>(W * (depth + 1));
        gathered_ = arena.take<F>(W * depth);
    }

    // Relative error of the float32 ‖y‖².
    double own_gamma() const { return static_cast<double>(book_.norm_up) - 1.0; }

    void pack(const std::int32_t* at, std::size_t count) {
        const std::size_t d = book_.d;
        for (std::size_t r = 0; r < W; ++r) {
            const F* x = filter_rows_ + static_cast<std::size_t>(at[r < count ? r : 0]) * d;
            for (std::size_t t = 0; t < d; ++t) gathered_[r * d + t] = x[t];
        }
        pack_panel(book_, gathered_, padded_, panel_, square_, norm_);
    }

    const BookView<float>& book_;
    const ExactView& exact_;
    const Rows<R>& rows_;
    const F* filter_rows_;
    double tie_share_, motion_blur_;
    float per_scaled_;  // quanta of a scaled unit, from below
    float *padded_ = nullptr, *panel_ = nullptr;
    F* gathered_ = nullptr;
    alignas(64) float threshold_[W], low_[W], shared_[W], square_[W], blur_[W], norm_[W];
};

// Enough for filter rows of up to d + 1 features, too.
template <class R>
std::size_t bounded_scratch(std::size_t n, std::size_t k, std::size_t d) {
    const std::size_t filter = FloatFilter<R, R>::bytes(d + 1);
    return BoundScratch(nullptr, n, k, filter, RowAccumulator<R>::bytes(d), 0).used;
}

template <class R, class F>
PrunedCounts assign_bounded(const BookView<float>& book, const ExactView& exact,
                            const Rows<R>& rows, const F* filter_rows, const MotionView& motion,
                            const BoundView& bounds, std::int32_t* label, bool whole,
                            const SumView* sums, unsigned char* memory) {
    const std::size_t bytes = FloatFilter<R, R>::bytes(book.d);
    const BoundScratch scratch(memory, rows.n, exact.k, bytes, RowAccumulator<R>::bytes(exact.d),
                               0);
    const RowReader<R> reader(rows, {}, nullptr);
    FloatFilter<R, F> filter(book, exact, rows, filter_rows, motion, scratch.filter);
    return BoundedPass<R, FloatFilter<R, F>>(filter, exact, reader, motion, bounds, label, sums,
                                             scratch)
        .run(whole);
}

}  // namespace partita::PARTITA_ISA
