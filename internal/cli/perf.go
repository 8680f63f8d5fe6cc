package cli

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/internal/cli/program"
	"github.com/viaduct-hpc/viaduct/internal/perf"
	"github.com/viaduct-hpc/viaduct/internal/perf/service"
)

type perfOptions struct {
	tests, sizes []string
	window       int
	memory       string
	time         time.Duration
	pin          string
	spin         time.Duration
	listen       string
	json         bool
	trace        string
}

func (a *App) perfCommand() *cobra.Command {
	var opt perfOptions
	cmd := &cobra.Command{
		Use:   "perf METHOD|ADDR",
		Short: "Measure latency, message rate and bandwidth, and the limits of the machine",
		Long: `Perf measures messages to a 'bmi serve ADDR'. Given only a METHOD, for instance
via+shm or tcp, it starts that process, too, and ends it afterwards. The limits
are those of the machine between the same two cores: limit-bounce is the half
round trip of a bare cache line, limit-memcpy that of data by one plain copy, and
limit-socket and limit-udp, those for methods over TCP and over UDP, that of data
through bare sockets on loopback that both sides poll.

The tests: latency (half round trip), rate (messages a second, one way, in
windows), bandwidth (one way) and bidirectional (both ways at once, their sum).
Each point is measured in batches. The output has the median of the batches, and
the 99th percentile: 99 in 100 batches are at least as good.

With --json, one object a line: test, method, size, window, median, p99, unit.

For a method that makes its links reliable itself (via+udp) the counters of this
side in all tests follow: retransmissions, acks, round trips of packets; with --json
as a line whose test is round-trip, with the counters in its link.

With --trace FILE.json, a process that perf starts writes its own trace to FILE.peer.json.

` + exitHelp,
		Example: `  bmi perf via+shm
  bmi perf tcp --tests latency,bandwidth --sizes 8,64KiB-1MiB
  bmi perf tcp://server:4000 --json`,
		Args: program.Exactly(1, "one METHOD or ADDR"),
		RunE: func(cmd *cobra.Command, args []string) error {
			opt.trace, _ = cmd.Flags().GetString(program.TraceOption)
			return a.perf(cmd.Context(), args[0], opt)
		},
	}
	f := cmd.Flags()
	f.StringSliceVar(&opt.tests, "tests", nil, "tests to run: latency, rate, bandwidth, bidirectional, limit-bounce, limit-memcpy, limit-socket, limit-udp, limit, all (default: all; with an ADDR, which may be anywhere, no limits)")
	f.StringSliceVar(&opt.sizes, "sizes", nil, "message sizes, lists and ranges, for instance 8,64KiB or 1KiB-1MiB (default: a series for each test)")
	f.IntVar(&opt.window, "window", 64, "messages under way at once, at most, in all tests but latency")
	f.StringVar(&opt.memory, "memory", "plain", "memory to send from and receive into: plain, or registered with the method")
	program.DurationFlag(f, &opt.time, "time", 200*time.Millisecond, "how long to measure each point, about")
	f.StringVar(&opt.pin, "pin", "on", "bind the two sides to cores: on, off, or two core numbers such as 0,1")
	program.DurationFlag(f, &opt.spin, "spin", 0, "how long to poll before sleeping (0: the default, negative: never)")
	f.StringVar(&opt.listen, "listen", "", "with a METHOD: the address for the process that perf starts (default: one of its own)")
	program.JSONFlag(cmd, &opt.json, perf.Result{})
	return cmd
}

// A perfPlan is a checked command line.
type perfPlan struct {
	perfOptions
	method, address string // address is empty if a process must be started
	tests           []perf.Test
	sizes           []int // nil: the series of each test
	cores           perf.Cores
}

func planPerf(target string, opt perfOptions) (p perfPlan, err error) {
	p.perfOptions = opt
	if strings.Contains(target, "://") {
		if err := checkAddress(target); err != nil {
			return p, err
		}
		p.method, p.address = service.MethodOf(target), target
	} else {
		if err := checkMethod(target); err != nil {
			return p, err
		}
		p.method = target
	}
	switch {
	case len(opt.tests) > 0:
		if p.tests, err = perf.ParseTests(p.method, opt.tests); err != nil {
			return p, program.Usage(err)
		}
	case p.address != "":
		p.tests = perf.MethodTests
	default:
		p.tests = append(perf.LimitsOf(p.method), perf.MethodTests...)
	}
	if len(opt.sizes) > 0 {
		if p.sizes, err = perf.ParseSizes(strings.Join(opt.sizes, ",")); err != nil {
			return p, program.Usage(err)
		}
	}
	if p.cores, err = perf.ParsePin(opt.pin); err != nil {
		return p, program.Usage(err)
	}
	if err := program.InRange("window", opt.window, 1, perf.WindowMax); err != nil {
		return p, err
	}
	switch {
	case opt.memory != "plain" && opt.memory != "registered":
		return p, program.Usagef("bad --memory %q: want plain or registered", opt.memory)
	case opt.time <= 0 || opt.time > time.Hour:
		return p, program.Usagef("bad --time %v: choose more than 0 and at most an hour", opt.time)
	case opt.listen != "" && p.address != "":
		return p, program.Usagef("--listen is for `bmi perf METHOD`, which starts the process that listens")
	}
	return p, nil
}

