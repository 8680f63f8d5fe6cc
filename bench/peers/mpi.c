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

#include "measure.h"

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

static void steps_of(const char *test, long n, int size, int window)
{
    if (!strcmp(test, "latency"))
        ping_pong(n, size);
    else if (!strcmp(test, "bidirectional"))
        exchange(n, size, window);
    else if (!strcmp(test, "barrier"))
        barriers(n);
    else if (!strcmp(test, "allreduce"))
        allreduces(n, size);
    else if (!strcmp(test, "alltoall"))
        alltoalls(n, size);
    else
        pour(n, size, window);
}

/* timed runs n steps on both ranks and returns the time of one step on rank 0. */
static double timed(const char *test, long n, int size, int window)
{
    MPI_Barrier(MPI_COMM_WORLD);
    double start = now_ns();
    steps_of(test, n, size, window);
    double took = (now_ns() - start) / n;
    return took < 1 ? 1 : took;
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
    size_t blocks = collective(test) ? ranks : 1;
    size_t out_bytes = blocks * align_up(size), in_bytes = window * out_bytes;
    out = aligned_alloc(4096, (out_bytes + 8191) & ~4095UL);
    in = aligned_alloc(4096, (in_bytes + 8191) & ~4095UL);
    if (!out || !in)
        MPI_Abort(MPI_COMM_WORLD, 1);
    memset(out, 0, out_bytes); /* doubles that stay what they are */
    memset(in, 2, in_bytes);

    double step = 0;
    long n = 1;
    for (int more = 1; more;) {
        step = timed(test, n, size, window);
        more = step * n < budget / 5;
        if (more) {
            double growth = budget / 5 / (step * n) + 1;
            n = (long)(n * (growth < 2 ? 2 : growth > 64 ? 64 : growth));
        }
        MPI_Bcast(&n, 1, MPI_LONG, 0, MPI_COMM_WORLD);
        MPI_Bcast(&more, 1, MPI_INT, 0, MPI_COMM_WORLD);
    }
    long shape[2];
    plan(budget, step, &shape[0], &shape[1]);
    MPI_Bcast(shape, 2, MPI_LONG, 0, MPI_COMM_WORLD);

    double sample[BATCHES_MAX], median, p99;
    for (long b = 0; b < shape[0]; b++)
        sample[b] = timed(test, shape[1], size, window);
    median_p99(sample, shape[0], &median, &p99);
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
