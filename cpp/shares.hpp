// A pass cut into parts for a crew: every thread has memory and sums of its own, and the results
// are added when all is done. Sums are integers, so it does not matter who added what.
#pragma once

#include <cstring>

#include "crew.hpp"
#include "kernels/views.hpp"

namespace partita {

inline void add(Outcome& all, const Outcome& one) {
    all.moved += one.moved;
    all.rechecked += one.rechecked;
}

inline void add(Pruned& all, const Pruned& one) {
    all.moved += one.moved;
    all.measured += one.measured;
    all.met += one.met;
    all.scanned += one.scanned;
    all.candidates += one.candidates;
}

// The sums as seen by a kernel whose first row is row `first`.
inline SumView from_row(SumView sums, std::size_t first) {
    if (sums.times) sums.times += first;
    if (sums.weight) sums.weight += first;
    return sums;
}

// Parts for each thread: enough that none waits long for another. Whole blocks of kAlign rows.
constexpr std::size_t kParts = 4, kAlign = 256;

// How many items make a part, if there are to be `parts`.
inline std::size_t even_part(std::size_t items, std::size_t parts) {
    return std::max<std::size_t>(1, (items + parts - 1) / std::max<std::size_t>(1, parts));
}

inline std::size_t part_rows(const Crew& crew, std::size_t n) {
    constexpr std::size_t most = 1 << 16;
    if (crew.threads() == 1) return std::max<std::size_t>(1, std::min(n, most));
    const std::size_t even = even_part(n, kParts * crew.threads());
    return std::min(most, std::max(kAlign, (even + kAlign - 1) / kAlign * kAlign));
}

// Calls run(first, last, sums or null, memory) for parts of `step` items; adds up what it returns.
template <class Result, class Run>
Result share_items(Crew& crew, std::size_t items, std::size_t step, const SumView* sums,
                   std::size_t scratch, Run run) {
    struct alignas(64) Seat {
        unsigned char* memory;
        SumView sums;
        Result done{};
    };
    const std::lock_guard<std::mutex> lock(crew.turn());
    const std::size_t parts = (items + step - 1) / step;
    const std::size_t threads = std::max<std::size_t>(1, std::min(crew.threads(), parts));
    const std::size_t columns = sums ? sums->d + 2 : 0, cells = sums ? sums->k * columns : 0;
    const std::size_t whole = (scratch + 63) / 64 * 64;
    std::vector<Seat> seats(threads);
    for (std::size_t who = 0; who < threads; ++who) {
        Seat& seat = seats[who];
        seat.memory = crew.desk(who, whole + (who && sums ? 16 * cells + sums->k : 0));
        if (!sums) continue;
        seat.sums = *sums;
        if (who == 0) continue;
        seat.sums.hi = reinterpret_cast<std::int64_t*>(seat.memory + whole);
        seat.sums.lo = seat.sums.hi + cells;
        seat.sums.touched = seat.memory + whole + 16 * cells;
        std::memset(seat.sums.touched, 0, sums->k);
    }
    crew.share(parts, threads, [&](std::size_t part, std::size_t who) {
        Seat& seat = seats[who];
        add(seat.done, run(part * step, std::min(items, (part + 1) * step),
                           sums ? &seat.sums : nullptr, seat.memory));
    });
    Result all{};
    for (std::size_t who = 0; who < threads; ++who) {
        const Seat& seat = seats[who];
        add(all, seat.done);
        for (std::size_t j = 0; who && sums && j < sums->k; ++j) {
            if (!seat.sums.touched[j]) continue;
            for (std::size_t e = j * columns; e < (j + 1) * columns; ++e) {
                sums->hi[e] += seat.sums.hi[e];
                sums->lo[e] += seat.sums.lo[e];
            }
        }
    }
    return all;
}

// The same for work that leaves nothing to add up: run(first, last, memory).
template <class Run>
void share_parts(Crew& crew, std::size_t items, std::size_t step, std::size_t scratch, Run run) {
    share_items<Outcome>(
        crew, items, step, nullptr, scratch,
        [&](std::size_t first, std::size_t last, const SumView*, unsigned char* memory) {
            run(first, last, memory);
            return Outcome{};
        });
}

// The same in at most `parts`, for work that needs no memory: work(first, last).
template <class Work>
void share_evenly(Crew& crew, std::size_t items, std::size_t parts, Work work) {
    share_parts(crew, items, even_part(items, parts), 0,
                [&](std::size_t first, std::size_t last, unsigned char*) { work(first, last); });
}

}  // namespace partita
