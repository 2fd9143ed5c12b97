// Rows to clusters at the least total cost, with limits on the number of rows of each cluster: a
// transportation problem with many sources and few sinks.
//
// A row belongs to the cluster of the least cost + price. Limits that this violates are repaired one
// row at a time along shortest paths: from cluster a to b leads the row of a with the least
// cost[b] − cost[a], and a node of its own, the sink, stands for the room that the limits leave.
// Lengths with prices are never negative, so each path is found by Dijkstra's algorithm, which
// then moves the prices such that this stays so. When no limit is violated, the prices prove that
// no other assignment costs less (Ahuja, Magnanti and Orlin 1993, chapter 9.7).
//
// For every pair of clusters the first few rows are kept in order; rows that have left are dropped
// when they come up, and an empty list is filled again. Lists only save time: a path depends on
// the first row of each alone. Ties go to the lower rank of rows and the lower index of clusters.
#pragma once

#include <limits>

#include "simd.hpp"
#include "views.hpp"

namespace partita::PARTITA_ISA {

constexpr std::int32_t kFirstListRows = 64;  // of a pair; twice as many whenever it is filled again
constexpr double kPriceSlack = 0x1p-40;  // of cost and price: a row moves only for more than that

// The memory of one problem, laid out in scratch.
struct TransportArrays {
    double *key, *bound;         // (k, k, capacity) descending; (k, k) of rows that are not in it
    std::int32_t *row, *size;    // (k, k, capacity), (k, k)
    std::int32_t* room;          // (k, k) rows that a list may hold, at most its capacity
    std::int32_t* bound_rank;    // (k, k)
    unsigned char* built;        // (1) whether there are lists
    std::int64_t* flow;          // (k) to the sink
    std::int64_t* excess;        // (k + 1) what must leave a node; the last node is the sink
    double* distance;            // (k + 1)
    std::int32_t *parent, *via;  // (k + 1) the node before, and the row that moves from it
    unsigned char* settled;      // (k + 1)

    TransportArrays(unsigned char* memory, std::size_t k, std::size_t capacity,
                    std::size_t* bytes = nullptr) {
        ScratchArena arena(memory);
        const std::size_t pairs = k * k;
        key = arena.take<double>(pairs * capacity), bound = arena.take<double>(pairs);
        row = arena.take<std::int32_t>(pairs * capacity), size = arena.take<std::int32_t>(pairs);
        room = arena.take<std::int32_t>(pairs), bound_rank = arena.take<std::int32_t>(pairs);
        built = arena.take<unsigned char>(1);
        flow = arena.take<std::int64_t>(k), excess = arena.take<std::int64_t>(k + 1);
        distance = arena.take<double>(k + 1);
        parent = arena.take<std::int32_t>(k + 1), via = arena.take<std::int32_t>(k + 1);
        settled = arena.take<unsigned char>(k + 1);
        if (bytes) *bytes = arena.used();
    }
};

inline std::size_t transport_scratch(std::size_t k, std::size_t capacity) {
    std::size_t bytes = 0;
    TransportArrays(nullptr, k, capacity, &bytes);
    return bytes;
}

class TransportProblem {
public:
    TransportProblem(const TransportView& view, unsigned char* memory)
        : v_(view), m_(memory, view.k, view.capacity) {}

    // Gives every row the cluster of the least cost + price; one that has a cluster keeps it unless
    // another is clearly cheaper.
    void begin() {
        *m_.built = 0;
        for (std::size_t j = 0; j < v_.k; ++j) m_.excess[j] = 0;
        for (std::size_t i = 0; i < v_.n; ++i) {
            const std::size_t to = best_cluster(i);
            v_.label[i] = static_cast<std::int32_t>(to);
            ++m_.excess[to];
        }
        m_.excess[v_.k] = -static_cast<std::int64_t>(v_.n);
        for (std::size_t j = 0; j < v_.k; ++j) {
            const std::int64_t rows = m_.excess[j];
            const double above = v_.price[j] - v_.price[v_.k];
            const std::int64_t low = above > 0 ? v_.high[j] : v_.low[j];
            const std::int64_t high = above < 0 ? v_.low[j] : v_.high[j];
            m_.flow[j] = rows < low ? low : rows > high ? high : rows;
            m_.excess[j] = rows - m_.flow[j];
            m_.excess[v_.k] += m_.flow[j];
        }
    }

