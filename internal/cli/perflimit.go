package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/viaduct-hpc/viaduct/internal/cli/program"
	"github.com/viaduct-hpc/viaduct/internal/perf"
)

// followCommand is the other side of the limit tests; `bmi perf` starts it.
func (a *App) followCommand() *cobra.Command {
	return &cobra.Command{
		Use:    "perf-follow",
		Short:  "The other side of the limit tests of `bmi perf`",
		Hidden: true,
		Args:   program.Exactly(0, "no arguments"),
		RunE:   func(*cobra.Command, []string) error { return perf.RunFollower(a.In, a.Out) },
	}
}

// perfLimits measures the machine's own limits, if requested.
func (a *App) perfLimits(ctx context.Context, p *perfPlan, out *perfOutput) (err error) {
	largest, wanted := 0, false // largest: through shared memory
	for _, t := range p.tests {
		wanted = wanted || t.Limit()
		if t != perf.LimitMemcpy {
			continue
		}
		for _, n := range p.sizesOf(t) {
			largest = max(largest, n)
		}
	}
	if !wanted {
		return nil
	}
	allowed, err := perf.AllowedCores()
	if err != nil {
		return err
	}
	if len(allowed) < 2 {
		fmt.Fprintln(a.Err, "bmi perf: no limits: two processes that spin need two cores, this one may use one")
		return nil
	}
	limits, err := perf.OpenLimits(perf.SelfCommand("perf-follow"), p.cores, largest)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, limits.Close()) }()
	for _, t := range p.tests {
		if !t.Limit() {
			continue
		}
		for _, size := range p.sizesOf(t) {
			if err := ctx.Err(); err != nil {
				return err
			}
			r, err := measureLimit(limits, t, size, p.time)
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

func measureLimit(l *perf.Limits, t perf.Test, size int, budget time.Duration) (perf.Result, error) {
	switch t {
	case perf.LimitBounce:
		return l.Bounce(budget)
	case perf.LimitSocket:
		return l.Socket(size, budget)
	case perf.LimitUDP:
		return l.UDP(size, budget)
	}
	return l.Memcpy(size, budget)
}
