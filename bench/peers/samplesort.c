/*
 * The sample sort of examples/mpi/samplesort for other MPIs: the same files, the
 * same steps, the same algorithms on each process, and the same bytes in the end.
 *
 *     samplesort INPUT OUTPUT
 *
 * The input is made by the Go program (-generate). samplesort_steps.h has the steps
 * of a single process; here are files and messages.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <mpi.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "samplesort_steps.h"

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "files are little-endian, and are read as they are"
#endif

enum { HEADER_BYTES = 32, SAMPLES = 64 };

struct header {
    char magic[8];
    uint32_t version, record_bytes;
    uint64_t count, sum;
};

static int rank, size;
static MPI_Datatype record_type;

static void fail(const char *what, const char *why)
{
    fprintf(stderr, "samplesort: rank %d: %s: %s\n", rank, what, why);
    MPI_Abort(MPI_COMM_WORLD, 1);
    _exit(1);
}

static void *room(size_t count, size_t each)
{
    void *p = malloc(count && each ? count * each : 1);
    if (!p)
        fail("memory", strerror(errno));
    return p;
}

/* share computes which of count records belong to a process. */
static void share(uint64_t count, int of, uint64_t *first, uint64_t *n)
{
    uint64_t each = count / size, more = count % size, r = of;
    *first = r * each + (r < more ? r : more);
    *n = each + (r < more);
}

static int open_or_fail(const char *name, int flags)
{
    int fd = open(name, flags, 0666);
    if (fd < 0)
        fail(name, strerror(errno));
    return fd;
}

/* read_at and write_at move all bytes, or fail. */
static void read_at(int fd, const char *name, void *to, uint64_t bytes, uint64_t at)
{
    for (char *p = to; bytes;) {
        ssize_t n = pread(fd, p, bytes, at);
        if (n <= 0)
            fail(name, n ? strerror(errno) : "it is cut off");
        p += n, bytes -= n, at += n;
    }
}

static void write_at(int fd, const char *name, const void *from, uint64_t bytes, uint64_t at)
{
    for (const char *p = from; bytes;) {
        ssize_t n = pwrite(fd, p, bytes, at);
        if (n < 0)
            fail(name, strerror(errno));
        p += n, bytes -= n, at += n;
    }
}

static uint64_t place(uint64_t number) { return HEADER_BYTES + number * sizeof(struct record); }

static struct header read_header(int fd, const char *name)
{
    struct header h;
    struct stat st;
    read_at(fd, name, &h, sizeof h, 0);
    if (fstat(fd, &st))
        fail(name, strerror(errno));
    if (memcmp(h.magic, "VIASORT\n", 8) || h.version != 1 || h.record_bytes != sizeof(struct record))
        fail(name, "this is no file of records");
    if (h.count > INT64_MAX / sizeof(struct record) - HEADER_BYTES || place(h.count) != (uint64_t)st.st_size)
        fail(name, "it has another size than its header says");
    return h;
}

/* agree chooses splitters from the samples of all processes. */
static void agree(const struct record *sorted, uint64_t n, struct splitter *splitters)
{
    int mine = sample_count(n, SAMPLES * size), all = 0;
    int *counts = room(size, sizeof *counts), *displs = room(size, sizeof *displs);
    uint64_t *keys = room(mine, sizeof *keys);
    sample(sorted, n, keys, mine);
    MPI_Allgather(&mine, 1, MPI_INT, counts, 1, MPI_INT, MPI_COMM_WORLD);
    for (int i = 0; i < size; i++) {
        displs[i] = all;
        all += counts[i];
    }
    uint64_t *everybody = room(all, sizeof *everybody);
    MPI_Allgatherv(keys, mine, MPI_UINT64_T, everybody, counts, displs, MPI_UINT64_T, MPI_COMM_WORLD);
    choose_splitters(everybody, all, size, splitters);
    free(counts), free(displs), free(keys), free(everybody);
}

/* exchange sends the records between bounds[i] and bounds[i+1] to rank i; the records from
 * rank i begin at starts[i] of the result. */
