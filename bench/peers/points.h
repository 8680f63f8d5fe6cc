/*
 * Points of the programs for MPI: all ranks run more and more steps until these fill
 * a fifth of a budget, and then batches of steps, as internal/mpiperf does.
 */
#ifndef BENCH_POINTS_H
#define BENCH_POINTS_H

#include <mpi.h>
#include <string.h>

#include "measure.h"

/* A run_steps runs n steps of a test on this rank. */
typedef void run_steps(const void *test, long n);

/* timed runs n steps on all ranks and returns the time of one step on this rank. */
static double timed(run_steps *run, const void *test, long n)
{
    MPI_Barrier(MPI_COMM_WORLD);
    double start = now_ns();
    run(test, n);
    double took = (now_ns() - start) / n;
    return took < 1 ? 1 : took;
}

/* measure_steps returns the median and the 99th percentile of the time of a step in each batch. Rank 0
 * decides how many there are. */
static void measure_steps(run_steps *run, const void *test, double budget_ns, double *median, double *p99)
{
    double step = 0;
    long n = 1;
    for (int more = 1; more;) {
        step = timed(run, test, n);
        more = step * n < budget_ns / 5;
        if (more) {
            double growth = budget_ns / 5 / (step * n) + 1;
            n = (long)(n * (growth < 2 ? 2 : growth > 64 ? 64 : growth));
        }
        MPI_Bcast(&n, 1, MPI_LONG, 0, MPI_COMM_WORLD);
        MPI_Bcast(&more, 1, MPI_INT, 0, MPI_COMM_WORLD);
    }
    long shape[2];
    plan(budget_ns, step, &shape[0], &shape[1]);
    MPI_Bcast(shape, 2, MPI_LONG, 0, MPI_COMM_WORLD);

    double sample[BATCHES_MAX];
    for (long b = 0; b < shape[0]; b++)
        sample[b] = timed(run, test, shape[1]);
    median_p99(sample, shape[0], median, p99);
}

/* pages returns memory of whole pages, filled with a byte. */
static void *pages(size_t bytes, int fill)
{
    size_t whole = (bytes + 8191) & ~4095UL;
    void *mem = aligned_alloc(4096, whole);
    if (!mem)
        MPI_Abort(MPI_COMM_WORLD, 1);
    return memset(mem, fill, whole);
}

#endif
