/*
 * The tests of `bmi perf` between two ranks of an MPI: half round trip, message
 * rate in windows, bandwidth one way and both ways. Same steps, same windows,
 * same use of buffers: one to send from, and one to receive into for each
 * message under way. And those of `mpibench` of operations in which all ranks
 * wait for each other: barrier, allreduce of doubles, and alltoall, which may
 * have any number of ranks.
 *
 *     mpi METHOD MILLISECONDS WINDOW TEST:SIZE ...
 *
 * METHOD is the name to print. MILLISECONDS is the budget of each point.
 */
#include <mpi.h>
#include <stdint.h>
#include <string.h>

#include "points.h"

enum { TAG = 7, WINDOW_BYTES_MAX = 4 << 20, WINDOW_MAX = 4096, TESTS_MAX = 64 };

static int rank, ranks;
static char *out, *in;
static MPI_Request sends[WINDOW_MAX], recvs[WINDOW_MAX];

static size_t align_up(size_t n) { return (n + 63) & ~(size_t)63; }

static void ping_pong(long n, int size)
{
    for (long i = 0; i < n; i++) {
        if (rank == 0) {
            MPI_Send(out, size, MPI_BYTE, 1, TAG, MPI_COMM_WORLD);
            MPI_Recv(in, size, MPI_BYTE, 1, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else {
            MPI_Recv(in, size, MPI_BYTE, 0, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Send(out, size, MPI_BYTE, 0, TAG, MPI_COMM_WORLD);
        }
    }
}

static void post_recvs(int size, int window)
{
    for (int i = 0; i < window; i++)
        MPI_Irecv(in + i * align_up(size), size, MPI_BYTE, 1 - rank, TAG, MPI_COMM_WORLD, &recvs[i]);
}

static void post_sends(int size, int window)
{
    for (int i = 0; i < window; i++)
        MPI_Isend(out, size, MPI_BYTE, 1 - rank, TAG, MPI_COMM_WORLD, &sends[i]);
}

/* pour sends windows from rank 0 to rank 1, each answered by an empty message. */
static void pour(long n, int size, int window)
{
    if (rank == 1)
        post_recvs(size, window);
    MPI_Barrier(MPI_COMM_WORLD);
    for (long i = 0; i < n; i++) {
        if (rank == 0) {
            post_sends(size, window);
            MPI_Waitall(window, sends, MPI_STATUSES_IGNORE);
            MPI_Recv(NULL, 0, MPI_BYTE, 1, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else {
            MPI_Waitall(window, recvs, MPI_STATUSES_IGNORE);
            if (i + 1 < n)
                post_recvs(size, window);
            MPI_Send(NULL, 0, MPI_BYTE, 0, TAG, MPI_COMM_WORLD);
        }
    }
}

static void exchange(long n, int size, int window)
{
    post_recvs(size, window);
    MPI_Barrier(MPI_COMM_WORLD);
    for (long i = 0; i < n; i++) {
        post_sends(size, window);
        MPI_Waitall(window, recvs, MPI_STATUSES_IGNORE);
        if (i + 1 < n)
            post_recvs(size, window);
        MPI_Waitall(window, sends, MPI_STATUSES_IGNORE);
    }
}

static void barriers(long n)
{
    for (long i = 0; i < n; i++)
        MPI_Barrier(MPI_COMM_WORLD);
}

static void allreduces(long n, int size)
{
    for (long i = 0; i < n; i++)
        MPI_Allreduce(out, in, size / (int)sizeof(double), MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

static void alltoalls(long n, int size)
{
    for (long i = 0; i < n; i++)
        MPI_Alltoall(out, size, MPI_BYTE, in, size, MPI_BYTE, MPI_COMM_WORLD);
}

/* collective reports whether a test is collective, and so has no messages and no window. */
static int collective(const char *test)
{
    return !strcmp(test, "barrier") || !strcmp(test, "allreduce") || !strcmp(test, "alltoall");
}

/* A point is a test with its size and window. */
struct point {
    const char *test;
    int size, window;
};

static void steps_of(const void *of, long n)
{
    const struct point *p = of;
    if (!strcmp(p->test, "latency"))
        ping_pong(n, p->size);
    else if (!strcmp(p->test, "bidirectional"))
        exchange(n, p->size, p->window);
    else if (!strcmp(p->test, "barrier"))
        barriers(n);
    else if (!strcmp(p->test, "allreduce"))
        allreduces(n, p->size);
    else if (!strcmp(p->test, "alltoall"))
        alltoalls(n, p->size);
    else
        pour(n, p->size, p->window);
}

static void point(const char *method, const char *test, int size, int window_max, double budget)
{
    int window = 1;
    if (!strcmp(test, "rate"))
        window = window_max;
    else if (strcmp(test, "latency") && !collective(test)) {
        window = WINDOW_BYTES_MAX / (size ? size : 1);
        if (window < 2)
            window = 2;
        if (window > window_max)
            window = window_max;
    }
    size_t out_bytes = (collective(test) ? ranks : 1) * align_up(size);
    out = pages(out_bytes, 0); /* doubles that stay what they are */
    in = pages(window * out_bytes, 2);

    struct point p = {test, size, window};
    double median, p99;
    measure_steps(steps_of, &p, budget, &median, &p99);
    if (rank == 0) {
        if (!strcmp(test, "latency"))
            print_result(test, method, size, 1, median / 2e3, p99 / 2e3, "us");
        else if (collective(test))
            print_result(test, method, size, 1, median / 1e3, p99 / 1e3, "us");
        else if (!strcmp(test, "rate"))
            print_result(test, method, size, window, window / median * 1e9, window / p99 * 1e9, "msg/s");
        else {
            double mb = (double)window * size / 1e6 * (!strcmp(test, "bidirectional") ? 2 : 1);
            print_result(test, method, size, window, mb / median * 1e9, mb / p99 * 1e9, "MB/s");
        }
    }
    free(out);
    free(in);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    long window = argc > 3 ? atol(argv[3]) : 0;
    int usable = argc > 4 && window >= 1 && window <= WINDOW_MAX;
    char *size[TESTS_MAX];
    for (int i = 4; i < argc && usable; i++) {
        char *colon = strchr(argv[i], ':');
        usable = colon && i - 4 < TESTS_MAX;
        if (usable) {
            *colon = 0;
            size[i - 4] = colon + 1;
            usable = ranks == 2 || collective(argv[i]);
        }
    }
    if (!usable) {
        if (rank == 0)
            fprintf(stderr, "usage: two ranks, or any number for collective tests, of: mpi METHOD MILLISECONDS WINDOW TEST:SIZE ...\n");
        MPI_Finalize();
        return 2;
    }
    for (int i = 4; i < argc; i++)
        point(argv[1], argv[i], atoi(size[i - 4]), (int)window, atof(argv[2]) * 1e6);
    MPI_Finalize();
    return 0;
}
