// Memory that begins at a cache line. Large pieces begin at a large page and ask for such pages: the
// system hands out a few hundred of them much sooner than a hundred thousand small ones.
#pragma once

#include <cstddef>
#include <memory>
#include <new>

#ifdef __linux__
#include <sys/mman.h>
#endif

namespace partita {

constexpr std::size_t kCacheLine = 64, kLargePage = std::size_t{1} << 21;
constexpr std::size_t kLarge =
    16 * kLargePage;  // smaller pieces are often had again without any page

template <class T>
struct AlignedDelete {
    std::size_t alignment = kCacheLine;
    void operator()(T* p) const { ::operator delete[](p, std::align_val_t(alignment)); }
};
template <class T>
using Aligned = std::unique_ptr<T[], AlignedDelete<T>>;
template <class T>
Aligned<T> make_aligned(std::size_t n) {
    const std::size_t bytes = (n * sizeof(T) + 127) / kCacheLine * kCacheLine;
    const std::size_t alignment = bytes < kLarge ? kCacheLine : kLargePage;
    void* memory = ::operator new[](bytes, std::align_val_t(alignment));
#ifdef __linux__
    if (alignment == kLargePage) madvise(memory, bytes / kLargePage * kLargePage, MADV_HUGEPAGE);
#endif
    return Aligned<T>(static_cast<T*>(memory), {alignment});
}

}  // namespace partita
