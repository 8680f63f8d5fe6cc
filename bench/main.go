package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/viaduct-hpc/viaduct/bench/internal/scale"
	"github.com/viaduct-hpc/viaduct/internal/perf"
	_ "github.com/viaduct-hpc/viaduct/methods/tcp" // for the parts that run within this program
	_ "github.com/viaduct-hpc/viaduct/methods/via"
)

// config is the command line.
type config struct {
	self   string        // this program
	bmi    string        // the bmi command
	plugin string        // the plugin with our VIA methods
	mpi    string        // the folder with mpiexec, mpibench, samplesort, heat and hello
	plot   string        // the program of bench/plot
	work   string        // the folder for built programs
	out    string        // the folder for results
	sizes  sizes         // to measure in a round
	rounds int           // at least 5 for reliable numbers
	point  time.Duration // time per measured point and round
	cores  perf.Cores
	// The file system: our commands, the number of bytes to copy, the number of idle clients, and the
	// divisor for the number of files.
	pvfs, pvfsd string
	before      string // the folder of an earlier build of them
	pvfsBytes   int64
	pvfsIdle    int
	pvfsLess    int
	// only is the group of contenders to measure; "" means all.
	only string
	// The bounds of the rounds of small messages that follow the ordinary ones until both states are met.
	stateRounds int
	stateTime   time.Duration
	// keyFile holds the shared key of connections over UDP.
	keyFile string
}

func main() {
	if len(os.Args) > 1 {
		if role, ok := roles[os.Args[1]]; ok {
			exit(role(os.Args[2:]))
		}
	}
	exit(run())
}

// roles are the parts that this program runs as its own child.
var roles = map[string]func(args []string) error{
	roleExchange:       exchangeLead,
	roleExchangeFollow: exchangeFollow,
	roleExchangeMPI:    exchangeMPI,
	roleCheckpoint:     saveAndRestore,
	roleHosts:          hostsRank,

	roleCrowd:  crowdMember,
	roleHub:    idleHub,
	rolePeers:  idlePeers,
	roleInTurn: measureInTurn,
	roleRank:   waitingRank,

	roleNames:        namesOf,
	rolePVFSIdle:     idleClients,
	roleStrangers:    strangers,
	roleSocketServer: socketServer,
	roleSocketCopy:   socketCopy,
}