    // Repairs limits along at most `most` paths; returns the number of paths, or −1 if there is none
    // although a limit is violated.
    std::int64_t run(std::int64_t most) {
        for (std::int64_t paths = 0; paths < most; ++paths) {
            std::size_t from = 0;
            while (from <= v_.k && m_.excess[from] <= 0) ++from;
            if (from > v_.k) return paths;
            const std::size_t to = search(from);
            if (to > v_.k) return -1;
            push(from, to);
        }
        return most;
    }

private:
    std::size_t best_cluster(std::size_t i) const {
        const double* costs = v_.cost + i * v_.k;
        std::size_t best = 0;
        double least = costs[0] + v_.price[0];
        for (std::size_t j = 1; j < v_.k; ++j) {
            const double sum = costs[j] + v_.price[j];
            if (sum < least) least = sum, best = j;
        }
        if (v_.label[i] < 0) return best;
        const auto own = static_cast<std::size_t>(v_.label[i]);
        const double slack = kPriceSlack * (costs[own] + __builtin_fabs(v_.price[own]));
        return least < (costs[own] + v_.price[own]) - slack ? best : own;
    }

    // --- the first rows from one cluster to another ---

    bool is_before(double key, std::int32_t rank, double other, std::int32_t other_rank) const {
        return key < other || (key == other && rank < other_rank);
    }

    void offer(std::size_t pair, double key, std::size_t i) {
        const std::int32_t rank = v_.rank[i];
        if (is_before(m_.bound[pair], m_.bound_rank[pair], key, rank)) return;
        double* keys = m_.key + pair * v_.capacity;
        std::int32_t* rows = m_.row + pair * v_.capacity;
        const auto size = static_cast<std::size_t>(m_.size[pair]);
        std::size_t place = 0, end = size;  // entries before `place` come after row i
        while (place < end) {
            const std::size_t middle = (place + end) / 2;
            if (is_before(key, rank, keys[middle], v_.rank[rows[middle]]))
                place = middle + 1;
            else
                end = middle;
        }
        if (m_.size[pair] < m_.room[pair]) {
            __builtin_memmove(keys + place + 1, keys + place, (size - place) * sizeof(double));
            __builtin_memmove(rows + place + 1, rows + place,
                              (size - place) * sizeof(std::int32_t));
            keys[place] = key, rows[place] = static_cast<std::int32_t>(i);
            ++m_.size[pair];
            return;
        }
        if (place > 0) {  // in the place of the last in order
            __builtin_memmove(keys, keys + 1, (place - 1) * sizeof(double));
            __builtin_memmove(rows, rows + 1, (place - 1) * sizeof(std::int32_t));
            keys[place - 1] = key, rows[place - 1] = static_cast<std::int32_t>(i);
        }
        m_.bound[pair] = keys[0];
        m_.bound_rank[pair] = v_.rank[rows[0]];
    }

    void clear(std::size_t pair) {
        m_.size[pair] = 0;
        m_.bound[pair] = std::numeric_limits<double>::infinity();
        m_.bound_rank[pair] = std::numeric_limits<std::int32_t>::max();
    }

    void build() {
        const auto most = static_cast<std::int32_t>(v_.capacity);
        for (std::size_t pair = 0; pair < v_.k * v_.k; ++pair) {
            clear(pair);
            m_.room[pair] = most < kFirstListRows ? most : kFirstListRows;
        }
        for (std::size_t i = 0; i < v_.n; ++i) enter(static_cast<std::size_t>(v_.label[i]), i);
        *m_.built = 1;
    }

    // Offers a row to the lists of its cluster.
    void enter(std::size_t a, std::size_t i) {
        const double* costs = v_.cost + i * v_.k;
        const double own = costs[a];
        for (std::size_t b = 0; b < v_.k; ++b) {
            const double key = costs[b] - own;
            if (b != a && key <= m_.bound[a * v_.k + b]) offer(a * v_.k + b, key, i);
        }
    }

    void rebuild(std::size_t a, std::size_t b) {
        const std::size_t pair = a * v_.k + b;
        const auto most = static_cast<std::int32_t>(v_.capacity);
        clear(pair);
        m_.room[pair] = most / 2 < m_.room[pair] ? most : 2 * m_.room[pair];
        for (std::size_t i = 0; i < v_.n; ++i) {
            if (static_cast<std::size_t>(v_.label[i]) != a) continue;
            const double key = v_.cost[i * v_.k + b] - v_.cost[i * v_.k + a];
            if (key <= m_.bound[pair]) offer(pair, key, i);
        }
    }

