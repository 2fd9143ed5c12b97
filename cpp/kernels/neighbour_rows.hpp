// Rows packed in panels of one label each, and the distances between centers. See
// neighbour_pass.hpp.
#pragma once

#include <cstring>

#include "row_margins.hpp"

namespace partita {

class NeighbourRows {
public:
    using Lower = void(float*, const float*, float, std::size_t);  // lower_bounds()

    // Panels for n rows of k labels. Nothing is packed yet.
    NeighbourRows(const BookView<float>& book, std::size_t n, std::size_t width, Lower* lower)
        : n_(n), k_(book.k), width_(width), stride_(gap_stride(book.k)),
          panels_(most_panels(n, book.k, width)), order_(panels_ * width, -1), label_(panels_, -1),
          hole_(k_, -1), changed_(panels_, kUnchanged), panel_until_(panels_, kNever),
          away_(make_aligned<float>(order_.size())), until_(make_aligned<float>(panels_ * stride_)),
          gap_(make_aligned<float>(k_ * stride_)), own_(make_aligned<float>(stride_)),
          center_stride_((book.d + 1 + 15) / 16 * 16),
          centers_(make_aligned<float>((k_ + 1) * center_stride_)), start_(k_ + 1),
          way_(std::vector<std::int32_t>(k_, 0), 1), lower_(lower) {
        std::fill_n(own_.get(), stride_, 0.0f);
        std::fill_n(centers_.get(), (k_ + 1) * center_stride_, 0.0f);
        std::fill_n(gap_.get(), k_ * stride_, std::numeric_limits<float>::infinity());
    }

    // One panel for every label that is not full, and some for rows that move to others.
    static std::size_t most_panels(std::size_t n, std::size_t k, std::size_t width) {
        const std::size_t full = (n + width - 1) / width;
        return full + k + full / 8 + k / 4 + 1;
    }

    std::size_t n() const { return n_; }
    std::size_t k() const { return k_; }
    std::size_t panels() const { return used_; }
    std::size_t places() const { return order_.size(); }  // rows of all panels, if they were full
    const std::int32_t* order() const { return order_.data(); }

    // Forgets the bounds of a panel; that to its own center always holds.
    void drop_bounds(std::size_t p) {
        float* until = &until_[p * stride_];
        std::fill_n(until, k_, kNever);
        std::fill(until + k_, until + stride_, std::numeric_limits<float>::infinity());
        if (label_[p] >= 0) until[label_[p]] = std::numeric_limits<float>::infinity();
        panel_until_[p] = kNever;
    }

    // Puts the rows in order of their labels, those of one label by their distance to its center,
    // as it was when a pass last compared them. They must be packed anew, and drop_bounds() called for
    // every panel.
    void sort(const std::int32_t* labels) {
        std::vector<float> away(n_);
        for (std::size_t place = 0; place < used_ * width_; ++place)
            if (order_[place] >= 0) away[static_cast<std::size_t>(order_[place])] = away_[place];
        arrange(labels, away.data());
    }

    // The same by given distances (n).
    void arrange(const std::int32_t* labels, const float* away) {
        std::vector<std::uint32_t> begin(k_ * kBuckets + 1, 0), key(n_);
        std::vector<float> farthest(k_, 0.0f);
        for (std::size_t i = 0; i < n_; ++i) {
            float& far = farthest[static_cast<std::size_t>(labels[i])];
            far = std::max(far, away[i]);
        }
        for (std::size_t i = 0; i < n_; ++i) {
            const std::size_t label = static_cast<std::size_t>(labels[i]);
            key[i] =
                static_cast<std::uint32_t>(label * kBuckets) + bucket(away[i], farthest[label]);
            ++begin[key[i] + 1];
        }
        place_labels(begin);
        std::fill(order_.begin(), order_.end(), -1);
        for (std::size_t i = 0; i < n_; ++i) {
            const std::size_t place = begin[key[i]]++;
            order_[place] = static_cast<std::int32_t>(i);
            away_[place] = away[i];
        }
        std::fill(changed_.begin(), changed_.end(), kUnchanged);
    }

