// A thread pool for passes that follow each other within microseconds. An idle thread polls for the
// next job for a short time before it sleeps.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <new>
#include <system_error>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#ifdef __GLIBCXX__
#include <cxxabi.h>
#endif
#ifdef __unix__
#include <unistd.h>
#endif
#ifdef __GLIBC__
#include <pthread.h>
#include <sched.h>
#endif

#include "kernels/aligned_memory.hpp"

namespace partita {

// Takes the memory in which this thread keeps its exceptions. The first exception would, but glibc
// ends the process if there is none left, as is the case when std::bad_alloc is thrown.
inline void reserve_exception_memory() {
#ifdef __GLIBCXX__
    [[maybe_unused]] abi::__cxa_eh_globals* volatile taken = abi::__cxa_get_globals();
#endif
}

// Starts a detached thread that calls run(), which must not throw. Linux tends to put it on the
// caller's own processor if that was idle before, where it waits for milliseconds; so it begins on
// any other, and may move as the caller may from then on.
template <class Run>
void start_thread(Run run) {
#ifdef __GLIBC__
    struct Start {
        Run run;
        cpu_set_t allowed;
    };
    cpu_set_t allowed;
    const int here = sched_getcpu();
    pthread_attr_t attributes;
    if (here >= 0 && here < CPU_SETSIZE && !sched_getaffinity(0, sizeof allowed, &allowed) &&
        CPU_COUNT(&allowed) > 1 && !pthread_attr_init(&attributes)) {
        auto start = std::make_unique<Start>(Start{run, allowed});
        CPU_CLR(here, &allowed);
        pthread_t thread;
        const bool started = !pthread_attr_setaffinity_np(&attributes, sizeof allowed, &allowed) &&
                             !pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED) &&
                             !pthread_create(
                                 &thread, &attributes,
                                 [](void* given) -> void* {
                                     const std::unique_ptr<Start> own(static_cast<Start*>(given));
                                     sched_setaffinity(0, sizeof own->allowed, &own->allowed);
                                     own->run();
                                     return nullptr;
                                 },
                                 start.get());
        pthread_attr_destroy(&attributes);
        if (started) {
            start.release();
            return;
        }
    }
#endif
    std::thread(run).detach();
}

// What the threads of a crew share. A thread that wakes up late holds it until it has ended.
class Job {
public:
    explicit Job(bool polls) : poll_time_(polls ? kPollTime : kNoPolling) {}

    // Announces a job, works on it as thread 0, and waits for the helpers that entered it.
    void run(std::size_t parts, std::size_t max_threads, void* job,
             void (*call)(void*, std::size_t, std::size_t)) {
        job_ = job;
        call_ = call;
        parts_ = parts;
        max_threads_ = max_threads;
        next_part_.store(0, std::memory_order_relaxed);
        gate_.store(kGateOpen, std::memory_order_release);
        wake();
        take_parts(0);
        gate_.fetch_and(~kGateOpen, std::memory_order_acq_rel);
        for (int round = 0; gate_.load(std::memory_order_acquire) != 0; ++round)
            round < kPauseRounds ? pause() : std::this_thread::yield();
        if (failed_.load()) {
            failed_.store(false);
            std::rethrow_exception(std::exchange(failure_, nullptr));
        }
    }

    // Ends the helpers, at once or when they wake up.
    void stop() {
        stopping_.store(true);
        wake();
    }

    // The life of a helper.
    void help(std::size_t thread) {
        std::uint32_t seen = 0;
        for (;;) {
            seen = wait_for_wakeup(seen);
            if (stopping_.load()) return;
            std::uint32_t gate = gate_.load(std::memory_order_acquire);
            while (gate & kGateOpen) {
                if (!gate_.compare_exchange_weak(gate, gate + kOneHelper,
                                                 std::memory_order_acq_rel))
                    continue;
                if (thread < max_threads_) take_parts(thread);
                gate_.fetch_sub(kOneHelper, std::memory_order_release);
                break;
            }
        }
    }

private:
    using Clock = std::chrono::steady_clock;
    static constexpr auto kPollTime = std::chrono::microseconds(1000), kNoPolling = kPollTime * 0;
    static constexpr int kPauseRounds = 4096;  // pauses of the caller before it yields
    static constexpr int kPollsPerClock = 32;  // polls between two readings of the clock
    // The gate: bit 0 set: helpers may enter the job, the bits above count those inside.
    static constexpr std::uint32_t kGateOpen = 1, kOneHelper = 2;

    static void pause() {
#if defined(__x86_64__) || defined(__i386__)
        __builtin_ia32_pause();
#else
        std::this_thread::yield();
#endif
    }

    void wake() {
        wakeups_.fetch_add(1, std::memory_order_release);
        wakeups_.notify_all();
    }