static struct record *exchange(struct record *records, const uint64_t *bounds, uint64_t *starts)
{
    int *out = room(size, sizeof *out), *in = room(size, sizeof *in);
    int *from = room(size, sizeof *from), *to = room(size, sizeof *to);
    for (int i = 0; i < size; i++) {
        if (bounds[i + 1] > INT_MAX)
            fail("exchange", "more records than an MPI count can have: take more processes");
        from[i] = bounds[i];
        out[i] = bounds[i + 1] - bounds[i];
    }
    MPI_Alltoall(out, 1, MPI_INT, in, 1, MPI_INT, MPI_COMM_WORLD);
    starts[0] = 0;
    for (int i = 0; i < size; i++) {
        starts[i + 1] = starts[i] + in[i];
        if (starts[i + 1] > INT_MAX)
            fail("exchange", "more records than an MPI count can have: take more processes");
        to[i] = starts[i];
    }
    struct record *pieces = room(starts[size], sizeof *pieces);
    MPI_Alltoallv(records, out, from, record_type, pieces, in, to, record_type, MPI_COMM_WORLD);
    free(out), free(in), free(from), free(to);
    return pieces;
}

/* sort_all sorts the records of all processes, returns this one's part, and frees
 * records. */
static struct record *sort_all(struct record *records, uint64_t *n)
{
    struct record *scratch = room(*n, sizeof *scratch);
    sort_records(records, scratch, *n);
    free(scratch);
    struct splitter *splitters = room(size, sizeof *splitters);
    agree(records, *n, splitters);
    uint64_t *bounds = room(size + 1, sizeof *bounds), *starts = room(size + 1, sizeof *starts);
    cut(records, *n, splitters, size, bounds);
    struct record *pieces = exchange(records, bounds, starts);
    *n = starts[size];
    struct record *sorted = room(*n, sizeof *sorted);
    if (merge(sorted, pieces, starts, size))
        fail("merge", "no memory");
    free(records), free(splitters), free(bounds), free(starts), free(pieces);
    return sorted;
}

static void write_part(const char *name, const struct header *h, const struct record *records, uint64_t n)
{
    uint64_t before = 0;
    MPI_Exscan(&n, &before, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0) {
        before = 0;
        int fd = open_or_fail(name, O_WRONLY | O_CREAT | O_TRUNC);
        write_at(fd, name, h, sizeof *h, 0);
        if (close(fd))
            fail(name, strerror(errno));
    }
    MPI_Barrier(MPI_COMM_WORLD);
    int fd = open_or_fail(name, O_WRONLY);
    write_at(fd, name, records, n * sizeof *records, place(before));
    if (close(fd))
        fail(name, strerror(errno));
    MPI_Barrier(MPI_COMM_WORLD);
}

/* verify reads the output again: each process reads a part that another one has written. */
static void verify(const char *name, const struct header *want)
{
    int fd = open_or_fail(name, O_RDONLY);
    struct header got = read_header(fd, name);
    if (memcmp(&got, want, sizeof got))
        fail(name, "the header is not that of the input");
    uint64_t first, n;
    share(want->count, (rank + 1) % size, &first, &n);
    struct record *records = room(n, sizeof *records);
    read_at(fd, name, records, n * sizeof *records, place(first));
    close(fd);
    struct summary mine = summarize(records, n), *all = room(size, sizeof *all);
    free(records);
    MPI_Gather(&mine, sizeof mine, MPI_BYTE, all, sizeof mine, MPI_BYTE, 0, MPI_COMM_WORLD);
    if (rank == 0) {
        struct summary whole = all[size - 1]; /* the last process has read the first part */
        for (int i = 0; i < size - 1; i++)
            whole = join(whole, all[i]);
        if (whole.count != want->count || whole.sum != want->sum || !whole.sorted)
            fail(name, "it is not the input sorted");
    }
    free(all);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (argc != 3)
        fail("usage", "samplesort INPUT OUTPUT");
    MPI_Type_contiguous(2, MPI_UINT64_T, &record_type);
    MPI_Type_commit(&record_type);
    int fd = open_or_fail(argv[1], O_RDONLY);
    struct header header = read_header(fd, argv[1]);
    MPI_Barrier(MPI_COMM_WORLD);

    double begin = MPI_Wtime();
    uint64_t first, n;
    share(header.count, rank, &first, &n);
    struct record *records = room(n, sizeof *records);
    read_at(fd, argv[1], records, n * sizeof *records, place(first));
    struct record *sorted = sort_all(records, &n);
    write_part(argv[2], &header, sorted, n);
    double took = MPI_Wtime() - begin;

    free(sorted);
    close(fd);
    verify(argv[2], &header);
    if (rank == 0)
        printf("samplesort: %llu records on %d processes in %.3f s, verified\n", (unsigned long long)header.count, size, took);
    MPI_Type_free(&record_type);
    MPI_Finalize();
    return 0;
}
