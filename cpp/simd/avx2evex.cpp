// The kernels of avx2vnni for machines that have AVX-512 VNNI but not AVX-VNNI: they run its
// template, so that it can be tested there.
#define PARTITA_NARROW
#include "fill_bytes.inc"

const partita::ByteTable* partita::avx2evex_bytes() {
    static constexpr ByteTable table{
        .name = "avx2vnni",
        .single = PARTITA_ISA::byte_kernels<float>(),
        .full = PARTITA_ISA::byte_kernels<double>(),
    };
    return &table;
}
