package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/internal/cli/program"
	"github.com/viaduct-hpc/viaduct/internal/perf"
)

// errNoAnswer: no process was reached, and the network did not say that there is none.
var errNoAnswer = errors.New("no answer")

// errBusy: a process was reached, but it does not answer.
var errBusy = errors.New("connected, but no answer")

type pingOptions struct {
	count    int
	interval time.Duration
	timeout  time.Duration
	size     int
	json     bool
}

func (a *App) pingCommand() *cobra.Command {
	var opt pingOptions
	cmd := &cobra.Command{
		Use:   "ping ADDR",
		Short: "See whether a `bmi serve` answers at an address, and how fast",
		Long: `Ping sends unexpected messages to a process that runs 'bmi serve ADDR' and waits
for the answer to each. The time is that of a whole round trip, with one Test
call each, as in a program that waits now and then; 'bmi perf' shows the speed of
a program that does nothing else.

A process that is reached and does not answer within --timeout is reported as busy, with another
exit code than an address at which nobody was reached.

` + exitHelp,
		Example: `  bmi ping tcp://server:4000
  bmi ping via+shm://here --count 0 --interval 1s --json`,
		Args: program.Exactly(1, "one ADDR"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.ping(cmd.Context(), args[0], opt)
		},
	}
	f := cmd.Flags()
	f.IntVar(&opt.count, "count", 4, "how many pings to send (0: until interrupted)")
	program.DurationFlag(f, &opt.interval, "interval", 200*time.Millisecond, "time between two pings")
	program.DurationFlag(f, &opt.timeout, "timeout", 2*time.Second, "how long to wait for each answer")
	program.SizeFlag(f, &opt.size, "size", 8, "payload, for instance 8 or 4KiB")
	program.JSONFlag(cmd, &opt.json, pinged{})
	return cmd
}

func (a *App) ping(ctx context.Context, address string, opt pingOptions) (err error) {
	if err := checkAddress(address); err != nil {
		return err
	}
	if opt.size > perf.SizeMax {
		return program.Usagef("--size %s: the most is %s", perf.FormatSize(opt.size), perf.FormatSize(perf.SizeMax))
	}
	if opt.count < 0 || opt.interval < 0 || opt.timeout <= 0 {
		return program.Usagef("--count and --interval cannot be negative, --timeout must be more than 0")
	}
	ep, err := bmi.Open(ctx, bmi.Config{})
	if err != nil {
		return err
	}
	defer closeEndpoint(ep, &err)
	client, err := perf.OpenClient(ep, address)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, client.Close()) }()
	pinger, err := client.NewPinger(opt.size)
	if err != nil {
		return err
	}
	var times []time.Duration
	for n := 0; opt.count == 0 || n < opt.count; n++ {
		if n > 0 && !pause(ctx, opt.interval) {
			break
		}
		took, err := pingOnce(ctx, ep, pinger, opt.timeout)
		if err != nil && ctx.Err() != nil {
			break
		}
		if err != nil {
			if _, named := bmi.NamedPeer(err); !named {
				err = fmt.Errorf("ping %s: %w", address, err)
			}
			return err
		}
		times = append(times, took)
		if err := a.printPing(pinged{address, n + 1, program.ExactBytes(opt.size), program.Micros(float64(took.Nanoseconds()) / 1e3)}, opt.json); err != nil {
			return err
		}
	}
	switch {
	case len(times) == 0:
		return ctx.Err()
	case opt.json:
		return nil
	}
	fmt.Fprintln(a.Out, roundTrips(times))
	return nil
}

// pinged is the answer to a ping.
type pinged struct {
	Address   string             `json:"address"`
	Ping      int                `json:"ping"` // from 1 on
	Size      program.ExactBytes `json:"size_bytes"`
	RoundTrip program.Micros     `json:"round_trip_us"`
}

func (a *App) printPing(p pinged, inJSON bool) error {
	if inJSON {
		return program.WriteJSON(a.Out, p)
	}
	_, err := fmt.Fprintf(a.Out, "%s from %s: ping %d, %s\n", p.Size.Cell(), p.Address, p.Ping, p.RoundTrip.Cell())
	return err
}

// roundTrips says how long pings took.
func roundTrips(times []time.Duration) string {
	all := make([]float64, len(times))
	for i, took := range times {
		all[i] = float64(took)
	}
	median, _ := perf.Quantiles(all)
	return fmt.Sprintf("%d answered; round trip least %s, median %s, most %s",
		len(times), micros(slices.Min(times)), micros(time.Duration(median)), micros(slices.Max(times)))
}

// pause reports false if ctx ended meanwhile.
func pause(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}

func pingOnce(ctx context.Context, ep *bmi.Endpoint, pinger *perf.Pinger, timeout time.Duration) (time.Duration, error) {
	one, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	took, err := pinger.Ping(one)
	switch {
	case !errors.Is(err, context.DeadlineExceeded):
		return took, err
	case connected(ep):
		return 0, fmt.Errorf("%w within %v: the process there is busy, perhaps with a `bmi perf`, or it is no `bmi serve`; try again, or wait longer with --timeout", errBusy, timeout)
	}
	return 0, fmt.Errorf("%w within %v, not even to connect: is `bmi serve` running there and not stopped, and does a firewall let it be reached?", errNoAnswer, timeout)
}

// connected reports whether an endpoint is connected to any peer.
func connected(ep *bmi.Endpoint) bool {
	return slices.ContainsFunc(ep.Stats().Peers, func(p bmi.PeerStats) bool { return p.State == "READY" })
}

func micros(d time.Duration) string {
	return fmt.Sprintf("%.2f us", float64(d.Nanoseconds())/1e3)
}

// closeEndpoint closes the endpoint and keeps its error, if there was none
// before.
func closeEndpoint(ep *bmi.Endpoint, err *error) {
	if e := ep.Close(); *err == nil {
		*err = e
	}
}