// defaultSizes are the sizes of a test, in bytes, up to 64 MiB.
func defaultSizes(t perf.Test) []int {
	const k, m = 1 << 10, 1 << 20
	switch t {
	case perf.LimitBounce:
		return []int{0}
	case perf.Latency:
		return []int{0, 1, 8, 64, 512, 4 * k, 32 * k, 64 * k, 256 * k, m, 4 * m, 16 * m, 64 * m}
	case perf.Rate:
		return []int{0, 8, 64, 512, 4 * k}
	case perf.LimitMemcpy, perf.LimitSocket, perf.LimitUDP:
		return []int{8, 64, 512, 4 * k, 32 * k, 64 * k, 256 * k, m, 4 * m, 16 * m, 64 * m}
	}
	return []int{64, 512, 4 * k, 32 * k, 64 * k, 256 * k, m, 4 * m, 16 * m, 64 * m}
}

// sizesOf are the sizes for a test. A bandwidth or a copy has no size 0, and a
// bounce has no size.
func (p *perfPlan) sizesOf(t perf.Test) []int {
	if p.sizes == nil || t == perf.LimitBounce {
		return defaultSizes(t)
	}
	var out []int
	for _, n := range p.sizes {
		if n > 0 || t == perf.Latency || t == perf.Rate {
			out = append(out, n)
		}
	}
	return out
}

// measuresMethod reports whether there are tests of the method.
func (p *perfPlan) measuresMethod() bool {
	return slices.ContainsFunc(p.tests, func(t perf.Test) bool { return !t.Limit() })
}

// checkSizes compares the requested sizes with the limit of the method, before anything is measured.
func (p *perfPlan) checkSizes(ctx context.Context) error {
	if len(p.sizes) == 0 || !p.measuresMethod() {
		return nil
	}
	info := lookAt(ctx, p.method)
	if largest := slices.Max(p.sizes); info.Error == "" && largest > int(info.MaxExpectedSize) {
		return fmt.Errorf("%w: --sizes %s, but messages of %s have at most %s", perf.ErrSize, perf.FormatSize(largest), p.method, info.MaxExpectedSize.Cell())
	}
	return nil // a method that does not open says why when it is measured
}

func (a *App) perf(ctx context.Context, target string, opt perfOptions) error {
	p, err := planPerf(target, opt)
	if err != nil {
		return err
	}
	if err := p.checkSizes(ctx); err != nil {
		return err
	}
	out := newPerfOutput(a.Out, opt.json)
	if err := a.perfLimits(ctx, &p, out); err != nil {
		return err
	}
	return a.perfMethod(ctx, &p, out)
}

// perfMethod measures the method, if requested. It starts the other side if there
// is no address.
func (a *App) perfMethod(ctx context.Context, p *perfPlan, out *perfOutput) (err error) {
	if !p.measuresMethod() {
		return nil
	}
	address := p.address
	if address == "" {
		peer, at, err := a.startServer(p)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, peer.Close()) }()
		address = at
	}
	ep, err := bmi.Open(ctx, bmi.Config{SpinMax: p.spin})
	if err != nil {
		return err
	}
	defer closeEndpoint(ep, &err)
	client, err := perf.OpenClient(ep, address)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, client.Close()) }()
	if p.cores.Pinned {
		undo, err := perf.PinThread(p.cores.Near)
		if err != nil {
			return err
		}
		defer undo()
	}
	if err := a.measureAll(ctx, p, client, out); err != nil {
		return err
	}
	return perfLink(ep, p.method, out)
}

// startServer starts a `bmi serve` as a child.
func (a *App) startServer(p *perfPlan) (*perf.Child, string, error) {
	address := p.listen
	if address == "" {
		address = service.LocalAddress(p.method, "bmi-perf")
	}
	args := append(slices.Clone(a.self), "serve", address, "--child", "--spin", p.spin.String())
	if p.cores.Pinned {
		args = append(args, "--core", fmt.Sprint(p.cores.Far))
	}
	if p.trace != "" {
		ext := filepath.Ext(p.trace)
		args = append(args, "--"+program.TraceOption, strings.TrimSuffix(p.trace, ext)+".peer"+ext)
	}
	peer, err := perf.StartChild("peer process", perf.SelfCommand(args...))
	if err != nil {
		return nil, "", err
	}
	at, err := peer.Answer()
	if err != nil {
		_ = peer.Close()
		return nil, "", err
	}
	return peer, at, nil
}

func (a *App) measureAll(ctx context.Context, p *perfPlan, client *perf.Client, out *perfOutput) error {
	for _, t := range p.tests {
		if t.Limit() {
			continue
		}
		for _, size := range p.sizesOf(t) {
			r, err := client.Measure(ctx, perf.Point{
				Test: t, Size: size, Window: p.window, Registered: p.memory == "registered", Budget: p.time,
			})
			if errors.Is(err, perf.ErrSize) && p.sizes == nil {
				fmt.Fprintf(a.Err, "bmi perf: skipped: %v\n", err)
				continue
			}
			if err != nil {
				return err
			}
			if err := out.add(r); err != nil {
				return err
			}
		}
	}
	return nil
}