    // Takes the centers of a pass to come, and adds what they moved.
    void follow(const BookView<float>& book) {
        if (!way_.follow(book.exact))
            for (std::size_t p = 0; p < used_; ++p) drop_bounds(p);
        const double scale = static_cast<double>(book.fast_scale);
        travel_.resize(k_);
        for (std::size_t j = 0; j < k_; ++j) {
            travel_[j] = static_cast<float>(way_.total()[j] * scale) * (1 + 0x1p-22f);
            own_[j] = static_cast<float>(way_.own()[j] * scale) * (1 + 0x1p-22f);
        }
        std::copy_n(book.start, k_, start_.begin());
        start_[k_] = std::numeric_limits<float>::infinity();
        for (std::size_t q = 0; q < book.tiles; ++q) {
            const std::size_t first = book.first[q], size = book.first[q + 1] - first;
            const float* tile = book.packed + first * book.depth;
            for (std::size_t r = 0; r < size; ++r)
                for (std::size_t t = 0; t < book.depth; ++t)
                    centers_[(first + r) * center_stride_ + t] = tile[t * size + r];
        }
        double origin = 0;
        for (std::size_t t = 0; t < book.d; ++t) {
            const double apart = (book.exact.origin[t] - book.zero[t]) * scale;
            origin += apart * apart;
        }
        blur_ = static_cast<float>(margin_error(book.d) * std::sqrt(origin)) * (1 + 0x1p-22f);
    }
    const float* centers() const { return centers_.get(); }
    std::size_t center_stride() const { return center_stride_; }
    float* gap() { return gap_.get(); }
    bool follows(const BookView<float>& book) const { return way_.is_at(book.exact); }

    // With the rows of these panels, and with the distances between centers if they are set.
    NeighbourView view(const KeptPanels& kept, bool with_gaps) {
        const PanelView<float> packed = kept.view(0);
        return {
            packed.data,    packed.square,  order_.data(),       label_.data(),
            away_.get(),    until_.get(),   panel_until_.data(), changed_.data(),
            centers_.get(), start_.data(),  center_stride_,      with_gaps ? gap_.get() : nullptr,
            stride_,        travel_.data(), own_.get(),          blur_};
    }

    // Moves the rows whose labels changed to panels of these; false if there is no room left, and
    // the rows must be sorted.
    bool settle(KeptPanels& kept, const std::int32_t* labels) {
        const std::size_t before = used_;
        bool fits = true;
        for (std::size_t p = 0; p < before; ++p) {
            if (changed_[p] == kUnchanged) continue;
            for (std::size_t place = p * width_; place < (p + 1) * width_; ++place) {
                const std::int32_t i = order_[place];
                if (i < 0 || labels[i] == label_[p]) continue;
                fits = fits && insert(kept, place, labels[i]);
                order_[place] = -1;
            }
            changed_[p] = kUnchanged;
            fill_holes(kept, p);
        }
        return fits;
    }

    // Accepts labels that a pass did not set; false as for settle().
    bool relabel(KeptPanels& kept, const std::int32_t* labels) {
        for (std::size_t place = 0; place < used_ * width_; ++place) {
            const std::int32_t i = order_[place];
            if (i >= 0 && labels[i] != label_[place / width_])
                changed_[place / width_] = kMovedByD64;  // they have no bounds
        }
        return settle(kept, labels);
    }

private:
    static constexpr std::size_t kBuckets = 64;  // of distances, 16 in an octave
    static constexpr float kNever = -std::numeric_limits<float>::infinity();

    static std::uint32_t bits_of(float value) {
        std::uint32_t bits;
        std::memcpy(&bits, &value, 4);
        return bits >> 19;
    }
    static std::uint32_t bucket(float away, float far) {
        if (!(away > 0)) return 0;
        const std::uint32_t below = bits_of(far) - bits_of(away);
        return below < kBuckets ? static_cast<std::uint32_t>(kBuckets) - 1 - below : 0;
    }

