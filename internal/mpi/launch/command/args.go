package command

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/viaduct-hpc/viaduct/internal/cli/program"
	"github.com/viaduct-hpc/viaduct/internal/environ"
	"github.com/viaduct-hpc/viaduct/internal/mpi/launch"
)

// usagef makes an error for a mistake in the command line.
var usagef = program.Usagef

// Options of the whole job, and those of one program of it.
type (
	jobOptions struct {
		label, noLabel, keepGoing   bool
		top                         bool
		timeout, initTimeout, grace time.Duration
		outFile, errFile, outPrefix string
		trace                       string
		env                         envOptions
		hosts                       hostOptions
	}
	programOptions struct {
		n    int
		env  []string
		wdir string
	}
)

// InitTimeoutDefault is long enough for a program that reads its input before Init, and short
// enough for a user whose program never calls it.
const InitTimeoutDefault = 2 * time.Minute

func (o *jobOptions) flags(f *pflag.FlagSet) {
	f.BoolVarP(&o.label, "label", "l", false, "begin each line of output with its rank: [3]")
	f.BoolVar(&o.noLabel, "no-label", false, "pass output on unchanged (the default)")
	f.StringVar(&o.outFile, "outfile-pattern", "", "write the output of each process to a file: %r is its rank, %h its host")
	f.StringVar(&o.errFile, "errfile-pattern", "", "the same for the standard error")
	f.StringVar(&o.outPrefix, "output-filename", "", "write the output of each process to NAME.RANK.out and NAME.RANK.err")
	f.StringVar(&o.trace, "trace", "", "write a trace of each process to a new folder, for Perfetto and bmi trace (docs/guides/tracing.md)")
	f.BoolVar(&o.keepGoing, "keep-going", false, "let the other processes go on when one dies")
	f.BoolVar(&o.top, "top", false, "show the ranks, and the rank that each waits for, below the output while the job runs; needs a terminal")
	program.DurationFlag(f, &o.timeout, "timeout", 0, "end a job that runs longer, with exit code 124 and the stacks of its goroutines (0: never)")
	program.DurationFlag(f, &o.initTimeout, "init-timeout", InitTimeoutDefault, "end a job when processes have waited this long in Init for others that have not called it (0: never)")
	program.DurationFlag(f, &o.grace, "grace", launch.GraceDefault, "time between SIGTERM and SIGKILL")
	o.env.flags(f)
	o.hosts.flags(f)
	program.Group(f, "Output", "label", "no-label", "outfile-pattern", "errfile-pattern", "output-filename", "top", "trace")
	program.Group(f, "The end of the job", "keep-going", "timeout", "init-timeout", "grace")
}

func (o *programOptions) flags(f *pflag.FlagSet) {
	f.IntVarP(&o.n, "np", "n", 0, "number of processes (default: all slots of the hosts; 1 without hosts)")
	f.StringArrayVar(&o.env, "env", nil, "add K=V to the environment; may be repeated")
	f.StringVar(&o.wdir, "wdir", "", "working directory of the processes")
}

// programFlags are the options that may stand before any program.
func programFlags(p *programOptions) *pflag.FlagSet {
	flags := pflag.NewFlagSet("mpiexec", pflag.ContinueOnError)
	p.flags(flags)
	return flags
}

// jobFlags adds the options that may stand only before the first program.
func jobFlags(flags *pflag.FlagSet, o *jobOptions) {
	o.flags(flags)
	flags.BoolP("help", "h", false, "show how mpiexec is used")
	flags.Bool("version", false, "print the version of this binary")
}

