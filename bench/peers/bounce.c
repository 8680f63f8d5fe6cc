/*
 * The bare cache-line bounce of `bmi perf --tests limit-bounce`, in C, to check
 * that the one in Go costs the same.
 *
 *     bounce MILLISECONDS CORE CORE
 */
#define _GNU_SOURCE
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "measure.h"

static void bind_to(int core)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(core, &set);
    if (sched_setaffinity(0, sizeof set, &set))
        perror("bounce: bind to core");
}

static double timed(_Atomic uint64_t *turn, uint64_t *at, long n)
{
    double start = now_ns();
    for (long i = 0; i < n; i++, *at += 2) {
        atomic_store_explicit(turn, *at + 1, memory_order_release);
        while (atomic_load_explicit(turn, memory_order_acquire) != *at + 2)
            ;
    }
    return (now_ns() - start) / n;
}

int main(int argc, char **argv)
{
    if (argc != 4) {
        fprintf(stderr, "usage: bounce MILLISECONDS CORE CORE\n");
        return 2;
    }
    _Atomic uint64_t *turn = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (turn == MAP_FAILED)
        return 1;
    pid_t child = fork();
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        bind_to(atoi(argv[3]));
        for (uint64_t at = 0;; at += 2) {
            while (atomic_load_explicit(turn, memory_order_acquire) != at + 1)
                ;
            atomic_store_explicit(turn, at + 2, memory_order_release);
        }
    }
    bind_to(atoi(argv[2]));
    uint64_t at = 0;
    double budget = atof(argv[1]) * 1e6, sample[BATCHES_MAX], median, p99;
    long n = 1, batches, steps;
    double step;
    while ((step = timed(turn, &at, n)) * n < budget / 5)
        n *= 2;
    plan(budget, step, &batches, &steps);
    for (long b = 0; b < batches; b++)
        sample[b] = timed(turn, &at, steps);
    kill(child, SIGKILL);
    median_p99(sample, batches, &median, &p99);
    print_result("limit-bounce", "bare-c", 0, 1, median / 2e3, p99 / 2e3, "us");
    return 0;
}