    void take_parts(std::size_t thread) {
        for (;;) {
            const std::size_t part = next_part_.fetch_add(1, std::memory_order_relaxed);
            if (part >= parts_) return;
            try {
                call_(job_, part, thread);
            } catch (...) {
                if (!failed_.exchange(true)) failure_ = std::current_exception();
                next_part_.store(parts_, std::memory_order_relaxed);
            }
        }
    }

    // Polls for poll_time_, then sleeps, until the wake-up counter differs from `seen`.
    std::uint32_t wait_for_wakeup(std::uint32_t seen) {
        const Clock::time_point polls_until = Clock::now() + poll_time_;
        do {
            for (int round = 0; round < kPollsPerClock; ++round) {
                const std::uint32_t now = wakeups_.load(std::memory_order_acquire);
                if (now != seen) return now;
                pause();
            }
            std::this_thread::yield();  // to the caller, if both have one processor
        } while (Clock::now() < polls_until);
        wakeups_.wait(seen, std::memory_order_acquire);
        return wakeups_.load(std::memory_order_acquire);
    }

    std::chrono::microseconds poll_time_;
    std::atomic<bool> failed_{false};
    std::exception_ptr failure_;
    std::atomic<bool> stopping_{false};
    void* job_ = nullptr;
    void (*call_)(void*, std::size_t, std::size_t) = nullptr;
    std::size_t parts_ = 0, max_threads_ = 0;
    alignas(64) std::atomic<std::uint32_t> wakeups_{0};
    alignas(64) std::atomic<std::uint32_t> gate_{0};
    alignas(64) std::atomic<std::size_t> next_part_{0};
};

class Crew {
public:
    // The caller is thread 0. The other threads start with the first job that has parts for them.
    explicit Crew(std::size_t threads) : scratch_(std::max<std::size_t>(threads, 1)) {
        reserve_exception_memory();
    }
    Crew(const Crew&) = delete;
    Crew& operator=(const Crew&) = delete;
    ~Crew() { dismiss(); }

    // Ends the threads, without waiting: one that is asleep on a busy machine may take milliseconds
    // to wake up and end. A later job starts new ones.
    void dismiss() {
        if (!helpers_) return;
        // a forked child has no helpers, and must not touch what they wait for
        if (process_id() == owner_process_)
            helpers_->stop();
        else
            new std::shared_ptr<Job>(std::move(helpers_));  // leaked
        helpers_.reset();
    }

    std::size_t threads() const { return scratch_.size(); }

    // Memory of one thread, valid until the next job; null if there is too little. Only the caller
    // may request it: helpers allocate nothing, so they throw nothing.
    unsigned char* scratch(std::size_t thread, std::size_t bytes) {
        Scratch& scratch = scratch_[thread];
        if (scratch.bytes < bytes || !scratch.memory) {
            scratch.memory.reset();
            scratch.bytes = 0;
            scratch.memory = make_aligned_or_null<unsigned char>(bytes);
            if (scratch.memory) scratch.bytes = bytes;
        }
        return scratch.memory.get();
    }

    // A caller holds it while it uses scratch() and run(): one job at a time.
    std::mutex& mutex() { return mutex_; }

    // Calls work(part, thread) once for every part, with thread < max_threads. The caller works too
    // and waits only for helpers that have entered the job, not for those that are still waking up.
    // The first exception ends the job and is rethrown here after all threads have left it.
    template <class Work>
    void run(std::size_t parts, std::size_t max_threads, Work&& work) {
        max_threads = std::min({max_threads, parts, threads()});
        if (max_threads <= 1 || !start_helpers()) {
            for (std::size_t part = 0; part < parts; ++part) work(part, std::size_t{0});
            return;
        }
        helpers_->run(parts, max_threads, &work,
                      [](void* job, std::size_t part, std::size_t thread) {
                          (*static_cast<std::remove_reference_t<Work>*>(job))(part, thread);
                      });
    }

private:
    struct Scratch {
        Aligned<unsigned char> memory;
        std::size_t bytes = 0;
    };

    static long process_id() {
#ifdef __unix__
        return static_cast<long>(getpid());
#else
        return 0;
#endif
    }

    // Starts the threads once; false if there are none, e.g. in a forked child.
    bool start_helpers() {
        if (helpers_) return process_id() == owner_process_;
        owner_process_ = process_id();
        try {
            auto shared = std::make_shared<Job>(threads() <= std::thread::hardware_concurrency());
            for (std::size_t thread = 1; thread < threads(); ++thread) {
                start_thread([shared, thread] { shared->help(thread); });
                helpers_ = shared;
            }
        } catch (const std::system_error&) {  // go on with as many as the system allows
        } catch (const std::bad_alloc&) {
        }
        return helpers_ != nullptr;
    }

    std::vector<Scratch> scratch_;  // one per thread
    std::shared_ptr<Job> helpers_;  // null: none were started
    std::mutex mutex_;
    long owner_process_ = 0;
};

}  // namespace partita
