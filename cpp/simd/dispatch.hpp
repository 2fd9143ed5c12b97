// Choice of the instruction set.
#pragma once

#include <atomic>
#include <vector>

#include "../kernels/kernel_table.hpp"

namespace partita {

// Tables of the instruction sets that this build has and this machine runs, best first.
inline std::vector<const KernelTable*> runnable_tables() {
    std::vector<const KernelTable*> tables;
#if defined(PARTITA_X86)
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw"))
        tables.push_back(avx512_table());
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        tables.push_back(avx2_table());
#endif
    tables.push_back(portable_table());
    return tables;
}

// The table in use. Atomic: tests switch it while other threads may read it.
inline std::atomic<const KernelTable*>& active_table() {
    static std::atomic<const KernelTable*> table{runnable_tables().front()};
    return table;
}

}  // namespace partita
