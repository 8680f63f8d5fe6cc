package command

import (
	"context"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/viaduct-hpc/viaduct/internal/cli/program"
	"github.com/viaduct-hpc/viaduct/internal/mpiperf"
	"github.com/viaduct-hpc/viaduct/internal/perf"
)

// options are what the command line says.
type options struct {
	plan   mpiperf.Plan
	sizes  []string
	ranks  string
	pin    string
	json   bool
	tune   string
	vars   string // prefix of the names to show; "": none
	memory string
}

// The values of --memory.
const (
	allocatedMemory = "allocated"
	createdMemory   = "created"
)

// varsAll is the value of --vars without one.
const varsAll = "all"

// parse reads the command line. If help is requested it is written, and there is nothing else
// to do.
func parse(args []string, help io.Writer, opt *options) error {
	cmd := command(opt)
	cmd.SetOut(help)
	cmd.SetErr(io.Discard)                       // errors are returned
	if slices.Equal(args, []string{"version"}) { // as in the other commands
		args = []string{"--version"}
	}
	return program.Execute(context.Background(), cmd, args)
}

// Command is the command with all its options, for its manual page and for completions.
func Command() *cobra.Command { return command(&options{}) }

func command(opt *options) *cobra.Command {
	cmd := &cobra.Command{
		Use:          "mpibench [TEST]...",
		Short:        "Measure messages, collective and one-sided operations, and files of an MPI job",
		Long:         long,
		Example:      example,
		SilenceUsage: true, SilenceErrors: true,
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},
		Args:              cobra.ArbitraryArgs,
		RunE:              func(_ *cobra.Command, tests []string) error { return opt.complete(tests) },
	}
	f := cmd.Flags()
	f.StringSliceVar(&opt.sizes, "sizes", nil, "sizes, lists and ranges, for instance 8,64KiB or 1KiB-1MiB (default: powers of two)")
	f.StringVar(&opt.ranks, "ranks", "", "how many ranks take part in collective operations, the first of the job, for instance 2,4,8 or 2-16 (default: all)")
	f.IntVar(&opt.plan.Window, "window", mpiperf.WindowDefault, "messages under way at once, at most, in all tests of messages but latency")
	f.IntVar(&opt.plan.Iterations, "iterations", 0, "iterations of each point, all batches together (default: fewer for large sizes)")
	f.IntVar(&opt.plan.Batches, "batches", mpiperf.BatchesDefault, "batches that the iterations are divided into")
	program.DurationFlag(f, &opt.plan.Time, "time", 0, "how long to measure each point, about, instead of a number of iterations")
	f.StringVar(&opt.pin, "pin", "on", "bind each rank to a core: on (if there is one for each), off, or core numbers such as 0,1 for ranks in turn")
	f.StringVar(&opt.memory, "memory", allocatedMemory, "memory of one-sided tests: allocated by the window, which ranks of one host map, or created by the program, which they reach by messages")
	f.StringVar(&opt.plan.File, "file", "", "the name of the file for tests of files: a path, or pvfs: and a path")
	f.BoolVar(&opt.plan.Check, "check", false, "compare the contents of messages, too, in rounds that are not timed")
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

// complete makes the plan of the options.
func (o *options) complete(tests []string) (err error) {
	p := &o.plan
	p.Created, p.OwnProcess = o.memory == createdMemory, true
	switch {
	case o.tune != "" && o.json:
		return program.Usagef("--tune writes a table, and no --json")
	case o.tune != "" && o.vars != "":
		return program.Usagef("--tune measures algorithms, and shows no --vars")
	case !p.Created && o.memory != allocatedMemory:
		return program.Usagef("bad --memory %q: choose %s or %s", o.memory, allocatedMemory, createdMemory)
	}
	if err := program.InRange("window", p.Window, 1, mpiperf.WindowMax); err != nil {
		return err
	}
	if err := program.InRange("batches", p.Batches, 1, mpiperf.BatchesMax); err != nil {
		return err
	}
	if len(tests) == 0 {
		tests = []string{"all"}
	}
	if p.Tests, err = mpiperf.ParseTests(tests); err != nil {
		return program.Usage(err)
	}
	if len(o.sizes) > 0 {
		if p.Sizes, err = perf.ParseSizes(strings.Join(o.sizes, ",")); err != nil {
			return program.Usage(err)
		}
	}
	if o.ranks != "" {
		if p.Ranks, err = perf.ParseSizes(o.ranks); err != nil {
			return program.Usagef("bad --ranks %q: want numbers and ranges such as 2,4 or 2-16", o.ranks)
		}
	}
	_, err = parseCores(o.pin)
	return err
}
