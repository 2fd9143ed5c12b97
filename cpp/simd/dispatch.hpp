// Choice of the instruction set.
#pragma once

#include <atomic>
#include <vector>

#if defined(PARTITA_X86)
#include <cpuid.h>
#elif defined(PARTITA_ARM) && defined(__linux__)
#include <asm/hwcap.h>
#include <sys/auxv.h>
#endif

#include "../kernels/kernel_table.hpp"

namespace partita {

#if defined(PARTITA_X86) || defined(PARTITA_ARM)
// A table with other kernels for bytes.
inline KernelTable with_bytes(const KernelTable* table, const ByteTable* bytes) {
    KernelTable out = *table;
    out.name = bytes->name;
    out.single.bytes = bytes->single;
    out.full.bytes = bytes->full;
    return out;
}
#endif

#if defined(PARTITA_X86)
// AVX-VNNI: leaf 7, subleaf 1, bit 4 of EAX. (GCC 12 does not know it by name.)
inline bool has_avxvnni() {
    unsigned a = 0, b = 0, c = 0, d = 0;
    return __get_cpuid_count(7, 1, &a, &b, &c, &d) && (a & (1u << 4));
}
#elif defined(PARTITA_ARM)
inline bool has_dot_products() {
#if defined(__linux__)
    return (getauxval(AT_HWCAP) & HWCAP_ASIMDDP) != 0;
#elif defined(__APPLE__)
    return true;  // every Mac with an ARM processor
#else
    return false;
#endif
}
#endif

// Tables of the instruction sets that this build has and this machine runs, best first.
inline std::vector<const KernelTable*> runnable_tables() {
    std::vector<const KernelTable*> tables;
#if defined(PARTITA_X86)
    __builtin_cpu_init();
    const bool wide = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
                      __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw");
    const bool dots = wide && __builtin_cpu_supports("avx512vnni");
    if (dots) {
        static const KernelTable table = with_bytes(avx512_table(), avx512vnni_bytes());
        tables.push_back(&table);
    }
    if (wide) tables.push_back(avx512_table());
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
        if (has_avxvnni()) {
            static const KernelTable table = with_bytes(avx2_table(), avx2vnni_bytes());
            tables.push_back(&table);
        } else if (dots) {
            static const KernelTable table = with_bytes(avx2_table(), avx2evex_bytes());
            tables.push_back(&table);
        }
        tables.push_back(avx2_table());
    }
#elif defined(PARTITA_ARM)
    if (has_dot_products()) {
        static const KernelTable table = with_bytes(portable_table(), dotprod_bytes());
        tables.push_back(&table);
    }
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
