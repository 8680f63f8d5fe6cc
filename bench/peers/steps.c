/*
 * What bench/steps counts of an MPI: two ranks of a job, each under a tracer.
 * Rank 1 posts a window of receives, rank 0 sends, and rank 1 waits for them
 * when all have arrived. A breakpoint stands before and behind each phase, and
 * a line on standard output describes the next one. Between the phases, the
 * ranks wait for each other in a file that both have mapped, not by MPI.
 *
 *     steps FILE
 */
#include <fcntl.h>
#include <mpi.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

enum { MESSAGES = 32, SIZE = 8, ROUNDS = 1000, TAG = 1, PAGE = 4096 };

static int rank;
static atomic_long *turns; /* how often rank 0 and rank 1 have said that they are ready */

static void fail(const char *why)
{
    perror(why);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

/* meet waits for the other rank. */
static void meet(void)
{
    long turn = atomic_fetch_add(&turns[rank], 1) + 1;
    while (atomic_load(&turns[1 - rank]) < turn)
        usleep(1000);
}

/* begin and end mark a phase of one rank. */
static void begin(int on, const char *name)
{
    if (on) {
        printf("%d false \"%s\"\n", MESSAGES, name);
        fflush(stdout);
        __asm__ volatile("int3");
    }
}

static void end(int on)
{
    if (on)
        __asm__ volatile("int3");
}

/* window sends a window; on: as phases. While everything warms up, the ranks do not wait for each other. */
static void window(int on)
{
    static char out[SIZE], in[SIZE];
    MPI_Request requests[MESSAGES];
    MPI_Status statuses[MESSAGES];
    if (rank == 1) {
        begin(on, "MPI_Irecv");
        for (int i = 0; i < MESSAGES; i++)
            MPI_Irecv(in, SIZE, MPI_BYTE, 0, TAG, MPI_COMM_WORLD, &requests[i]);
        end(on);
        if (on) {
            meet(); /* posted */
            meet(); /* sent */
        }
        begin(on, "MPI_Waitall of receives");
        MPI_Waitall(MESSAGES, requests, statuses);
        end(on);
        MPI_Send(NULL, 0, MPI_BYTE, 0, TAG, MPI_COMM_WORLD);
        return;
    }
    if (on)
        meet();
    begin(on, "MPI_Isend");
    for (int i = 0; i < MESSAGES; i++)
        MPI_Isend(out, SIZE, MPI_BYTE, 1, TAG, MPI_COMM_WORLD, &requests[i]);
    end(on);
    if (on)
        meet();
    MPI_Waitall(MESSAGES, requests, statuses);
    MPI_Recv(NULL, 0, MPI_BYTE, 1, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

int main(int argc, char **argv)
{
    int ranks;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (argc != 2 || ranks != 2) {
        fprintf(stderr, "usage: two ranks of: steps FILE\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    int fd = open(argv[1], O_RDWR | O_CREAT, 0600);
    if (fd < 0 || ftruncate(fd, PAGE))
        fail(argv[1]);
    turns = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (turns == MAP_FAILED)
        fail(argv[1]);
    for (int i = 0; i < ROUNDS; i++)
        window(0);
    window(1);
    MPI_Finalize();
    return 0;
}
