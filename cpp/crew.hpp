// Threads that share the parts of one job after another. Passes follow each other within
// microseconds, so a thread that has nothing to do looks out for the next job for a moment before it
// goes to sleep.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#ifdef __unix__
#include <unistd.h>
#endif

#include "kernels/aligned.hpp"

namespace partita {

class Crew {
public:
    // The caller is one of the threads; the others start with the first job that they can share.
    explicit Crew(std::size_t threads)
        : desks_(std::max<std::size_t>(threads, 1)),
          patience_(threads > 1 && threads <= std::thread::hardware_concurrency() ? kPatience
                                                                                  : kNone) {}
    Crew(const Crew&) = delete;
    Crew& operator=(const Crew&) = delete;
    ~Crew() { dismiss(); }

    // Ends the threads; those who come later start anew.
    void dismiss() {
        if (helpers_.empty()) return;
        if (process() !=
            born_) {  // a fork has the handles but not the threads: nothing may touch them
            new std::vector<std::thread>(std::move(helpers_));
            helpers_.clear();
            return;
        }
        over_.store(true);
        ring();
        for (std::thread& helper : helpers_) helper.join();
        helpers_.clear();
        over_.store(false);
    }

    std::size_t threads() const { return desks_.size(); }

    // Memory that thread `who` may use until the next job. Only the caller asks for it.
    unsigned char* desk(std::size_t who, std::size_t bytes) {
        Desk& desk = desks_[who];
        if (desk.bytes < bytes) {
            desk.memory.reset();
            desk.bytes = 0;
            desk.memory = make_aligned<unsigned char>(bytes);
            desk.bytes = bytes;
        }
        return desk.memory.get();
    }

    // Held by a caller while it uses desks and shares: one job at a time.
    std::mutex& turn() { return turn_; }

    // Calls work(part, who) once for every part; `who` is below `seats` and tells threads apart.
    // The caller works too, and waits for those who came, not for those who are still waking up. What
    // work throws ends the drawing of parts and is thrown to the caller when all have stopped.
    template <class Work>
    void share(std::size_t parts, std::size_t seats, Work&& work) {
        seats = std::min({seats, parts, threads()});
        if (seats <= 1 || !assemble()) {
            for (std::size_t part = 0; part < parts; ++part) work(part, std::size_t{0});
            return;
        }
        job_ = &work;
        call_ = [](void* job, std::size_t part, std::size_t who) {
            (*static_cast<std::remove_reference_t<Work>*>(job))(part, who);
        };
        parts_ = parts;
        seats_ = seats;
        next_.store(0, std::memory_order_relaxed);
        gate_.store(kOpen, std::memory_order_release);
        ring();
        draw(0);
        gate_.fetch_and(~kOpen, std::memory_order_acq_rel);
        for (int round = 0; gate_.load(std::memory_order_acquire) != 0; ++round)
            round < 4096 ? pause() : std::this_thread::yield();
        if (failed_.load()) {
            failed_.store(false);
            std::rethrow_exception(std::exchange(failure_, nullptr));
        }
    }

private:
    using Time = std::chrono::steady_clock;
    static constexpr auto kPatience = std::chrono::microseconds(150), kNone = kPatience * 0;
    static constexpr std::uint32_t kOpen = 1, kOne = 2;  // of the gate: open, and how many came in

    struct Desk {
        Aligned<unsigned char> memory;
        std::size_t bytes = 0;
    };

    static void pause() {
#if defined(__x86_64__) || defined(__i386__)
        __builtin_ia32_pause();
#else
        std::this_thread::yield();
#endif
    }

    static long process() {
#ifdef __unix__
        return static_cast<long>(getpid());
#else
        return 0;
#endif
    }

    // Starts the threads, once; false if there are none, as in a fork.
    bool assemble() {
        if (helpers_.empty()) {
            born_ = process();
            born_bell_ = bell_.load();
            try {
                for (std::size_t who = 1; who < threads(); ++who)
                    helpers_.emplace_back([this, who] { help(who); });
            } catch (const std::system_error&) {  // as many as the system gives
            }
        }
        return !helpers_.empty() && process() == born_;
    }

    void ring() {
        bell_.fetch_add(1, std::memory_order_release);
        bell_.notify_all();
    }

    void draw(std::size_t who) {
        for (;;) {
            const std::size_t part = next_.fetch_add(1, std::memory_order_relaxed);
            if (part >= parts_) return;
            try {
                call_(job_, part, who);
            } catch (...) {
                if (!failed_.exchange(true)) failure_ = std::current_exception();
                next_.store(parts_, std::memory_order_relaxed);
            }
        }
    }

    void help(std::size_t who) {
        std::uint32_t heard = born_bell_;
        for (;;) {
            heard = listen(heard);
            if (over_.load()) return;
            std::uint32_t gate = gate_.load(std::memory_order_acquire);
            while (gate & kOpen) {
                if (!gate_.compare_exchange_weak(gate, gate + kOne, std::memory_order_acq_rel))
                    continue;
                if (who < seats_) draw(who);
                gate_.fetch_sub(kOne, std::memory_order_release);
                break;
            }
        }
    }

    std::uint32_t listen(std::uint32_t heard) {
        const Time::time_point asleep = Time::now() + patience_;
        do {
            for (int round = 0; round < 32; ++round) {
                const std::uint32_t now = bell_.load(std::memory_order_acquire);
                if (now != heard) return now;
                pause();
            }
        } while (Time::now() < asleep);
        bell_.wait(heard, std::memory_order_acquire);
        return bell_.load(std::memory_order_acquire);
    }

    std::vector<Desk> desks_;
    std::chrono::microseconds patience_;
    std::vector<std::thread> helpers_;
    std::mutex turn_;
    long born_ = 0;
    std::uint32_t born_bell_ = 0;  // what the bell said when they were started
    std::atomic<bool> failed_{false};
    std::exception_ptr failure_;
    std::atomic<bool> over_{false};
    void* job_ = nullptr;
    void (*call_)(void*, std::size_t, std::size_t) = nullptr;
    std::size_t parts_ = 0, seats_ = 0;
    alignas(64) std::atomic<std::uint32_t> bell_{0};
    alignas(64) std::atomic<std::uint32_t> gate_{0};
    alignas(64) std::atomic<std::size_t> next_{0};
};

}  // namespace partita
