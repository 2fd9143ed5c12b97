#include "fill_bytes.inc"

const partita::ByteTable* partita::avx2vnni_bytes() {
    static constexpr ByteTable table{
        .name = "avx2vnni",
        .single = PARTITA_ISA::byte_kernels<float>(),
        .full = PARTITA_ISA::byte_kernels<double>(),
    };
    return &table;
}
