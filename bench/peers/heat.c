/*
 * The plate of examples/mpi/heat, in C: the same cells, steps, division among
 * processes, and order of work (the halo is exchanged while the cells that do
 * not need it are computed), by persistent sends and receives.
 *
 *     heat ROWS COLS STEPS [check]
 *
 * With check, each rank compares its block with what it computes alone, bit for bit.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RATE 0.25 /* of a difference to a neighbour, in each step */

enum { TAG = 1, SIDES = 4 };

static int plate_rows, plate_cols;

/* A block has rows x cols cells, and a halo of one cell around them. */
typedef struct {
    int rows, cols;
    double *cells;
} block;

static double *at(const block *b, int row, int col) { return b->cells + (size_t)(row + 1) * (b->cols + 2) + col + 1; }

/* initial is the temperature of a cell of the plate at first, and of the frame forever. */
static double initial(int row, int col)
{
    if (row >= plate_rows)
        return 1;
    if (row < 0 || col < 0 || col >= plate_cols)
        return 0;
    double y = (row + 0.5) / plate_rows, x = (col + 0.5) / plate_cols;
    double dy = y - 0.35, dx = x - 0.3;
    if (dx * dx + dy * dy < 0.03)
        return 1;
    return x > 0.6 && x < 0.9 && y > 0.2 && y < 0.3 ? 0.8 : 0;
}

static block new_block(int row, int col, int rows, int cols)
{
    block b = {rows, cols, malloc((size_t)(rows + 2) * (cols + 2) * sizeof(double))};
    if (!b.cells)
        MPI_Abort(MPI_COMM_WORLD, 1);
    for (int i = -1; i <= rows; i++)
        for (int j = -1; j <= cols; j++)
            *at(&b, i, j) = initial(row + i, col + j);
    return b;
}

/* step_row computes the cells col to end - 1 of a row. */
static void step_row(const block *now, const block *next, int row, int col, int end)
{
    const double *up = at(now, row - 1, 0), *mid = at(now, row, 0), *down = at(now, row + 1, 0);
    double *restrict out = at(next, row, 0);
    for (int i = col; i < end; i++)
        out[i] = mid[i] + RATE * (((up[i] + down[i]) + (mid[i - 1] + mid[i + 1])) - 4 * mid[i]);
}

static void step_inner(const block *now, const block *next)
{
    for (int row = 1; row < now->rows - 1; row++)
        step_row(now, next, row, 1, now->cols - 1);
}

static void step_edge(const block *now, const block *next)
{
    int last = now->rows - 1;
    step_row(now, next, 0, 0, now->cols);
    if (last > 0)
        step_row(now, next, last, 0, now->cols);
    for (int row = 1; row < last; row++) {
        step_row(now, next, row, 0, 1);
        if (now->cols > 1)
            step_row(now, next, row, now->cols - 1, now->cols);
    }
}

/* split divides n cells among parts as evenly as possible. */
static void split(int n, int parts, int i, int *first, int *count)
{
    int each = n / parts, more = n % parts;
    *first = i * each + (i < more ? i : more);
    *count = each + (i < more);
}

/* place is where the block of a rank begins on the plate, and its size. */
static void place(MPI_Comm grid, const int dims[2], int rank, int *row, int *col, int *rows, int *cols)
{
    int coords[2];
    MPI_Cart_coords(grid, rank, 2, coords);
    split(plate_rows, dims[0], coords[0], row, rows);
    split(plate_cols, dims[1], coords[1], col, cols);
}

/* halo makes the requests that exchange the edge of a block with the neighbours. */
static void halo(MPI_Comm grid, const block *b, MPI_Request requests[2 * SIDES])
{
    MPI_Datatype row, column;
    MPI_Type_contiguous(b->cols, MPI_DOUBLE, &row);
    MPI_Type_vector(b->rows, 1, b->cols + 2, MPI_DOUBLE, &column);
    MPI_Type_commit(&row);
    MPI_Type_commit(&column);
    int above, below, left, right;
    MPI_Cart_shift(grid, 0, 1, &above, &below);
    MPI_Cart_shift(grid, 1, 1, &left, &right);
    struct {
        int peer;
        MPI_Datatype line;
        double *out, *in;
    } sides[SIDES] = {
        {above, row, at(b, 0, 0), at(b, -1, 0)},
        {below, row, at(b, b->rows - 1, 0), at(b, b->rows, 0)},
        {left, column, at(b, 0, 0), at(b, 0, -1)},
        {right, column, at(b, 0, b->cols - 1), at(b, 0, b->cols)},
    };
    for (int i = 0; i < SIDES; i++) {
        MPI_Recv_init(sides[i].in, 1, sides[i].line, sides[i].peer, TAG, grid, &requests[i]);
        MPI_Send_init(sides[i].out, 1, sides[i].line, sides[i].peer, TAG, grid, &requests[SIDES + i]);
    }
    MPI_Type_free(&row);
    MPI_Type_free(&column);
}

