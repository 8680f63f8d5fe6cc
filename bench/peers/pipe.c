/*
 * Processes that exchange 8-byte messages through pipes, with blocking reads and
 * writes: the speed of the kernel alone, with two processes and with many.
 *
 *     pipe pairs|ring|all PROCESSES MILLISECONDS [CORE CORE]
 *
 * pairs: processes ping-pong two by two. ring: each sends to the next and
 * receives from the one before. all: each sends to and receives from every
 * other one. The result is wall time per message: elapsed time divided by
 * the number of messages of all processes. With cores, process i is bound to
 * core i mod 2 of the two.
 */
#define _GNU_SOURCE
#include <sched.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <signal.h>
#include <unistd.h>

#include "measure.h"

enum { PROCS_MAX = 64 };

static int procs, fds[PROCS_MAX][PROCS_MAX][2]; /* from, to */
static enum { PAIRS, RING, ALL } shape;

static void send_to(int me, int to)
{
    uint64_t word = 0;
    if (write(fds[me][to][1], &word, sizeof word) != sizeof word)
        _exit(1);
}

static void recv_from(int me, int from)
{
    uint64_t word;
    if (read(fds[from][me][0], &word, sizeof word) != sizeof word)
        _exit(1);
}

static void exchange(int me, long n)
{
    for (long i = 0; i < n; i++) {
        switch (shape) {
        case PAIRS:
            if (me % 2 == 0) {
                send_to(me, me + 1);
                recv_from(me, me + 1);
            } else {
                recv_from(me, me - 1);
                send_to(me, me - 1);
            }
            break;
        case RING:
            send_to(me, (me + 1) % procs);
            recv_from(me, (me + procs - 1) % procs);
            break;
        case ALL:
            for (int p = 1; p < procs; p++)
                send_to(me, (me + p) % procs);
            for (int p = 1; p < procs; p++)
                recv_from(me, (me + p) % procs);
        }
    }
}

/* Process 0 leads: it tells the others how many steps to do (0: leave), by a pipe
 * to each, and all report through one pipe that they are done. */
static int up[2], down[PROCS_MAX][2];

static long start_run(int me, long n)
{
    if (me == 0) {
        for (int p = 1; p < procs; p++)
            if (write(down[p][1], &n, sizeof n) != sizeof n)
                _exit(1);
    } else if (read(down[me][0], &n, sizeof n) != sizeof n || n == 0)
        _exit(0);
    return n;
}

static void end_run(int me)
{
    char c = 0;
    if (me != 0) {
        if (write(up[1], &c, 1) != 1)
            _exit(1);
        return;
    }
    for (int p = 1; p < procs; p++)
        if (read(up[0], &c, 1) != 1)
            _exit(1);
}

/* timed returns the time of one step of all processes. */
static double timed(long n)
{
    start_run(0, n);
    double start = now_ns();
    exchange(0, n);
    end_run(0);
    return (now_ns() - start) / n;
}

static void bind_to(int core)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(core, &set);
    sched_setaffinity(0, sizeof set, &set);
}

int main(int argc, char **argv)
{
    procs = argc > 2 ? atoi(argv[2]) : 0;
    const char *name = argc > 1 ? argv[1] : "";
    shape = !strcmp(name, "ring") ? RING : !strcmp(name, "all") ? ALL : PAIRS;
    if ((argc != 4 && argc != 6) || procs < 2 || procs > PROCS_MAX || procs % 2) {
        fprintf(stderr, "usage: pipe pairs|ring|all PROCESSES MILLISECONDS [CORE CORE]\n");
        return 2;
    }
    double budget = atof(argv[3]) * 1e6;
    for (int a = 0; a < procs; a++) {
        if (pipe(down[a]))
            return 1;
        for (int b = 0; b < procs; b++)
            if (a != b && pipe(fds[a][b]))
                return 1;
    }
    if (pipe(up))
        return 1;
    for (int p = 1; p < procs; p++) {
        if (fork() == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            if (argc == 6)
                bind_to(atoi(argv[4 + p % 2]));
            for (;;) {
                exchange(p, start_run(p, 0));
                end_run(p);
            }
        }
    }
    if (argc == 6)
        bind_to(atoi(argv[4]));

    long n = 1, batches, steps;
    double step;
    while ((step = timed(n)) * n < budget / 5)
        n *= 2;
    plan(budget, step, &batches, &steps);
    double sample[BATCHES_MAX], median, p99;
    for (long b = 0; b < batches; b++)
        sample[b] = timed(steps);
    start_run(0, 0);
    while (wait(NULL) > 0)
        ;
    median_p99(sample, batches, &median, &p99);
    double messages = shape == PAIRS ? procs : shape == RING ? procs : (double)procs * (procs - 1);
    char test[64];
    snprintf(test, sizeof test, "crowd-%s", name);
    print_result(test, "pipe", 8, procs, median / messages / 1e3, p99 / messages / 1e3, "us");
    return 0;
}
