/*
 * The messages of examples/mpi/hello, in C: every rank greets rank 0, which prints all
 * greetings in the order of the ranks.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TAG = 1, TEXT = 512 };

int main(int argc, char **argv)
{
    char host[MPI_MAX_PROCESSOR_NAME], text[TEXT];
    int rank, size, length;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Get_processor_name(host, &length);
    snprintf(text, sizeof text, "hello from rank %d of %d on %s", rank, size, host);
    if (rank != 0) {
        MPI_Send(text, (int)strlen(text), MPI_CHAR, 0, TAG, MPI_COMM_WORLD);
    } else {
        puts(text);
        for (int from = 1; from < size; from++) {
            MPI_Status status;
            MPI_Recv(text, TEXT - 1, MPI_CHAR, from, TAG, MPI_COMM_WORLD, &status);
            MPI_Get_count(&status, MPI_CHAR, &length);
            text[length] = 0;
            puts(text);
        }
    }
    MPI_Finalize();
    return 0;
}