    // The number of rows in the list of a pair, the last of which is the first in order; 0 if the
    // cluster has no rows.
    std::size_t list_size(std::size_t a, std::size_t b) {
        if (!*m_.built) build();
        const std::size_t pair = a * v_.k + b;
        while (true) {
            auto size = static_cast<std::size_t>(m_.size[pair]);
            const std::int32_t* rows = m_.row + pair * v_.capacity;
            while (size && static_cast<std::size_t>(v_.label[rows[size - 1]]) != a) --size;
            m_.size[pair] = static_cast<std::int32_t>(size);
            const bool is_whole = m_.bound[pair] == std::numeric_limits<double>::infinity();
            if (size || is_whole) return size;
            rebuild(a, b);
        }
    }

    // --- shortest paths ---

    void reach(std::size_t from, std::size_t to, double length, std::int32_t row) {
        const double distance = m_.distance[from] + (length > 0 ? length : 0);
        if (!(distance < m_.distance[to])) return;
        m_.distance[to] = distance;
        m_.parent[to] = static_cast<std::int32_t>(from);
        m_.via[to] = row;
    }

    void reach_all(std::size_t from) {
        const std::size_t sink = v_.k;
        if (from == sink) {
            for (std::size_t j = 0; j < v_.k; ++j)
                if (!m_.settled[j] && m_.flow[j] > v_.low[j])
                    reach(sink, j, v_.price[j] - v_.price[sink], -1);
            return;
        }
        for (std::size_t b = 0; b < v_.k; ++b) {
            if (m_.settled[b]) continue;
            const std::size_t size = list_size(from, b);
            if (!size) break;  // the cluster has no rows
            const std::size_t first = (from * v_.k + b) * v_.capacity + size - 1;
            reach(from, b, m_.key[first] + (v_.price[b] - v_.price[from]), m_.row[first]);
        }
        if (!m_.settled[sink] && m_.flow[from] < v_.high[from])
            reach(from, sink, v_.price[sink] - v_.price[from], -1);
    }

    // The nearest node that lacks rows, after which prices make the path to it free; k + 1 if none.
    std::size_t search(std::size_t from) {
        for (std::size_t j = 0; j <= v_.k; ++j) {
            m_.distance[j] = std::numeric_limits<double>::infinity();
            m_.settled[j] = 0;
        }
        m_.distance[from] = 0;
        while (true) {
            std::size_t nearest = v_.k + 1;
            for (std::size_t j = 0; j <= v_.k; ++j)
                if (!m_.settled[j] && m_.distance[j] < std::numeric_limits<double>::infinity() &&
                    (nearest > v_.k || m_.distance[j] < m_.distance[nearest]))
                    nearest = j;
            if (nearest > v_.k) return nearest;
            m_.settled[nearest] = 1;
            if (m_.excess[nearest] < 0) {
                for (std::size_t j = 0; j <= v_.k; ++j)
                    if (m_.settled[j]) v_.price[j] += m_.distance[nearest] - m_.distance[j];
                return nearest;
            }
            reach_all(nearest);
        }
    }

    void push(std::size_t from, std::size_t to) {
        --m_.excess[from], ++m_.excess[to];
        for (std::size_t b = to; b != from;) {
            const auto a = static_cast<std::size_t>(m_.parent[b]);
            if (b == v_.k) ++m_.flow[a];
            if (a == v_.k) --m_.flow[b];
            if (m_.via[b] >= 0) {
                const auto i = static_cast<std::size_t>(m_.via[b]);
                v_.label[i] = static_cast<std::int32_t>(b);
                if (*m_.built) enter(b, i);
            }
            b = a;
        }
    }

    const TransportView& v_;
    TransportArrays m_;
};

inline void transport_begin(const TransportView& view, unsigned char* memory) {
    TransportProblem(view, memory).begin();
}

inline std::int64_t transport_run(const TransportView& view, std::int64_t most,
                                  unsigned char* memory) {
    return TransportProblem(view, memory).run(most);
}

}  // namespace partita::PARTITA_ISA
