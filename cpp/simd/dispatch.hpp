// Which instruction sets this build has and this machine can run, best first.
#pragma once

#include <atomic>
#include <vector>

#include "../kernels/table.hpp"

namespace partita {

inline std::vector<const KernelTable*> runnable_tables() {
    std::vector<const KernelTable*> found;
#if defined(PARTITA_X86)
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw"))
        found.push_back(avx512_table());
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        found.push_back(avx2_table());
#endif
    found.push_back(portable_table());
    return found;
}

// The table in use. Atomic, because tests switch it while other threads may read it.
inline std::atomic<const KernelTable*>& active_table() {
    static std::atomic<const KernelTable*> table{runnable_tables().front()};
    return table;
}

}  // namespace partita
