// The kernels for bytes of ARM processors with dot products; all others are the portable ones.
#include "fill_bytes.inc"

const partita::ByteTable* partita::dotprod_bytes() {
    static constexpr ByteTable table{
        .name = "dotprod",
        .single = PARTITA_ISA::byte_kernels<float>(),
        .full = PARTITA_ISA::byte_kernels<double>(),
    };
    return &table;
}
