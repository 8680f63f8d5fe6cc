package command

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/viaduct-hpc/viaduct/internal/cli/program"
	"github.com/viaduct-hpc/viaduct/internal/mpiperf"
	"github.com/viaduct-hpc/viaduct/internal/perf"
	"github.com/viaduct-hpc/viaduct/mpi"
)

// Exit codes of mpibench.
const (
	exitOK     = program.ExitOK
	exitFailed = program.ExitFailed // a measurement, or the contents of a message
	exitUsage  = program.ExitUsage
)

// App is the environment of the command.
type App struct {
	Out, Err io.Writer
}

// options are the options as given on the command line.
type options struct {
	sizes       []string
	ranks       string
	window      int
	iterations  int
	batches     int
	time        time.Duration
	pin         string
	check, json bool
	tune        string
	vars        string // prefix of the names to show; "": none
	memory      string
	file        string
}

// The values of --memory.
const (
	allocatedMemory = "allocated"
	createdMemory   = "created"
)

// Main runs the command with the arguments behind its name, and returns the exit code. A
// mistake in the command line is the same on all ranks. They start and end as usual, so that
// rank 0 can report it once.
func (a *App) Main(ctx context.Context, args []string) int {
	var help bytes.Buffer
	var plan mpiperf.Plan
	var opt options
	wrong := parse(args, &help, &opt, &plan)
	if wrong == nil && len(args) > 0 && strings.HasPrefix(args[0], cobra.ShellCompRequestCmd) {
		_, _ = a.Out.Write(help.Bytes()) // a shell asks for completions, without a job
		return exitOK
	}
	code := exitOK
	err := mpi.Run(ctx, mpi.Options{}, func(ctx context.Context, p *mpi.Process) error {
		err := wrong
		if err == nil && help.Len() == 0 {
			err = a.measure(ctx, p, opt, plan)
		}
		if err != nil && !errors.Is(err, program.ErrUsage) && !errors.Is(err, mpiperf.ErrPlan) {
			return err
		}
		if err != nil {
			code = exitUsage
		}
		return a.speak(ctx, p, help.Bytes(), err)
	})
	if err != nil {
		program.ComplainAlone(a.Err, "mpibench", strings.TrimPrefix(err.Error(), "mpiperf: "), exitFailed)
		return exitFailed
	}
	return code
}

// speak prints the help, or the mistake in the command line, on rank 0. No rank ends before
// that, because its launcher might then end the others.
func (a *App) speak(ctx context.Context, p *mpi.Process, help []byte, wrong error) error {
	var err error
	if p.World().Rank() == 0 {
		program.ReportUnknown(a.Err, "mpibench", os.Environ())
		_, err = a.Out.Write(help)
		if wrong != nil {
			program.ComplainAlone(a.Err, "mpibench", strings.TrimPrefix(wrong.Error(), "mpiperf: "), exitUsage)
		}
	}
	return errors.Join(err, p.World().Barrier(ctx))
}

func (a *App) measure(ctx context.Context, p *mpi.Process, opt options, plan mpiperf.Plan) error {
	undo, err := bind(ctx, p, opt.pin)
	if err != nil {
		return err
	}
	defer undo()
	if opt.tune != "" {
		return a.tune(p, opt.tune, plan)
	}
	report := mpiperf.NewTable(a.Out, opt.json).Add
	if opt.vars == "" {
		return mpiperf.Run(p, plan, report)
	}
	return a.withVariables(p, opt, func() error { return mpiperf.Run(p, plan, report) })
}

// withVariables measures, and then writes the variables of the tools interface of rank 0.
func (a *App) withVariables(p *mpi.Process, opt options, measure func() error) error {
	v, err := mpiperf.WatchVariables(p)
	if err != nil {
		return err
	}
	if err := measure(); err != nil {
		return err
	}
	prefix := opt.vars
	if prefix == varsAll {
		prefix = ""
	}
	all, err := v.Read(prefix)
	if err != nil || p.World().Rank() != 0 {
		return err
	}
	return mpiperf.WriteVariables(a.Out, all, opt.json)
}

// varsAll is the value of --vars without one.
const varsAll = "all"