func exit(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

func run() error {
	cfg := config{sizes: allSizes, pvfsBytes: pvfsBytes, pvfsIdle: pvfsIdleClients, pvfsLess: 1}
	flag.StringVar(&cfg.bmi, "bmi", "bin/bmi", "the bmi command")
	flag.StringVar(&cfg.plugin, "plugin", "bin/bmi-method-via", "the plugin with our methods over VIA")
	flag.StringVar(&cfg.mpi, "mpi", "bin", "the folder with mpiexec, mpibench, samplesort, heat and hello")
	flag.StringVar(&cfg.plot, "plot", "bin/plot", "the program that draws charts")
	flag.StringVar(&cfg.pvfs, "pvfs", "bin/pvfs", "the pvfs command")
	flag.StringVar(&cfg.pvfsd, "pvfsd", "bin/pvfsd", "the pvfsd command")
	flag.StringVar(&cfg.only, "only", "", "measure this part alone, and write its rows to standard output: "+groupNames())
	flag.StringVar(&cfg.before, "before", "", "with -only pvfs-builds: the folder with pvfs and pvfsd of an earlier build")
	flag.StringVar(&cfg.work, "work", "out/bench", "folder for programs that are built")
	flag.StringVar(&cfg.out, "out", "docs/performance", "folder for results")
	flag.IntVar(&cfg.rounds, "rounds", 5, "rounds; every contender runs once in each")
	flag.DurationVar(&cfg.point, "time", 100*time.Millisecond, "time per point and round")
	flag.IntVar(&cfg.stateRounds, "state-rounds", 100, "the most further rounds of small messages until both states of the processors are met")
	flag.DurationVar(&cfg.stateTime, "state-time", 15*time.Minute, "the most time for them")
	pin := flag.String("pin", "on", "the two cores: on, or two numbers such as 0,1")
	flag.Parse()

	var err error
	if cfg.self, err = os.Executable(); err != nil {
		return err
	}
	if cfg.cores, err = perf.ParsePin(*pin); err != nil {
		return err
	}
	if !cfg.cores.Pinned {
		return errors.New("a comparison between two cores needs two cores, and -pin")
	}
	if cfg.rounds < 1 || cfg.point <= 0 {
		return errors.New("-rounds and -time must be more than 0")
	}
	if err = checkGroup(cfg.only); err != nil {
		return err
	}
	if (cfg.only == groupBuilds) != (cfg.before != "") {
		return fmt.Errorf("-only %s and -before go together", groupBuilds)
	}
	for _, path := range []*string{&cfg.bmi, &cfg.plugin, &cfg.mpi, &cfg.plot, &cfg.pvfs, &cfg.pvfsd, &cfg.before} {
		if *path == "" {
			continue
		}
		if *path, err = filepath.Abs(*path); err != nil {
			return err
		}
	}
	if _, err := os.Stat(cfg.plot); err != nil && cfg.only == "" {
		return fmt.Errorf("the charts could not be drawn: %w; ./bench/run.sh builds the program", err)
	}
	key, removeKey, err := makeKey()
	if err != nil {
		return err
	}
	defer removeKey()
	cfg.keyFile = key
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	return compare(ctx, cfg)
}

// compare runs the whole comparison in order.
func compare(ctx context.Context, cfg config) error {
	if err := os.MkdirAll(cfg.work, 0o755); err != nil {
		return err
	}
	if err := os.MkdirAll(cfg.out, 0o755); err != nil {
		return err
	}
	start := time.Now()
	r := &report{Machine: lookAtMachine(cfg), Rounds: cfg.rounds}
	all := newResults()
	contenders := prepare(ctx, cfg)
	defer removeSortInput(cfg)
	defer removePVFSInput()
	small := newSmallRounds(ctx, cfg)
	for round := range cfg.rounds {
		fmt.Fprintf(os.Stderr, "bench: round %d of %d\n", round+1, cfg.rounds)
		if err := small.round(ctx); err != nil {
			return err
		}
		if len(contenders) == 0 {
			continue
		}
		met, err := within(ctx, small.look, func() error { return all.round(ctx, contenders, round) })
		if err != nil {
			return err
		}
		fmt.Fprintf(os.Stderr, "bench: the two processors: %s\n", met)
		r.States.Rounds = append(r.States.Rounds, met)
	}
	if err := small.more(ctx, cfg.rounds, cfg.stateRounds, cfg.stateTime); err != nil {
		return err
	}
	r.States.add(small)
	if cfg.only == "" || cfg.only == groupBusy {
		fmt.Fprintln(os.Stderr, "bench: beside busy processes")
		var err error
		if r.States.Busy, err = busyRuns(ctx, cfg, all); err != nil {
			return err
		}
	}
	r.Points = all.points()
	r.Notes = small.failures
	maps.Copy(r.Notes, all.notes())
	if cfg.only == groupBuilds {
		r.Rows = buildRows(all)
		return r.show(os.Stdout, buildsRowsPrefix)
	}
	fmt.Fprintln(os.Stderr, "bench: counts, queues and idle peers")
	r.Counts = countThings(ctx, cfg)
	r.Rows = append(rows(all, r.Counts), busyRows(all, splitFor(cfg))...)
	r.Seconds = int(time.Since(start).Seconds())
	if cfg.only == "" {
		fmt.Fprintln(os.Stderr, "bench: collective operations in simulation")
		var err error
		if r.collectives, err = scale.Section(); err != nil {
			return err
		}
	}
	if cfg.only != "" {
		return r.show(os.Stdout, rowsOfGroup[cfg.only])
	}
	return r.write(cfg.out, plotter(cfg.plot))
}
