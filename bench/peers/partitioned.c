/*
 * The test partitioned of `mpibench` between two ranks of an MPI, a ping-pong of a
 * message whose partitions become ready one after another, and the same message in
 * one part.
 *
 *     partitioned METHOD MILLISECONDS PARTITIONS SIZE
 */
#include <mpi.h>

#include "points.h"

enum { TAG = 7 };

static int rank, partitions, size;
static char *out, *in;
static MPI_Request sending, receiving;

static void send_partitions(void)
{
    MPI_Start(&sending);
    for (int i = 0; i < partitions; i++)
        MPI_Pready(i, sending);
    MPI_Wait(&sending, MPI_STATUS_IGNORE);
}

static void receive_partitions(void)
{
    MPI_Start(&receiving);
    MPI_Wait(&receiving, MPI_STATUS_IGNORE);
}

static void in_partitions(const void *of, long n)
{
    (void)of;
    for (long i = 0; i < n; i++) {
        if (rank == 0) {
            send_partitions();
            receive_partitions();
        } else {
            receive_partitions();
            send_partitions();
        }
    }
}

static void whole(const void *of, long n)
{
    (void)of;
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

static void measure(const char *method, const char *test, run_steps *run, double budget)
{
    double median, p99;
    measure_steps(run, NULL, budget, &median, &p99);
    if (rank == 0)
        print_result(test, method, size, 1, median / 2e3, p99 / 2e3, "us");
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int ranks;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    partitions = argc == 5 ? atoi(argv[3]) : 0;
    size = argc == 5 ? atoi(argv[4]) : 0;
    if (ranks != 2 || partitions < 1 || size < 1 || size % partitions) {
        if (rank == 0)
            fprintf(stderr, "usage: two ranks of: partitioned METHOD MILLISECONDS PARTITIONS SIZE, of equal partitions\n");
        MPI_Finalize();
        return 2;
    }
    double budget = atof(argv[2]) * 1e6;
    out = pages(size, 1 + rank);
    in = pages(size, 0);
    measure(argv[1], "latency", whole, budget);
    memset(in, 0, size);
    MPI_Psend_init(out, partitions, size / partitions, MPI_BYTE, 1 - rank, TAG, MPI_COMM_WORLD, MPI_INFO_NULL, &sending);
    MPI_Precv_init(in, partitions, size / partitions, MPI_BYTE, 1 - rank, TAG, MPI_COMM_WORLD, MPI_INFO_NULL, &receiving);
    measure(argv[1], "partitioned", in_partitions, budget);
    if (in[0] != 2 - rank || in[size - 1] != 2 - rank) {
        fprintf(stderr, "partitioned: another message has arrived\n");
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    MPI_Request_free(&sending);
    MPI_Request_free(&receiving);
    MPI_Finalize();
    return 0;
}