    // Turns counts of rows by label and bucket into their first places: labels begin panels.
    void place_labels(std::vector<std::uint32_t>& begin) {
        std::size_t place = 0, next = begin[0];
        std::fill(label_.begin(), label_.end(), -1);
        std::fill(hole_.begin(), hole_.end(), -1);
        for (std::size_t a = 0; a < k_; ++a) {
            const std::size_t first = place;
            for (std::size_t b = a * kBuckets; b < (a + 1) * kBuckets; ++b) {
                next = begin[b + 1];
                begin[b] = static_cast<std::uint32_t>(place);
                place += next;
            }
            const std::size_t end = (place + width_ - 1) / width_ * width_;
            for (std::size_t p = first / width_; p < end / width_; ++p)
                label_[p] = static_cast<std::int32_t>(a);
            if (end > place) hole_[a] = static_cast<std::int32_t>(end / width_ - 1);
            place = end;
        }
        used_ = place / width_;
    }

    void copy_row(KeptPanels& kept, std::size_t from, std::size_t to) {
        float* data = kept.view(0).data;
        const std::size_t size = width_ * (kept.d() + 1);
        const float* x = data + from / width_ * size + from % width_;
        float* y = data + to / width_ * size + to % width_;
        for (std::size_t t = 0; t < kept.d(); ++t) y[t * width_] = x[t * width_];
        kept.squares(0)[to] = kept.squares(0)[from];
        away_[to] = away_[from];
    }

    // Copies the row at a place into a panel of a label; false if there is none left.
    bool insert(KeptPanels& kept, std::size_t from, std::int32_t label) {
        std::int32_t& hole = hole_[static_cast<std::size_t>(label)];
        std::size_t to = hole < 0 ? 0 : static_cast<std::size_t>(hole) * width_;
        const std::size_t end = hole < 0 ? 0 : to + width_;
        while (to < end && order_[to] >= 0) ++to;
        const bool opens = to == end;
        if (opens) {
            if (used_ == panels_) return false;
            to = used_ * width_;
            hole = static_cast<std::int32_t>(used_);
            label_[used_] = label;
            std::fill_n(&until_[used_++ * stride_], stride_,
                        std::numeric_limits<float>::infinity());
        }
        copy_row(kept, from, to);
        order_[to] = order_[from];
        lower_bounds(from / width_, to / width_);
        for (std::size_t r = 1; opens && r < width_; ++r) copy_row(kept, to, to + r);
        return true;
    }

    // Lowers the bounds of a panel to those of a row that comes from another: its new center is
    // nearer than the old one was, unless D64 decided.
    void lower_bounds(std::size_t from, std::size_t to) {
        const std::size_t old = static_cast<std::size_t>(label_[from]);
        const std::size_t now = static_cast<std::size_t>(label_[to]);
        const float *theirs = &until_[from * stride_], way = own_[now] - own_[old];
        float* until = &until_[to * stride_];
        if (changed_[from] == kMoved)
            lower_(until, theirs, way, stride_);
        else
            std::fill_n(until, k_, kNever);
        until[old] = kNever;
        until[now] = std::numeric_limits<float>::infinity();
        panel_until_[to] = kNever;
    }

    // Fills the places of a panel whose rows moved away by copies of a row that did not.
    void fill_holes(KeptPanels& kept, std::size_t p) {
        const std::size_t first = p * width_;
        std::size_t at = first;
        while (at < first + width_ && order_[at] < 0) ++at;
        std::int32_t& hole = hole_[static_cast<std::size_t>(label_[p])];
        if (at == first + width_) {
            if (hole == static_cast<std::int32_t>(p)) hole = -1;
            label_[p] = -1;
            return;
        }
        // the farthest rows of a label are in its last panels, and so should be those that come
        if (hole < 0) hole = static_cast<std::int32_t>(p);
        for (std::size_t place = first; place < first + width_; ++place)
            if (order_[place] < 0) copy_row(kept, at, place);
    }

    std::size_t n_, k_, width_, stride_, panels_, used_ = 0;
    std::vector<std::int32_t> order_, label_;
    std::vector<std::int32_t> hole_;  // of each label a panel that may have room; −1: none
    std::vector<unsigned char> changed_;
    std::vector<float> panel_until_, travel_;
    Aligned<float> away_, until_, gap_, own_;
    std::size_t center_stride_;  // whole vectors of every instruction set
    Aligned<float> centers_;
    std::vector<float> start_;
    CenterTravel way_;
    Lower* lower_;
    float blur_ = 0;
};

}  // namespace partita
