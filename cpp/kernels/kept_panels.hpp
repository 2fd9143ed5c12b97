// All rows packed for the float32 tiles, once for many plain passes. Packing a row costs as much as
// ten centers, so with few centers it is most of a pass.
#pragma once

#include "codebook.hpp"

namespace partita {

// One pass at a time: every pass writes its norms into the panels.
class KeptPanels {
public:
    // Memory for n rows in the frame of a book, in panels of `width` rows.
    KeptPanels(const BookView<float>& book, std::size_t n, std::size_t width)
        : n_(n), d_(book.d), width_(width), zero_(book.zero, book.zero + book.d),
          scale_(static_cast<double>(book.fast_scale)),
          data_(make_aligned<float>((n + width - 1) / width * width * (book.d + 1))),
          square_(make_aligned<float>((n + width - 1) / width * width)) {}

    std::size_t n() const { return n_; }
    std::size_t d() const { return d_; }
    std::size_t width() const { return width_; }
    Frame frame() const { return {zero_.data(), scale_}; }
    // True if the rows are packed in the frame of this book.
    bool fit(const BookView<float>& book) const {
        return book.d == d_ && static_cast<double>(book.fast_scale) == scale_ &&
               std::equal(zero_.begin(), zero_.end(), book.zero);
    }
    // The panels from `row` on, which must be the first of a panel.
    PanelView<float> view(std::size_t row) const {
        return {data_.get() + row * (d_ + 1), square_.get() + row};
    }
    float* squares(std::size_t row) { return square_.get() + row; }

private:
    std::size_t n_, d_, width_;
    std::vector<double> zero_;
    double scale_;
    Aligned<float> data_, square_;
};

}  // namespace partita
