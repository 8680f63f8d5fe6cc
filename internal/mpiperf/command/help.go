package command

// What --help prints before the options.
const (
	long = `mpibench measures messages and operations between the ranks of a job, in the manner of the OSU
micro-benchmarks. Start it by mpiexec, or by another launcher that speaks PMI. MPI_METHOD chooses
the method for messages, for instance via+shm, via+udp or tcp.

Tests of messages, between ranks 0 and 1: latency (half round trip), rate (messages a second, one way,
in windows), bandwidth (one way), bidirectional (both ways at once, their sum) and partitioned (half
round trip of a message in 64 partitions, which become ready one after another). Tests of collective
operations: barrier, bcast, gather, gatherv, scatter, scatterv, allgather, allgatherv, alltoall,
alltoallv, reduce, allreduce, reduce_scatter, reduce_scatter_block, scan and exscan. Tests of one-sided
operations, of rank 0 at rank 1: put, get and fetch_and_op, each with a flush, and fence, which is a put
between two fences. --memory chooses the memory that they access.

Tests of a file, which --file names, by all ranks: write_all and read_all are collective; in
write_strided and read_strided each rank moves the same bytes on its own. The file has a three-dimensional array of
float64, and each rank has a block of it, with parts of all planes, rows and columns. In
write_contiguous and read_contiguous each rank has as many bytes in one range. The result is the size of the
file divided by the time until the last rank is done. The file is made and removed. Nothing is synced.

messages, collectives, one-sided, files and all (the default, but without files) are groups of tests.

The size is that of a message, or of the data from one rank to another; for reductions, which add
float64, that of the vector, for reduce_scatter_block of the part that each rank gets; for files that of
the whole, a power of two. A test leaves out sizes that make no sense for it.

Each point is warmed up and measured in batches. MEDIAN and P99 are those of batches, which count with
the mean of all ranks (of rank 0, for messages); MIN, AVG and MAX are over ranks, of their medians.
Operations that do not make all ranks wait for each other (bcast, gather, scatter, reduce,
reduce_scatter, scan, exscan) are timed one by one with a barrier, not counted, after each; others one
after another.

--tune FILE measures the algorithms of the collective operations that the tests name, and writes the fastest
for each size to FILE. Later jobs read FILE if MPI_TUNING names it. Each algorithm is measured for 20 ms
(--time) with each size, from 8 B to 1 MiB (--sizes). --ranks adds smaller communicators. Comments in FILE
show the measurements.

--vars lists the settings and counters of all layers at rank 0, after the measurements. Counters begin at
zero when the measurements begin. A variable with several values has one for each rank. --vars=bmi.via+shm
lists only the variables whose names begin with bmi.via+shm. docs/reference/mpi-variables.md explains all of them.

Exit codes: 0 success, 1 failure, 2 bad command line.`

	example = `  mpiexec -n 2 mpibench latency
  mpiexec -n 8 mpibench --sizes 8-64KiB --ranks 2,4,8 allreduce bcast
  mpiexec -n 4 mpibench --check --iterations 100 --json collectives
  mpiexec -n 8 mpibench --tune machine.tuning --ranks 4,8 collectives
  mpiexec -n 4 mpibench --sizes 64MiB --file pvfs:/mnt/pvfs2/scratch files
  mpiexec -n 2 mpibench --vars rate`
)
