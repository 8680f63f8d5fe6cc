package main

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/viaduct-hpc/viaduct/internal/perf"
)

// groupBusy is the part, for -only, that measures beside busy processes.
const groupBusy = "busy"

// busyRunMax is how long one run beside busy processes may take. Libraries that only poll may
// take seconds for a few messages.
const busyRunMax = 20 * time.Second

// busyNumbers are the numbers of busy processes.
var busyNumbers = []int{1, 2, 4}

// busyContenders are the names of those that take part.
var busyContenders = []string{ours, oursMPI, openMPI}

// A neighbourhood is how many processes are busy beside two ranks.
type neighbourhood struct {
	busy int
	// apart: the ranks are bound to other processors than the busy processes.
	apart bool
}

// name is the name of a contender in a neighbourhood.
func (n neighbourhood) name(method string) string {
	if n.apart {
		return fmt.Sprintf("%s, apart from %d busy", method, n.busy)
	}
	return fmt.Sprintf("%s, beside %d busy", method, n.busy)
}

// neighbourhoods are all that are measured. Those apart need to be compared with none busy.
func neighbourhoods() (all []neighbourhood) {
	for _, n := range busyNumbers {
		all = append(all, neighbourhood{busy: n})
	}
	for _, n := range append([]int{0}, busyNumbers...) {
		all = append(all, neighbourhood{busy: n, apart: true})
	}
	return all
}

// String is a neighbourhood for the report.
func (n neighbourhood) String() string { return strings.TrimPrefix(n.name(""), ", ") }

// overBusy are the contenders in all neighbourhoods, which are compared only with each other.
var overBusy = func() (all []string) {
	for _, n := range neighbourhoods() {
		for _, method := range busyContenders {
			all = append(all, n.name(method))
		}
	}
	return all
}()

// A split says which processors are for the ranks and which for the busy processes, as lists
// for taskset.
type split struct{ ranks, busy string }

func (s split) String() string {
	return fmt.Sprintf("ranks on processor %s, busy ones on %s", s.ranks, s.busy)
}

// splitOf gives the ranks the two processors of the comparison, and the busy processes a
// third one. With only two, both ranks share one.
func splitOf(cores perf.Cores, allowed []int) split {
	near, far := strconv.Itoa(cores.Near), strconv.Itoa(cores.Far)
	for _, one := range allowed {
		if one != cores.Near && one != cores.Far {
			return split{ranks: near + "," + far, busy: strconv.Itoa(one)}
		}
	}
	return split{ranks: near, busy: far}
}

// splitFor is the split of this machine. If its processors cannot be listed, there are the
// two of the comparison.
func splitFor(cfg config) split {
	allowed, _ := perf.AllowedCores() // without them, two
	return splitOf(cfg.cores, allowed)
}

// bind makes a command line run where ranks of a neighbourhood run: processors is that part of
// the split.
func (n neighbourhood) bind(cfg config, processors string, line []string) []string {
	if n.apart {
		return append([]string{"taskset", "-c", processors}, line...)
	}
	return onCores(cfg, line...)
}

// busyRuns runs every contender twice as often as there are rounds in each neighbourhood, in
// turn. It returns the state of the processors in each, which is measured without busy
// processes.
func busyRuns(ctx context.Context, cfg config, all *results) (states []string, err error) {
	program, missing := compileC(ctx, cfg, "busy")
	for _, n := range neighbourhoods() {
		switch {
		case missing != nil:
			n.skip(all, missing.Error())
			continue
		case n.apart && !find("taskset"):
			n.skip(all, "taskset is not installed")
			continue
		}
		look := func(ctx context.Context) (float64, error) { return bounceNow(ctx, cfg) }
		met, err := within(ctx, look, func() error { return n.runs(ctx, cfg, program, all) })
		if err != nil {
			return nil, err
		}
		states = append(states, fmt.Sprintf("%v: %s", n, met))
	}
	return states, nil
}

// skip reports why there are no runs.
func (n neighbourhood) skip(all *results, why string) {
	for _, method := range busyContenders {
		all.failures[n.name(method)] = why
		fmt.Fprintf(os.Stderr, "bench: %s: %s\n", n.name(method), why)
	}
}

func (n neighbourhood) runs(ctx context.Context, cfg config, program string, all *results) error {
	contenders := n.contenders(ctx, cfg)
	stop, err := n.startBusy(cfg, program)
	if err != nil {
		return err
	}
	defer stop()
	for run := range 2 * cfg.rounds {
		if err := all.round(ctx, contenders, run); err != nil {
			return err
		}
	}
	return nil
}

// startBusy starts the busy processes.
func (n neighbourhood) startBusy(cfg config, program string) (stop func(), err error) {
	var all []*perf.Child
	stop = func() {
		for _, one := range all {
			one.Kill()
		}
	}
	for range n.busy {
		one, err := perf.StartChild("busy process", n.bind(cfg, splitFor(cfg).busy, []string{program}))
		if err == nil {
			all = append(all, one)
			_, err = one.Answer()
		}
		if err != nil {
			stop()
			return nil, err
		}
	}
	return stop, nil
}

// contenders are the exchanges of two ranks.
func (n neighbourhood) contenders(ctx context.Context, cfg config) []contender {
	return []contender{
		n.contender(cfg, ours, nil, exchangeLine(cfg, 1, false)),
		n.contender(cfg, oursMPI, nil, exchangeMPILine(cfg)),
		n.peer(ctx, cfg),
	}
}

// peer is Open MPI.
func (n neighbourhood) peer(ctx context.Context, cfg config) contender {
	p := mpiPrograms[openMPI]
	if !find(p.compiler, p.launcher) {
		return absent(n.name(openMPI), notInstalled)
	}
	program, err := compileMPI(ctx, cfg, p.compiler, "exchange")
	if err != nil {
		return absent(n.name(openMPI), fmt.Sprintf("does not compile: %v", err))
	}
	args := []string{p.launcher, "--allow-run-as-root", "--bind-to", "none", "-np", "2"}
	if n.apart {
		args = append(args, "--oversubscribe") // both may have one processor
	}
	return n.contender(cfg, openMPI, p.env, append(args, program, openMPI, millis(cfg)))
}

// contender runs the command line of an exchange. Its result is the mean half round trip of
// the whole run, not the median of parts: what happens while others have the processor counts.
func (n neighbourhood) contender(cfg config, method string, env, line []string) contender {
	line = n.bind(cfg, splitFor(cfg).ranks, line)
	return contender{name: n.name(method), run: func(ctx context.Context) ([]perf.Result, error) {
		out, err := commandWithin(ctx, busyRunMax, env, line[0], line[1:]...)
		if err != nil {
			return nil, err
		}
		got, err := parseResults(out)
		if err != nil {
			return nil, err
		}
		if len(got) != 1 || got[0].Test != exchange || got[0].Median <= 0 {
			return nil, fmt.Errorf("%s: not one exchange: %v", method, got)
		}
		us := 1e6 / got[0].Median
		return []perf.Result{{Test: perf.Latency, Method: method, Size: rateSize, Window: 1, Median: us, P99: us, Unit: perf.UnitMicros}}, nil
	}}
}

// runsOf are the runs of a contender in a neighbourhood; nil if it failed.
func (n neighbourhood) runsOf(all *results, method string) []float64 {
	id := pointID{n.name(method), perf.Latency, rateSize}
	if all.failures[id.method] != "" || len(all.values[id]) == 0 {
		return nil
	}
	return all.point(id).Rounds
}
