/*
 * Shared by the C programs of the comparison: batches, medians and the output, all
 * the same as in internal/perf, so that numbers can be compared.
 * Every program prints one JSON object a line: test, method, size, window,
 * median, p99, unit.
 */
#ifndef BENCH_MEASURE_H
#define BENCH_MEASURE_H

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { BATCHES_MAX = 40, BATCHES_MIN = 3 };

static double now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1e9 + t.tv_nsec;
}

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* plan divides a budget into batches of steps, given the time of one step. */
static inline void plan(double budget_ns, double step_ns, long *batches, long *steps)
{
    double batch = budget_ns / BATCHES_MAX;
    if (batch < 20e3)
        batch = 20e3;
    *steps = batch / step_ns < 1 ? 1 : (long)(batch / step_ns);
    *batches = (long)(budget_ns / (*steps * step_ns));
    if (*batches < BATCHES_MIN)
        *batches = BATCHES_MIN;
    if (*batches > BATCHES_MAX)
        *batches = BATCHES_MAX;
}

/* median_p99 sorts the samples and returns their median and 99th percentile. */
static inline void median_p99(double *sample, long n, double *median, double *p99)
{
    qsort(sample, n, sizeof *sample, compare_doubles);
    *median = n % 2 ? sample[n / 2] : (sample[n / 2 - 1] + sample[n / 2]) / 2;
    long rank = (long)(0.99 * n + 0.999999) - 1;
    *p99 = sample[rank < 0 ? 0 : rank];
}

static void print_result(const char *test, const char *method, long size, long window,
                         double median, double p99, const char *unit)
{
    printf("{\"test\":\"%s\",\"method\":\"%s\",\"size\":%ld,\"window\":%ld,\"median\":%.6g,\"p99\":%.6g,\"unit\":\"%s\"}\n",
           test, method, size, window, median, p99, unit);
    fflush(stdout);
}

#endif