// tune measures algorithms and writes a tuning table, at rank 0. A file that cannot be written is an
// error before anything is measured.
func (a *App) tune(p *mpi.Process, file string, plan mpiperf.Plan) error {
	if p.World().Rank() != 0 {
		return mpiperf.Tune(p, plan, nil)
	}
	f, err := os.OpenFile(file, os.O_CREATE|os.O_WRONLY, 0o666)
	if err != nil {
		return err
	}
	defer f.Close()
	var table bytes.Buffer
	if err := mpiperf.Tune(p, plan, &table); err != nil {
		return err
	}
	if err := f.Truncate(0); err != nil {
		return err
	}
	if _, err := f.Write(table.Bytes()); err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	_, err = fmt.Fprintf(a.Out, "%s is written: use it by %s=%s\n", file, mpi.TuningEnv, file)
	return err
}

// parse reads the command line. If help is requested it is written, and there is nothing else
// to do.
func parse(args []string, help io.Writer, opt *options, plan *mpiperf.Plan) error {
	cmd := command(opt, plan)
	cmd.SetOut(help)
	cmd.SetErr(io.Discard)                       // errors are returned
	if slices.Equal(args, []string{"version"}) { // as in the other commands
		args = []string{"--version"}
	}
	cmd.SetArgs(args)
	return cmd.Execute()
}

// Command is the command with all its options, for its manual page and for completions.
func Command() *cobra.Command { return command(&options{}, &mpiperf.Plan{}) }

func command(opt *options, plan *mpiperf.Plan) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "mpibench [TEST]...",
		Short: "Measure messages, collective and one-sided operations, and files of an MPI job",
		Long: `mpibench measures messages and operations between the ranks of a job, in the manner of the OSU
micro-benchmarks. Start it by mpiexec, or by another launcher that speaks PMI. MPI_METHOD chooses
the method for messages, for instance via+shm, via+udp or tcp.

Tests of messages, between ranks 0 and 1: latency (half round trip), rate (messages a second, one way,
in windows), bandwidth (one way), bidirectional (both ways at once, their sum) and partitioned (half
round trip of a message in 64 partitions, which become ready one after another). Tests of collective
operations: barrier, bcast, gather, gatherv, scatter, scatterv, allgather, allgatherv, alltoall,
alltoallv, reduce, allreduce, reduce_scatter, reduce_scatter_block, scan and exscan. Tests of one-sided
operations, of rank 0 at rank 1: put, get and fetch_and_op, each with a flush, and fence, which is a put
between two fences. --memory chooses the memory that they access.

Tests of a file, which --file names, by all ranks: write_all and read_all are collective; write_strided and
read_strided are the same bytes by each rank on its own. The file has a three-dimensional array of
float64, and each rank has a block of it, with parts of all planes, rows and columns. write_contiguous and
read_contiguous are as many bytes in one range for each rank. The result is the size of the file by the
time until the last rank is done. The file is made and removed. Nothing is synced.

messages, collectives, one-sided, files and all (the default, but without files) are groups of tests.

The size is that of a message, or of the data from one rank to another; for reductions, which add
float64, that of the vector, for reduce_scatter_block of the part that each rank gets; for files that of
the whole, a power of two. A test leaves out sizes that make no sense for it.

Each point is warmed up and measured in batches. MEDIAN and P99 are those of batches, which count with
the mean of all ranks (of rank 0, for messages); MIN, AVG and MAX are over ranks, of their medians.
Operations that do not make all ranks wait for each other (bcast, gather, scatter, reduce,
reduce_scatter, scan, exscan) are timed one by one with a barrier, not counted, after each; others one
after another.

With --tune, the tests choose operations, whose algorithms are measured on the job as it is, each for
20 ms (--time) and sizes from 8 B to 1 MiB (--sizes). The fastest by size are written to a table that
MPI_TUNING names in later jobs; comments in it say what was measured. --ranks adds smaller communicators.

With --vars, the settings and counters of all layers follow, as rank 0 has them after the measurements:
counts are those of the measurements, and several values are by rank. --vars=bmi.via+shm shows those
whose names begin so. docs/mpi-variables.md lists all.

With --json, one object a line: test, method, size, window, median, p99, unit, ranks, iterations,
batches, min, avg, max, checked; of --vars: variable, kind, value, text.

Exit codes: 0 success, 1 failure, 2 bad command line.`,
		Example: `  mpiexec -n 2 mpibench latency
  mpiexec -n 8 mpibench --sizes 8-64KiB --ranks 2,4,8 allreduce bcast
  mpiexec -n 4 mpibench --check --iterations 100 --json collectives
  mpiexec -n 8 mpibench --tune machine.tuning --ranks 4,8 collectives
  mpiexec -n 4 mpibench --sizes 64MiB --file pvfs:/mnt/pvfs2/scratch files
  mpiexec -n 2 mpibench --vars rate`,
		SilenceUsage: true, SilenceErrors: true,
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},
		Args:              cobra.ArbitraryArgs,
		RunE: func(_ *cobra.Command, tests []string) (err error) {
			*plan, err = opt.plan(tests)
			return err
		},
	}
	f := cmd.Flags()
	f.StringSliceVar(&opt.sizes, "sizes", nil, "sizes, lists and ranges, for instance 8,64KiB or 1KiB-1MiB (default: powers of two)")
	f.StringVar(&opt.ranks, "ranks", "", "how many ranks take part in collective operations, the first of the job, for instance 2,4,8 or 2-16 (default: all)")
	f.IntVar(&opt.window, "window", 64, "messages under way at once, at most, in all tests of messages but latency")
	f.IntVar(&opt.iterations, "iterations", 0, "iterations of each point, all batches together (default: fewer for large sizes)")
	f.IntVar(&opt.batches, "batches", 10, "batches that the iterations are divided into")
	program.DurationFlag(f, &opt.time, "time", 0, "how long to measure each point, about, instead of a number of iterations")
	f.StringVar(&opt.pin, "pin", "on", "bind each rank to a core: on (if there is one for each), off, or core numbers such as 0,1 for ranks in turn")
	f.StringVar(&opt.memory, "memory", allocatedMemory, "memory of one-sided tests: allocated by the window, which ranks of one host map, or created by the program, which they reach by messages")
	f.StringVar(&opt.file, "file", "", "the name of the file for tests of files: a path, or pvfs: and a path")
	f.BoolVar(&opt.check, "check", false, "compare the contents of messages, too, in rounds that are not timed")
	program.JSONFlag(cmd, &opt.json, mpiperf.Result{}, mpiperf.Variable{})
	f.StringVar(&opt.tune, "tune", "", "measure the algorithms of collective operations, and write a table for MPI_TUNING to this file")
	f.StringVar(&opt.vars, "vars", "", "list the variables of the tools interface after the measurements: all, or those whose names begin so")
	f.Lookup("vars").NoOptDefVal = varsAll
	cmd.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error { return program.FlagError(cmd, err) })
	program.Group(f, "What is measured", "sizes", "ranks", "window", "memory", "file", "check")
	program.Group(f, "How it is measured", "iterations", "batches", "time", "pin")
	program.Group(f, "Output", "json", "vars", "tune")
	program.WithHelp(cmd)
	program.WithVersion(cmd)
	return cmd
}

