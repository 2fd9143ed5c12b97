// Memory aligned to cache lines. Large blocks are aligned to huge pages and request them: a few
// hundred huge pages are faulted in much faster than a hundred thousand small ones.
#pragma once

#include <cstddef>
#include <memory>
#include <new>

#ifdef __linux__
#include <sys/mman.h>
#endif

namespace partita {

constexpr std::size_t kCacheLineBytes = 64, kHugePageBytes = std::size_t{1} << 21;
// Smaller blocks are often reused by the allocator without any page fault.
constexpr std::size_t kHugePageMinBytes = 2 * kHugePageBytes;

template <class T>
struct AlignedDelete {
    std::size_t alignment = kCacheLineBytes;
    void operator()(T* p) const { ::operator delete[](p, std::align_val_t(alignment)); }
};
template <class T>
using Aligned = std::unique_ptr<T[], AlignedDelete<T>>;
template <class T>
Aligned<T> make_aligned_or_null(std::size_t n) {
    const std::size_t bytes = (n * sizeof(T) + 127) / kCacheLineBytes * kCacheLineBytes;
    const std::size_t alignment = bytes < kHugePageMinBytes ? kCacheLineBytes : kHugePageBytes;
    void* memory = ::operator new[](bytes, std::align_val_t(alignment), std::nothrow);
#ifdef __linux__
    if (memory && alignment == kHugePageBytes)
        madvise(memory, bytes / kHugePageBytes * kHugePageBytes, MADV_HUGEPAGE);
#endif
    return Aligned<T>(static_cast<T*>(memory), {alignment});
}
template <class T>
Aligned<T> make_aligned(std::size_t n) {
    Aligned<T> memory = make_aligned_or_null<T>(n);
    if (!memory) throw std::bad_alloc();
    return memory;
}

}  // namespace partita
