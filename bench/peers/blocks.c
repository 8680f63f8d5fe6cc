/*
 * The tests write_all and read_all of `mpibench` by the files of an MPI: all ranks
 * write or read a three-dimensional array of doubles together, of which each rank has
 * a block: all planes, and a part of the rows and columns. Nothing is synced, so what
 * is measured is the way of the bytes to and from the page cache. A step ends when all
 * ranks have ended theirs.
 *
 *     blocks METHOD MILLISECONDS FILE PLANES ROWS COLUMNS
 *
 * The file is made, and removed at the end.
 */
#include <mpi.h>

#include "points.h"

enum { DIMS = 3 };

static int rank;
static MPI_File file;
static double *numbers;
static int count;

static void stop_at(int error, const char *doing)
{
    char text[MPI_MAX_ERROR_STRING];
    int length;
    if (error == MPI_SUCCESS)
        return;
    MPI_Error_string(error, text, &length);
    fprintf(stderr, "blocks: %s: %.*s\n", doing, length, text);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static void writes(const void *of, long n)
{
    (void)of;
    for (long i = 0; i < n; i++) {
        stop_at(MPI_File_write_at_all(file, 0, numbers, count, MPI_DOUBLE, MPI_STATUS_IGNORE), "write");
        MPI_Barrier(MPI_COMM_WORLD);
    }
}

static void reads(const void *of, long n)
{
    (void)of;
    for (long i = 0; i < n; i++) {
        stop_at(MPI_File_read_at_all(file, 0, numbers, count, MPI_DOUBLE, MPI_STATUS_IGNORE), "read");
        MPI_Barrier(MPI_COMM_WORLD);
    }
}

/* fill gives each number of this rank a value of its own. */
static void fill(double sign)
{
    for (int i = 0; i < count; i++)
        numbers[i] = sign * (rank + 1 + (double)i * 1024);
}

static void check(void)
{
    for (int i = 0; i < count; i++) {
        if (numbers[i] != rank + 1 + (double)i * 1024) {
            fprintf(stderr, "blocks: number %d of rank %d is wrong\n", i, rank);
            MPI_Abort(MPI_COMM_WORLD, 1);
        }
    }
}

static void measure(const char *method, const char *test, run_steps *run, long bytes, double budget)
{
    double median, p99;
    measure_steps(run, NULL, budget, &median, &p99);
    if (rank == 0)
        print_result(test, method, bytes, 1, bytes / 1e6 / median * 1e9, bytes / 1e6 / p99 * 1e9, "MB/s");
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int ranks, grid[2] = {0, 0}, whole[DIMS] = {0}, part[DIMS], start[DIMS] = {0};
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Dims_create(ranks, 2, grid);
    for (int d = 0; d < DIMS && argc == 7; d++)
        whole[d] = atoi(argv[4 + d]);
    if (whole[0] < 1 || whole[1] < grid[0] || whole[2] < grid[1]) {
        if (rank == 0)
            fprintf(stderr, "usage: blocks METHOD MILLISECONDS FILE PLANES ROWS COLUMNS, with some rows and columns for each rank\n");
        MPI_Finalize();
        return 2;
    }
    part[0] = whole[0];
    for (int d = 0; d < 2; d++) {
        long at = d == 0 ? rank / grid[1] : rank % grid[1];
        start[d + 1] = at * whole[d + 1] / grid[d];
        part[d + 1] = (at + 1) * whole[d + 1] / grid[d] - start[d + 1];
    }
    count = part[0] * part[1] * part[2];
    long bytes = (long)whole[0] * whole[1] * whole[2] * sizeof(double);
    double budget = atof(argv[2]) * 1e6;
    numbers = pages(count * sizeof(double), 0);

    stop_at(MPI_File_open(MPI_COMM_WORLD, argv[3], MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &file), "open");
    MPI_Datatype mine;
    MPI_Type_create_subarray(DIMS, whole, part, start, MPI_ORDER_C, MPI_DOUBLE, &mine);
    MPI_Type_commit(&mine);
    stop_at(MPI_File_set_view(file, 0, MPI_DOUBLE, mine, "native", MPI_INFO_NULL), "set the view");
    fill(1);
    measure(argv[1], "write_all", writes, bytes, budget);
    fill(-1);
    measure(argv[1], "read_all", reads, bytes, budget);
    check();
    MPI_Type_free(&mine);
    stop_at(MPI_File_close(&file), "close");
    MPI_Finalize();
    return 0;
}
