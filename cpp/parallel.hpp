// Passes cut into parts for a crew. Every thread has scratch memory and sums of its own; the sums
// are added at the end. They are integers, so the order does not matter.
#pragma once

#include <cstring>

#include "crew.hpp"
#include "kernels/views.hpp"

namespace partita {

inline void add(PassCounts& total, const PassCounts& part) {
    total.moved += part.moved;
    total.rechecked += part.rechecked;
}

inline void add(PanelCounts& total, const PanelCounts& part) {
    total.moved += part.moved;
    total.rechecked += part.rechecked;
    total.pairs += part.pairs;
    total.open_pairs += part.open_pairs;
}

inline void add(NeighbourCounts& total, const NeighbourCounts& part) {
    total.moved += part.moved;
    total.rechecked += part.rechecked;
    total.pairs += part.pairs;
    total.rows += part.rows;
}

inline void add(PrunedCounts& total, const PrunedCounts& part) {
    total.moved += part.moved;
    total.measured += part.measured;
    total.scanned_rows += part.scanned_rows;
    total.scanned_pairs += part.scanned_pairs;
    total.candidates += part.candidates;
}

inline void add(ByteCounts& total, const ByteCounts& part) {
    total.moved += part.moved;
    total.open += part.open;
    total.candidates += part.candidates;
}

// The sums for a kernel whose first row is row `first`.
inline SumView from_row(SumView sums, std::size_t first) {
    if (sums.times) sums.times += first;
    if (sums.weight) sums.weight += first;
    return sums;
}

constexpr std::size_t kPartsPerThread = 4;   // enough that no thread waits long for another
constexpr std::size_t kPartAlignRows = 256;  // parts are whole blocks of so many rows
constexpr std::size_t kMaxPartRows = 1 << 16;

// Items in each of `parts` parts, rounded up.
inline std::size_t items_per_part(std::size_t items, std::size_t parts) {
    return std::max<std::size_t>(1, (items + parts - 1) / std::max<std::size_t>(1, parts));
}

inline std::size_t rows_per_part(const Crew& crew, std::size_t n) {
    if (crew.threads() == 1) return std::max<std::size_t>(1, std::min(n, kMaxPartRows));
    const std::size_t even = items_per_part(n, kPartsPerThread * crew.threads());
    return std::min(kMaxPartRows, std::max(kPartAlignRows, (even + kPartAlignRows - 1) /
                                                               kPartAlignRows * kPartAlignRows));
}

// Calls run(first, last, sums or null, scratch) for parts of `step` items; returns the sum of the
// results. Only the sums of thread 0 are those of the caller; they receive all others at the end.
template <class Result, class Run>
Result parallel_reduce(Crew& crew, std::size_t items, std::size_t step, const SumView* sums,
                       std::size_t scratch_bytes, Run run) {
    struct alignas(64) ThreadState {
        unsigned char* scratch;
        SumView sums;
        Result result{};
    };
    const std::lock_guard<std::mutex> lock(crew.mutex());
    const std::size_t parts = (items + step - 1) / step;
    std::size_t threads = std::max<std::size_t>(1, std::min(crew.threads(), parts));
    const std::size_t columns = sums ? sums->d + 2 : 0, values = sums ? sums->k * columns : 0;
    const std::size_t sums_offset = (scratch_bytes + 63) / 64 * 64;
    std::vector<ThreadState> states(threads);
    for (std::size_t thread = 0; thread < threads; ++thread) {
        ThreadState& state = states[thread];
        state.scratch =
            crew.scratch(thread, sums_offset + (thread && sums ? 16 * values + sums->k : 0));
        if (!state.scratch) {  // go on with the threads that have memory
            if (thread == 0) throw std::bad_alloc();
            threads = thread;
            break;
        }
        if (!sums) continue;
        state.sums = *sums;
        if (thread == 0) continue;
        state.sums.hi = reinterpret_cast<std::int64_t*>(state.scratch + sums_offset);
        state.sums.lo = state.sums.hi + values;
        state.sums.cleared = state.scratch + sums_offset + 16 * values;
        std::memset(state.sums.cleared, 0, sums->k);
    }
    crew.run(parts, threads, [&](std::size_t part, std::size_t thread) {
        ThreadState& state = states[thread];
        add(state.result, run(part * step, std::min(items, (part + 1) * step),
                              sums ? &state.sums : nullptr, state.scratch));
    });
    Result total{};
    for (std::size_t thread = 0; thread < threads; ++thread) {
        const ThreadState& state = states[thread];
        add(total, state.result);
        for (std::size_t j = 0; thread && sums && j < sums->k; ++j) {
            if (!state.sums.cleared[j]) continue;
            for (std::size_t e = j * columns; e < (j + 1) * columns; ++e) {
                sums->hi[e] += state.sums.hi[e];
                sums->lo[e] += state.sums.lo[e];
            }
        }
    }
    return total;
}

// The same without a result: run(first, last, scratch).
template <class Run>
void parallel_for(Crew& crew, std::size_t items, std::size_t step, std::size_t scratch_bytes,
                  Run run) {
    parallel_reduce<PassCounts>(
        crew, items, step, nullptr, scratch_bytes,
        [&](std::size_t first, std::size_t last, const SumView*, unsigned char* scratch) {
            run(first, last, scratch);
            return PassCounts{};
        });
}

// The same in at most `parts` parts, without scratch memory: run(first, last).
template <class Run>
void parallel_for_evenly(Crew& crew, std::size_t items, std::size_t parts, Run run) {
    parallel_for(crew, items, items_per_part(items, parts), 0,
                 [&](std::size_t first, std::size_t last, unsigned char*) { run(first, last); });
}

}  // namespace partita
