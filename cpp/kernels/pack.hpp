// Rows on their way into the tiles: transposed, centred, scaled.
#pragma once

#include "tile.hpp"
#include "views.hpp"

namespace partita::PARTITA_ISA {

// Transposes, centres and scales kPanelWidth rows into one panel; its last row holds what each
// point's norm may cost a score, so that the tile subtracts the error of every single pair.
template <class T>
void pack_panel(const BookView<T>& book, const T* rows, T* panel, T* square, T* norm) {
    using S = Simd<T>;
    constexpr std::size_t W = kPanelWidth<T>;
    const std::int32_t stride = static_cast<std::int32_t>(book.d);
    const typename S::Reg scale = S::set1(book.fast_scale);
    typename S::Reg squares[kTileVectors];
    for (int v = 0; v < kTileVectors; ++v) squares[v] = S::set1(0);
    for (std::size_t t = 0; t < book.d; ++t) {
        const typename S::Reg pivot = S::set1(book.pivot[t]);
#pragma GCC unroll 4
        for (int v = 0; v < kTileVectors; ++v) {
            const typename S::Reg x = S::column(rows + v * S::width * book.d + t, stride);
            const typename S::Reg y = S::sub(S::mul(x, scale), pivot);
            S::store(panel + t * W + v * S::width, y);
            squares[v] = S::add(squares[v], S::mul(y, y));
        }
    }
    for (int v = 0; v < kTileVectors; ++v) S::store(square + v * S::width, squares[v]);
    for (std::size_t r = 0; r < W; ++r) {
        norm[r] = static_cast<T>(__builtin_sqrt(square[r])) * book.norm_up + book.drift;
        panel[book.d * W + r] = norm[r];
    }
}

// The last rows of the data do not fill a panel: they are copied first, and zeros follow them.
template <class T>
void pack_part(const BookView<T>& book, const T* rows, std::size_t m, T* padded, T* panel,
               T* square, T* norm) {
    for (std::size_t i = 0; i < kPanelWidth<T> * book.d; ++i) padded[i] = i < m * book.d ? rows[i] : 0;
    pack_panel(book, padded, panel, square, norm);
}

}  // namespace partita::PARTITA_ISA
