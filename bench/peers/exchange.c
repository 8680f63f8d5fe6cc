/*
 * A ping-pong of messages of 8 bytes between two ranks of an MPI for a given time,
 * as in bench/exchange.go: each message says whether another one follows, so that
 * it ends in time however slow a message is.
 *
 *     exchange METHOD MILLISECONDS
 */
#include <mpi.h>
#include <stdint.h>

#include "measure.h"

enum { TAG = 7, MORE = 1, LAST = 2, STEPS_MAX = 64 };

static const double SLOW_NS = 1e6;

static int rank;

static void send_word(uint64_t word) { MPI_Send(&word, 1, MPI_UINT64_T, 1 - rank, TAG, MPI_COMM_WORLD); }

static uint64_t recv_word(void)
{
    uint64_t word;
    MPI_Recv(&word, 1, MPI_UINT64_T, 1 - rank, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return word;
}

static void round_trip(uint64_t word)
{
    send_word(word);
    if (recv_word() != word)
        MPI_Abort(MPI_COMM_WORLD, 1);
}

/* lead makes round trips until the time is over, and returns how many there were a second. */
static double lead(double budget_ns)
{
    double start = now_ns(), took = 0;
    long trips = 0;
    for (long steps = 1; took < budget_ns;) {
        double before = took;
        for (long i = 0; i < steps; i++)
            round_trip(MORE);
        trips += steps;
        took = now_ns() - start;
        if (took - before > SLOW_NS)
            steps = 1;
        else if (steps < STEPS_MAX)
            steps *= 2;
    }
    round_trip(LAST);
    return trips / took * 1e9;
}

static void follow(void)
{
    uint64_t word;
    do {
        word = recv_word();
        send_word(word);
    } while (word != LAST);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int ranks;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    double budget = argc == 3 ? atof(argv[2]) * 1e6 : 0;
    if (ranks != 2 || budget <= 0) {
        if (rank == 0)
            fprintf(stderr, "usage: two ranks of: exchange METHOD MILLISECONDS\n");
        MPI_Finalize();
        return 2;
    }
    if (rank == 0) {
        lead(budget / 5);
        double rate = 2 * lead(budget);
        print_result("exchange", argv[1], sizeof(uint64_t), 1, rate, rate, "msg/s");
    } else {
        follow();
        follow();
    }
    MPI_Finalize();
    return 0;
}