/* solve returns the block of this rank after all steps. */
static block solve(MPI_Comm grid, const int dims[2], int steps)
{
    int me, row, col, rows, cols;
    MPI_Comm_rank(grid, &me);
    place(grid, dims, me, &row, &col, &rows, &cols);
    block b[2] = {new_block(row, col, rows, cols), new_block(row, col, rows, cols)};
    MPI_Request requests[2][2 * SIDES];
    MPI_Status done[2 * SIDES];
    for (int i = 0; i < 2; i++)
        halo(grid, &b[i], requests[i]);
    for (int i = 0; i < steps; i++) {
        int now = i % 2;
        MPI_Startall(2 * SIDES, requests[now]);
        step_inner(&b[now], &b[!now]);
        MPI_Waitall(2 * SIDES, requests[now], done);
        step_edge(&b[now], &b[!now]);
    }
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 2 * SIDES; j++)
            MPI_Request_free(&requests[i][j]);
    free(b[!(steps % 2)].cells);
    return b[steps % 2];
}

/* differ counts the cells of a rank's block that are not those of the whole plate. */
static long differ(const block *whole, const block *part, int row, int col)
{
    long wrong = 0;
    for (int i = 0; i < part->rows; i++)
        for (int j = 0; j < part->cols; j++)
            wrong += memcmp(at(part, i, j), at(whole, row + i, col + j), sizeof(double)) != 0;
    return wrong;
}

/* check counts the cells of all ranks that differ from what each rank computes alone. */
static long check(MPI_Comm grid, const int dims[2], const block *mine, int steps)
{
    int me, row, col, rows, cols;
    MPI_Comm_rank(grid, &me);
    place(grid, dims, me, &row, &col, &rows, &cols);
    block whole[2] = {new_block(0, 0, plate_rows, plate_cols), new_block(0, 0, plate_rows, plate_cols)};
    for (int i = 0; i < steps; i++) {
        step_inner(&whole[i % 2], &whole[!(i % 2)]);
        step_edge(&whole[i % 2], &whole[!(i % 2)]);
    }
    long wrong = differ(&whole[steps % 2], mine, row, col), all;
    free(whole[0].cells);
    free(whole[1].cells);
    MPI_Allreduce(&wrong, &all, 1, MPI_LONG, MPI_SUM, grid);
    return all;
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int me, ranks, dims[2] = {0, 0}, periods[2] = {0, 0};
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Dims_create(ranks, 2, dims);
    plate_rows = argc > 3 ? atoi(argv[1]) : 0;
    plate_cols = argc > 3 ? atoi(argv[2]) : 0;
    int steps = argc > 3 ? atoi(argv[3]) : -1;
    if (argc > 5 || plate_rows < dims[0] || plate_cols < dims[1] || steps < 0 || (argc == 5 && strcmp(argv[4], "check"))) {
        if (me == 0)
            fprintf(stderr, "usage: heat ROWS COLS STEPS [check], with a cell for each process\n");
        MPI_Finalize();
        return 2;
    }
    MPI_Comm grid;
    MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 0, &grid);
    double begin = MPI_Wtime();
    block b = solve(grid, dims, steps);
    MPI_Barrier(grid);
    double took = MPI_Wtime() - begin;
    if (me == 0)
        printf("heat: %d × %d cells, %d steps on %d × %d processes in %.3f s\n", plate_rows, plate_cols, steps, dims[0], dims[1], took);
    long wrong = argc == 5 ? check(grid, dims, &b, steps) : 0;
    if (me == 0 && argc == 5)
        printf("heat: %ld cells differ from the serial solution\n", wrong);
    free(b.cells);
    MPI_Comm_free(&grid);
    MPI_Finalize();
    return wrong > 0;
}
