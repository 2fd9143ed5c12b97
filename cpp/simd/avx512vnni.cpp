#include "fill_bytes.inc"

const partita::ByteTable* partita::avx512vnni_bytes() {
    static constexpr ByteTable table{
        .name = "avx512vnni",
        .single = PARTITA_ISA::byte_kernels<float>(),
        .full = PARTITA_ISA::byte_kernels<double>(),
    };
    return &table;
}
