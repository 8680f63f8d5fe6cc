/* Writes files in the views of three ranks, one after another, for romio_test.go: views DIR. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#define RANKS 3
#define EACH 40

static void must(int err, const char *what)
{
	if (err != MPI_SUCCESS) {
		char text[MPI_MAX_ERROR_STRING];
		int n;
		MPI_Error_string(err, text, &n);
		fprintf(stderr, "%s: %s\n", what, text);
		exit(1);
	}
}

static MPI_Datatype view(int which, int rank)
{
	MPI_Datatype t, u;
	int sizes[2] = {10, 21}, dist[2] = {MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_CYCLIC};
	int args[2] = {MPI_DISTRIBUTE_DFLT_DARG, 3}, grid[2] = {1, RANKS};
	int sub[2] = {10, 7}, start[2] = {0, 7 * rank};
	switch (which) {
	case 0:
		MPI_Type_create_darray(RANKS, rank, 2, sizes, dist, args, grid, MPI_ORDER_C, MPI_INT, &t);
		break;
	case 1:
		MPI_Type_create_subarray(2, sizes, sub, start, MPI_ORDER_FORTRAN, MPI_INT, &t);
		break;
	default:
		MPI_Type_vector(5, 2, 2 * RANKS, MPI_INT, &u);
		MPI_Type_create_hindexed_block(1, 1, (MPI_Aint[]){8 * rank}, u, &t);
		MPI_Type_create_resized(t, 0, 4 * 2 * RANKS * 5, &u);
		t = u;
	}
	MPI_Type_commit(&t);
	return t;
}

int main(int argc, char **argv)
{
	MPI_Init(&argc, &argv);
	const char *reps[] = {"native", "external32"};
	for (int which = 0; which < 3; which++) {
		for (int rep = 0; rep < 2; rep++) {
			char name[4096];
			MPI_File f;
			snprintf(name, sizeof name, "%s/%d-%s", argv[1], which, reps[rep]);
			must(MPI_File_open(MPI_COMM_SELF, name, MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL, &f), "open");
			for (int rank = 0; rank < RANKS; rank++) {
				int xs[EACH];
				for (int i = 0; i < EACH; i++)
					xs[i] = 1000 * rank + i;
				must(MPI_File_set_view(f, 4, MPI_INT, view(which, rank), reps[rep], MPI_INFO_NULL), "set_view");
				must(MPI_File_write_at(f, 5, xs, EACH, MPI_INT, MPI_STATUS_IGNORE), "write_at");
			}
			must(MPI_File_close(&f), "close");
		}
	}
	MPI_Finalize();
	return 0;
}
