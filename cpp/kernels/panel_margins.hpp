// The margins of the rows of one panel: how much nearer the nearest center is than others.
//
// Margins are lower bounds. Scores are such already (codebook.hpp), but for E′, the part of their
// error E that tiles leave out. With s₁ the lowest score, s₂ the lowest of the other centers in
// question,
//
//     d₁² ≤ ‖y‖² + 2(s₁ + 2E)        d₂² ≥ ‖y‖² + 2(s₂ − E′)
//
// and the rounding of D64, which defines labels, is covered by 8ε(d₂ + ‖y‖), ε = (d + 8)·2⁻⁵².
// (D64 of a center at distance d is off by at most ε(d² + 2d‖y‖). So labels agree while d₂ − d₁
// exceeds ε(d₁ + d₂ + 2‖y‖): a farther center has a larger error, but a gap that grows faster.)
#pragma once

#include "dense_pass.hpp"

namespace partita::PARTITA_ISA {

class PanelMargins {
public:
    explicit PanelMargins(const BookView<float>& book)
        : d64_error_(static_cast<float>(margin_error(book.d))),
          norm_error_(2 * static_cast<float>(static_cast<double>(book.norm_up) - 1.0) + 0x1p-20f) {}

    // For the rows of a panel, with their scores and norms in s; squares: ‖y‖² of each.
    template <class R>
    void begin(const BookView<float>& book, const Scratch<float, R>& s, const float* squares) {
        const bool uniform = book.depth == book.d;  // scores do not include slope·norm
        alignas(64) float slope[W], slack[W];
        for (std::size_t r = 0; r < W; ++r) {
            slope[r] = book.max_slope;
            slack[r] = book.max_slack;
        }
        for (std::size_t r = 0; r < W && !uniform; ++r) {
            slope[r] = book.slope[s.nearest[r]];
            slack[r] = book.slack[s.nearest[r]];
        }
        const S::Reg up = S::set1(1 + norm_error_), low = S::set1(1 - norm_error_);
        const S::Reg two = S::set1(2), none = S::set1(0), d64 = S::set1(book.own_error);
        for (std::size_t v = 0; v < W; v += S::width) {
            const S::Reg norm = S::load(s.norm + v), square = S::load(squares + v);
            const S::Reg best = S::load(s.best + v), exact = S::mul(S::mul(norm, norm), d64);
            const S::Reg sloped = S::mul(norm, S::load(slope + v));
            const S::Reg error = S::add(S::add(sloped, S::load(slack + v)), exact);
            const S::Reg missing = uniform ? S::add(sloped, exact) : exact;
            S::Reg most = S::add(best, S::mul(two, error));
            most = S::add(S::mul(square, up), S::mul(two, most));
            const S::Reg size = S::max(best, S::sub(none, best));
            most = S::max(S::add(most, S::mul(size, S::set1(0x1p-20f))), none);
            const S::Reg d1 = S::mul(S::sqrt(most), S::set1(1 + 0x1p-20f));
            S::store(base_ + v, S::sub(S::mul(square, low), S::mul(two, missing)));
            S::store(cost_ + v, S::add(d1, S::mul(norm, S::set1(d64_error_))));
        }
    }

    // What the centers with these scores are farther than the nearest, from below; returns the
    // least of all rows.
    float set(const float* score, float* margin) const {
        const S::Reg two = S::set1(2), none = S::set1(0);
        const S::Reg far = S::set1(static_cast<float>(kMaxFastNorm * kMaxFastNorm));
        S::Reg least = S::set1(__builtin_inff());
        for (std::size_t v = 0; v < W; v += S::width) {
            const S::Reg s = S::min(far, S::load(score + v));  // without a score, it is farther
            const S::Reg size = S::max(s, S::sub(none, s));
            S::Reg next = S::add(S::load(base_ + v), S::mul(two, s));
            next = S::max(S::sub(next, S::mul(size, S::set1(0x1p-20f))), none);  // NaN: 0
            const S::Reg d2 = S::mul(S::sqrt(next), S::set1(1 - 0x1p-20f - d64_error_));
            const S::Reg m = S::sub(d2, S::load(cost_ + v));
            S::store(margin + v, m);
            least = S::min(least, m);
        }
        return S::lowest(least);
    }

    // The distance of each row to its nearest center, with the error of D64, from above.
    const float* nearest() const { return cost_; }

private:
    using S = Simd<float>;
    static constexpr std::size_t W = kPanelWidth<float>;

    float d64_error_, norm_error_;
    alignas(64) float base_[W], cost_[W];  // of each row: ‖y‖² − 2E′; d₁ and the error of D64
};

}  // namespace partita::PARTITA_ISA
