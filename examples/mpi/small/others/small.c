/* The ten small programs of small.go in C. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void hello(MPI_Comm w, int rank, int size) {
    printf("rank %d of %d\n", rank, size);
}

static void message(MPI_Comm w, int rank, int size) {
    double xs[100] = {0};
    MPI_Status st;
    int n;
    if (rank == 0) {
        MPI_Send(xs, 100, MPI_DOUBLE, 1, 7, w);
        return;
    }
    MPI_Recv(xs, 100, MPI_DOUBLE, 0, 7, w, &st);
    MPI_Get_count(&st, MPI_DOUBLE, &n);
    printf("%d numbers from %d\n", n, st.MPI_SOURCE);
}

static void unknown_length(MPI_Comm w, int rank, int size) {
    MPI_Message m;
    MPI_Status st;
    int n;
    if (rank == 0) {
        MPI_Send("how long?", 9, MPI_CHAR, 1, 0, w);
        return;
    }
    MPI_Mprobe(0, 0, w, &m, &st);
    MPI_Get_count(&st, MPI_CHAR, &n);
    char *text = malloc(n);
    MPI_Mrecv(text, n, MPI_CHAR, &m, MPI_STATUS_IGNORE);
    free(text);
}

static void ring(MPI_Comm w, int rank, int size) {
    int mine = rank, theirs = 0;
    int next = (rank + 1) % size, last = (rank + size - 1) % size;
    MPI_Sendrecv(&mine, 1, MPI_INT, next, 0, &theirs, 1, MPI_INT, last, 0, w, MPI_STATUS_IGNORE);
}

static void sum(MPI_Comm w, int rank, int size) {
    double mine = rank, all = 0;
    MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_SUM, w);
}

static void gather_parts(MPI_Comm w, int rank, int size) {
    int n = rank + 1, at = 0;
    int *part = calloc(n, sizeof *part);
    int *counts = malloc(size * sizeof *counts), *displs = malloc(size * sizeof *displs);
    int *all = malloc(size * (size + 1) / 2 * sizeof *all);
    MPI_Gather(&n, 1, MPI_INT, counts, 1, MPI_INT, 0, w);
    for (int i = 0; rank == 0 && i < size; i++) {
        displs[i] = at;
        at += counts[i];
    }
    MPI_Gatherv(part, n, MPI_INT, all, counts, displs, MPI_INT, 0, w);
    free(part), free(counts), free(displs), free(all);
}

static void settings(MPI_Comm w, int rank, int size) {
    struct { char mesh[16]; int steps; } s;
    if (rank == 0) {
        strcpy(s.mesh, "fine");
        s.steps = 100;
    }
    MPI_Bcast(&s, sizeof s, MPI_BYTE, 0, w);
}

static void halo(MPI_Comm w, int rank, int size) {
    double xs[102] = {0}; /* 100 of this process, and one of each neighbour */
    int left = rank > 0 ? rank - 1 : MPI_PROC_NULL;
    int right = rank < size - 1 ? rank + 1 : MPI_PROC_NULL;
    MPI_Request r[4];
    MPI_Irecv(&xs[0], 1, MPI_DOUBLE, left, 0, w, &r[0]);
    MPI_Irecv(&xs[101], 1, MPI_DOUBLE, right, 0, w, &r[1]);
    MPI_Isend(&xs[1], 1, MPI_DOUBLE, left, 0, w, &r[2]);
    MPI_Isend(&xs[100], 1, MPI_DOUBLE, right, 0, w, &r[3]);
    MPI_Waitall(4, r, MPI_STATUSES_IGNORE);
}

static void column(MPI_Comm w, int rank, int size) {
    double table[10][20] = {0};
    MPI_Datatype col;
    MPI_Type_vector(10, 1, 20, MPI_DOUBLE, &col);
    MPI_Type_commit(&col);
    MPI_Request r;
    if (rank == 0)
        MPI_Send_init(&table[0][3], 1, col, 1, 0, w, &r);
    else
        MPI_Recv_init(&table[0][3], 1, col, 0, 0, w, &r);
    for (int i = 0; i < 5; i++) {
        MPI_Start(&r);
        MPI_Wait(&r, MPI_STATUS_IGNORE);
    }
    MPI_Request_free(&r);
    MPI_Type_free(&col);
}

static void rows(MPI_Comm w, int rank, int size) {
    MPI_Comm row; /* two processes each */
    int most;
    MPI_Comm_split(w, rank / 2, rank, &row);
    MPI_Comm_rank(row, &most);
    MPI_Allreduce(MPI_IN_PLACE, &most, 1, MPI_INT, MPI_MAX, row);
    MPI_Comm_free(&row);
}

int main(int argc, char **argv) {
    void (*programs[])(MPI_Comm, int, int) = {
        hello, message, unknown_length, ring, sum, gather_parts, settings, halo, column, rows};
    int rank, size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++)
        programs[i](MPI_COMM_WORLD, rank, size);
    MPI_Finalize();
}
