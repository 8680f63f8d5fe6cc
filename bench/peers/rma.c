/*
 * The one-sided tests of `mpibench` between two ranks of an MPI: rank 0 puts, gets, or
 * adds to a number and fetches the former one, at rank 1, and completes each operation
 * by a flush; or it puts between two fences of both ranks. The window is allocated.
 *
 *     rma METHOD MILLISECONDS TEST:SIZE ...
 *
 * METHOD is the name to print. MILLISECONDS is the budget of each point.
 */
#include <mpi.h>
#include <stdint.h>
#include <string.h>

#include "points.h"

/* MPICH 4.0 puts into another place than the target's memory if a window is smaller than a page. */
enum { TARGET = 1, FILL_OUT = 1, FILL_WINDOW = 3, WINDOW_MIN = 4096 };

static int rank;
static char *out, *in, *memory;
static MPI_Win window;

static void puts_and_flushes(const void *of, long n)
{
    int size = *(const int *)of;
    for (long i = 0; rank == 0 && i < n; i++) {
        MPI_Put(out, size, MPI_BYTE, TARGET, 0, size, MPI_BYTE, window);
        MPI_Win_flush(TARGET, window);
    }
}

static void gets_and_flushes(const void *of, long n)
{
    int size = *(const int *)of;
    for (long i = 0; rank == 0 && i < n; i++) {
        MPI_Get(in, size, MPI_BYTE, TARGET, 0, size, MPI_BYTE, window);
        MPI_Win_flush(TARGET, window);
    }
}

static void fetches_and_flushes(const void *of, long n)
{
    (void)of;
    for (long i = 0; rank == 0 && i < n; i++) {
        MPI_Fetch_and_op(out, in, MPI_INT64_T, TARGET, 0, MPI_SUM, window);
        MPI_Win_flush(TARGET, window);
    }
}

static void puts_and_fences(const void *of, long n)
{
    int size = *(const int *)of;
    for (long i = 0; i < n; i++) {
        if (rank == 0)
            MPI_Put(out, size, MPI_BYTE, TARGET, 0, size, MPI_BYTE, window);
        MPI_Win_fence(0, window);
    }
}

static const struct test {
    const char *name;
    run_steps *run;
    int fenced, puts;
} tests[] = {
    {"put", puts_and_flushes, 0, 1},
    {"get", gets_and_flushes, 0, 0},
    {"fetch_and_op", fetches_and_flushes, 0, 0},
    {"fence", puts_and_fences, 1, 1},
};

/* check ends the program if an operation did not do what its name says. */
static void check(const struct test *t, int size)
{
    int right = 1;
    if (t->puts && rank == TARGET)
        right = memory[0] == FILL_OUT && memory[size - 1] == FILL_OUT;
    else if (!t->puts && rank == 0)
        right = in[0] != 0 && in[size - 1] != 0;
    if (!right) {
        fprintf(stderr, "rma: %s of %d bytes has moved something else\n", t->name, size);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
}

static void point(const char *method, const struct test *t, int size, double budget)
{
    out = pages(size, FILL_OUT);
    in = pages(size, 0);
    MPI_Win_allocate(size < WINDOW_MIN ? WINDOW_MIN : size, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window);
    memset(memory, FILL_WINDOW, size);
    if (t->fenced)
        MPI_Win_fence(0, window);
    else
        MPI_Win_lock_all(0, window);
    double median, p99;
    measure_steps(t->run, &size, budget, &median, &p99);
    if (t->fenced)
        MPI_Win_fence(MPI_MODE_NOSUCCEED, window);
    else
        MPI_Win_unlock_all(window);
    MPI_Barrier(MPI_COMM_WORLD);
    check(t, size);
    if (rank == 0)
        print_result(t->name, method, size, 1, median / 1e3, p99 / 1e3, "us");
    MPI_Win_free(&window);
    free(out);
    free(in);
}

/* test_of finds a test and its size in an argument; NULL if it is wrong. */
static const struct test *test_of(const char *arg, int *size)
{
    const char *colon = strchr(arg, ':');
    for (size_t i = 0; colon && i < sizeof tests / sizeof *tests; i++) {
        size_t length = strlen(tests[i].name);
        if (length == (size_t)(colon - arg) && !strncmp(arg, tests[i].name, length)) {
            *size = atoi(colon + 1);
            int number = tests[i].run == fetches_and_flushes;
            return *size > 0 && (!number || *size == sizeof(int64_t)) ? &tests[i] : NULL;
        }
    }
    return NULL;
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int ranks, size, usable = argc > 3;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    for (int i = 3; i < argc; i++)
        usable = usable && test_of(argv[i], &size);
    if (!usable || ranks != 2) {
        if (rank == 0)
            fprintf(stderr, "usage: two ranks of: rma METHOD MILLISECONDS TEST:SIZE ...; tests are put, get, fetch_and_op (of 8 bytes) and fence\n");
        MPI_Finalize();
        return 2;
    }
    for (int i = 3; i < argc; i++) {
        const struct test *t = test_of(argv[i], &size);
        point(argv[1], t, size, atof(argv[2]) * 1e6);
    }
    MPI_Finalize();
    return 0;
}
