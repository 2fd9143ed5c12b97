// Finds equal rows: their bytes are hashed, and rows of equal hashes are compared.
//
// The table is cut into regions by the first bits of the hash, so that threads fill regions of
// their own. Rows enter a region in their order: the first of equal rows stands for all of them,
// for any number of threads. Zeros of either sign are different rows.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "aligned_memory.hpp"

namespace partita {

struct ByteMatrix {
    const std::uint8_t* data;
    std::size_t n, width;

    const std::uint8_t* row(std::size_t i) const { return data + i * width; }
    bool equal(std::size_t i, std::size_t j) const {
        return std::memcmp(row(i), row(j), width) == 0;
    }
    void prefetch(std::size_t i) const {
        constexpr std::size_t kLine = 64, kMaxLines = 4;  // the hardware fetches those that follow
        const std::size_t end = width < kMaxLines * kLine ? width : kMaxLines * kLine;
        for (std::size_t t = 0; t < end; t += kLine) __builtin_prefetch(row(i) + t);
    }
};

// Both halves of a product of 128 bits, folded; the constants are odd and have no pattern.
inline std::uint64_t fold_product(std::uint64_t a, std::uint64_t b) {
    const unsigned __int128 product = static_cast<unsigned __int128>(a) * b;
    return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

inline std::uint64_t word_at(const std::uint8_t* x) {
    std::uint64_t word;
    std::memcpy(&word, x, sizeof word);
    return word;
}

inline std::uint32_t hash_row(const std::uint8_t* x, std::size_t width) {
    constexpr std::uint64_t kFirst = 0xa0761d6478bd642f, kSecond = 0xe7037ed1a0b428db;
    std::uint64_t a = width ^ kSecond, b = kFirst;  // two chains, so that products overlap
    for (; width >= 32; width -= 32, x += 32) {
        a = fold_product(word_at(x) ^ kFirst, word_at(x + 8) ^ a);
        b = fold_product(word_at(x + 16) ^ kSecond, word_at(x + 24) ^ b);
    }
    if (width >= 16) {
        a = fold_product(word_at(x) ^ kFirst, word_at(x + 8) ^ a);
        width -= 16, x += 16;
    }
    std::uint64_t low = 0, high = 0;
    if (width >= 8) {
        low = word_at(x);
        high = word_at(x + width - 8);
    } else {
        std::memcpy(&low, x, width);
    }
    b = fold_product(low ^ kSecond, high ^ b);
    return static_cast<std::uint32_t>(fold_product(a ^ kFirst, b ^ kSecond) >> 32);
}

// Sets out_i to the hash of row i, for rows from `first` to `last`.
inline void hash_rows(const ByteMatrix& rows, std::size_t first, std::size_t last,
                      std::uint32_t* out) {
    for (std::size_t i = first; i < last; ++i) out[i] = hash_row(rows.row(i), rows.width);
}

class RowTable {
public:
    static constexpr std::size_t kRegions = 8, kRegionBits = 3;

    // For up to `most` different rows.
    RowTable(const ByteMatrix& rows, const std::uint32_t* hash, std::size_t most)
        : rows_(rows), hash_(hash), most_(most), region_(kMinRegion) {
        while (kRegions * region_ < 2 * most) region_ *= 2;
        slots_ = make_aligned<Slot>(kRegions * region_);
    }

    // Sets first_i to the first row that is equal to row i, for the rows of one region; serial.
    // False if there are too many rows, or so many equal hashes that it would take too long.
    bool match(std::size_t region, std::int32_t* first) {
        Slot* slots = slots_.get() + region * region_;
        for (std::size_t s = 0; s < region_; ++s) slots[s].row = kEmpty;
        Search search{slots, first};
        std::uint32_t batch[kBatch];
        for (std::size_t next = 0; next < rows_.n;) {
            std::size_t count = 0;
            for (; next < rows_.n && count < kBatch; ++next) {
                batch[count] = static_cast<std::uint32_t>(next);
                count += hash_[next] >> (32 - kRegionBits) == region;
            }
            search.rows += count;
            const std::size_t before = search.filled;
            match_batch(search, batch, count);
            const std::size_t added = search.filled - before;
            if (found_.fetch_add(added, std::memory_order_relaxed) + added > most_ ||
                4 * search.filled > 3 * region_ ||
                search.probes > kMaxProbes * (search.rows + kBatch))
                failed_.store(true, std::memory_order_relaxed);
            if (failed_.load(std::memory_order_relaxed)) return false;
        }
        return true;
    }

private:
    static constexpr std::size_t kMinRegion = 256, kBatch = 64, kMaxProbes = 32;
    static constexpr std::int32_t kEmpty = -1;
    struct Slot {
        std::uint32_t hash;
        std::int32_t row;
    };
    struct Search {
        Slot* slots;
        std::int32_t* first;
        std::size_t filled = 0, probes = 0, rows = 0;
    };

    // What rows are compared with is prefetched for all rows of the batch.
    void match_batch(Search& search, const std::uint32_t* batch, std::size_t count) const {
        for (std::size_t e = 0; e < count; ++e)
            __builtin_prefetch(search.slots + (hash_[batch[e]] & (region_ - 1)));
        std::uint32_t waiting[kBatch];
        std::size_t slot[kBatch], left = 0;
        for (std::size_t e = 0; e < count; ++e) {
            const std::uint32_t i = batch[e];
            std::size_t s = hash_[i] & (region_ - 1);
            while (search.slots[s].row != kEmpty && search.slots[s].hash != hash_[i])
                s = next(search, s);
            if (search.slots[s].row == kEmpty) {
                enter(search, s, i);
                continue;
            }
            rows_.prefetch(i);
            rows_.prefetch(static_cast<std::size_t>(search.slots[s].row));
            waiting[left] = i;
            slot[left++] = s;
        }
        for (std::size_t e = 0; e < left; ++e) compare(search, slot[e], waiting[e]);
    }

    void compare(Search& search, std::size_t s, std::uint32_t i) const {
        for (;; s = next(search, s)) {
            const Slot& held = search.slots[s];
            if (held.row == kEmpty) return enter(search, s, i);
            if (held.hash == hash_[i] && rows_.equal(static_cast<std::size_t>(held.row), i)) {
                search.first[i] = held.row;
                return;
            }
        }
    }

    std::size_t next(Search& search, std::size_t s) const {
        ++search.probes;
        return (s + 1) & (region_ - 1);
    }
    void enter(Search& search, std::size_t s, std::uint32_t i) const {
        search.slots[s] = {hash_[i], static_cast<std::int32_t>(i)};
        search.first[i] = static_cast<std::int32_t>(i);
        ++search.filled;
    }

    ByteMatrix rows_;
    const std::uint32_t* hash_;
    std::size_t most_, region_;
    Aligned<Slot> slots_;
    std::atomic<std::size_t> found_{0};
    std::atomic<bool> failed_{false};
};

// Numbers the different rows in the order of their first rows. number (n): on entry the first equal
// row of each, on return its number.
inline std::size_t number_rows(std::int32_t* number, std::size_t n, std::int32_t* first,
                               std::int64_t* counts) {
    std::size_t m = 0;
    for (std::size_t i = 0; i < n; ++i) {
        const std::size_t same = static_cast<std::size_t>(number[i]);
        if (same == i) {
            first[m] = static_cast<std::int32_t>(i);
            counts[m] = 0;
            number[i] = static_cast<std::int32_t>(m++);
        } else {
            number[i] = number[same];
        }
        ++counts[number[i]];
    }
    return m;
}

}  // namespace partita