// parse makes a job from a command line, whose programs are separated by ":". Options of the job
// come before the first program.
func parse(args []string, cmd *cobra.Command) (launch.Config, error) {
	var cfg launch.Config
	var o jobOptions
	for i, part := range split(args) {
		var p programOptions
		flags := programFlags(&p)
		if i == 0 {
			jobFlags(flags, &o)
			cmd.Flags().AddFlagSet(flags)
		}
		one, err := parseProgram(part, flags, &p)
		if err != nil {
			return cfg, err
		}
		cfg.Programs = append(cfg.Programs, one)
	}
	for name, value := range map[string]time.Duration{"timeout": o.timeout, "init-timeout": o.initTimeout, "grace": o.grace} {
		if err := program.NotNegative(name, value); err != nil {
			return cfg, err
		}
	}
	if o.label && o.noLabel {
		return cfg, usagef("--label and --no-label cannot both be had: give one of them")
	}
	cfg.Label, cfg.KeepGoing = o.label, o.keepGoing
	cfg.Timeout, cfg.InitTimeout, cfg.Grace = o.timeout, o.initTimeout, max(o.grace, 1) // 0 means the default
	cfg.OutputFile, cfg.ErrorFile = o.outFile, o.errFile
	if o.outPrefix != "" {
		prefix := strings.ReplaceAll(o.outPrefix, "%", "%%")
		cfg.OutputFile, cfg.ErrorFile = prefix+".%r.out", prefix+".%r.err"
	}
	if err := applyTrace(&cfg, o.trace); err != nil {
		return cfg, err
	}
	if err := o.env.apply(&cfg, os.Environ()); err != nil {
		return cfg, err
	}
	if err := o.hosts.apply(&cfg, environ.Getenv); err != nil || cfg.Hosts == nil {
		return cfg, err
	}
	if o.top {
		return cfg, usagef("--top shows jobs on this machine: with hosts, use --genv %s=:9100 and bmi top HOST:9100", metricsVariable)
	}
	return cfg, o.hosts.check(cfg.Hosts)
}

// split separates programs at ":".
func split(args []string) (parts [][]string) {
	start := 0
	for i, arg := range args {
		if arg == ":" {
			parts, start = append(parts, args[start:i]), i+1
		}
	}
	return append(parts, args[start:])
}

// errHelp and errVersion are not failures.
var errHelp, errVersion = errors.New("help"), errors.New("version")

func parseProgram(args []string, flags *pflag.FlagSet, p *programOptions) (launch.Program, error) {
	options, rest := cut(canonical(args, flags), flags)
	if err := flags.Parse(withTwoDashes(options)); err != nil {
		return launch.Program{}, explain(err, options, flags)
	}
	if is(flags, "help") {
		return launch.Program{}, errHelp
	}
	if is(flags, "version") {
		return launch.Program{}, errVersion
	}
	switch {
	case len(rest) == 0 && len(args) == 0:
		return launch.Program{}, usagef("the program to run is missing: mpiexec -n 4 PROGRAM")
	case len(rest) == 0:
		return launch.Program{}, usagef("the program to run is missing behind %s", strings.Join(args, " "))
	case flags.Changed("np") && p.n < 1:
		return launch.Program{}, usagef("-n %d: a program has 1 process or more", p.n)
	}
	for _, pair := range p.env {
		if key, _, ok := strings.Cut(pair, "="); !ok || key == "" {
			return launch.Program{}, usagef("--env %s: it is written --env KEY=VALUE", pair)
		}
	}
	if p.wdir != "" {
		if info, err := os.Stat(p.wdir); err != nil || !info.IsDir() {
			return launch.Program{}, usagef("--wdir %s: there is no such folder on this machine", p.wdir)
		}
		p.wdir, _ = filepath.Abs(p.wdir)
	}
	return launch.Program{N: p.n, Path: rest[0], Args: rest[1:], Env: p.env, Dir: p.wdir}, nil
}

func is(flags *pflag.FlagSet, name string) bool {
	set, err := flags.GetBool(name)
	return err == nil && set
}

// cut separates the options from the program, which may have options that look the same. The
// program is the first argument that is neither an option nor the value of one, or the argument
// after "--".
func cut(args []string, flags *pflag.FlagSet) (options, program []string) {
	for i := 0; i < len(args); i++ {
		arg := args[i]
		if arg == "--" {
			return args[:i], args[i+1:]
		}
		if !strings.HasPrefix(arg, "-") || arg == "-" {
			return args[:i], args[i:]
		}
		if name := strings.TrimLeft(arg, "-"); takesValue(flags, name) {
			i++
		}
	}
	return args, nil
}

func takesValue(flags *pflag.FlagSet, name string) bool {
	f := flags.Lookup(name)
	if f == nil && len(name) == 1 {
		f = flags.ShorthandLookup(name)
	}
	return f != nil && f.NoOptDefVal == ""
}