// plan returns the plan for the options.
func (o *options) plan(tests []string) (p mpiperf.Plan, err error) {
	p = mpiperf.Plan{Window: o.window, Iterations: o.iterations, Batches: o.batches, Time: o.time, Check: o.check, Created: o.memory == createdMemory, File: o.file, OwnProcess: true}
	switch {
	case o.window < 1:
		return p, program.Usage(fmt.Errorf("bad --window %d: choose 1 to %d", o.window, mpiperf.WindowMax))
	case o.tune != "" && o.json:
		return p, program.Usage(errors.New("--tune writes a table, and no --json"))
	case o.tune != "" && o.vars != "":
		return p, program.Usage(errors.New("--tune measures algorithms, and shows no --vars"))
	case o.memory != allocatedMemory && o.memory != createdMemory:
		return p, program.Usage(fmt.Errorf("bad --memory %q: choose %s or %s", o.memory, allocatedMemory, createdMemory))
	case o.batches < 1:
		return p, program.Usage(fmt.Errorf("bad --batches %d: choose 1 to %d", o.batches, mpiperf.BatchesMax))
	}
	if len(tests) == 0 {
		tests = []string{"all"}
	}
	if p.Tests, err = mpiperf.ParseTests(tests); err != nil {
		return p, program.Usage(err)
	}
	if len(o.sizes) > 0 {
		if p.Sizes, err = perf.ParseSizes(strings.Join(o.sizes, ",")); err != nil {
			return p, program.Usage(err)
		}
	}
	if o.ranks != "" {
		if p.Ranks, err = perf.ParseSizes(o.ranks); err != nil {
			return p, program.Usage(fmt.Errorf("bad --ranks %q: want numbers and ranges such as 2,4 or 2-16", o.ranks))
		}
	}
	_, err = parseCores(o.pin)
	return p, err
}
