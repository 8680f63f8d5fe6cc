package main

import (
	"context"
	"fmt"
	"maps"
	"os"
	"time"

	"github.com/viaduct-hpc/viaduct/internal/perf"
)

// groupStates is the part, for -only, that measures small messages in each state.
const groupStates = "states"

// smallSizes are the sizes of its messages.
var smallSizes = sizes{latencies: []int{8, 64, 1 << 10}}

const (
	// smallPoint is the most time for a point in such a round: the state may last no longer than a
	// few seconds.
	smallPoint = 20 * time.Millisecond
	// statePause is the time between two looks at the state while it is not the wanted one.
	statePause = time.Second
)

// smallRounds are short rounds of small messages alone, apart by the state in which they ran.
type smallRounds struct {
	contenders []contender
	look       func(context.Context) (float64, error)
	pause      func(context.Context, time.Duration) error

	by       map[state]*results // without changed
	rounds   map[state]int
	failures map[string]string // of contenders, in any round
}

func newSmallRounds(ctx context.Context, cfg config) *smallRounds {
	s := &smallRounds{
		look:  func(ctx context.Context) (float64, error) { return bounceNow(ctx, cfg) },
		pause: pause,
		by:    map[state]*results{oneCore: newResults(), twoCores: newResults()}, rounds: make(map[state]int),
		failures: make(map[string]string),
	}
	if cfg.only == "" || cfg.only == groupStates {
		s.contenders = smallContenders(ctx, cfg)
	}
	return s
}

// smallContenders are the contenders within one host, which measure small messages only.
func smallContenders(ctx context.Context, cfg config) []contender {
	cfg.sizes, cfg.point = smallSizes, min(cfg.point, smallPoint)
	return []contender{
		{name: bare, run: func(ctx context.Context) ([]perf.Result, error) {
			return perfCommand(ctx, cfg, plain(ours), "--tests", string(perf.LimitBounce))
		}},
		oursContender(cfg, plain(ours)), oursMPIContender(cfg),
		mpiContender(ctx, cfg, openMPI), mpiContender(ctx, cfg, mpich), ucxContender(cfg, ucx), fabricContender(cfg, libfabric),
	}
}

// round runs every contender once, and looks at the state before and after each. A round in
// which the state changes ends at once, and its numbers are dropped.
func (s *smallRounds) round(ctx context.Context) error {
	if len(s.contenders) == 0 {
		return nil
	}
	one := newResults()
	maps.Copy(one.failures, s.failures)
	first := s.rounds[oneCore] + s.rounds[twoCores] + s.rounds[changed]
	met, err := s.lookAgain(ctx, nil)
	for i := 0; i < len(s.contenders) && err == nil && stateOf(met...) != changed; i++ {
		one.add(ctx, s.contenders[(i+first)%len(s.contenders)])
		met, err = s.lookAgain(ctx, met)
	}
	if err != nil {
		return err
	}
	s.failures = one.failures
	s.rounds[stateOf(met...)]++
	if kept := s.by[stateOf(met...)]; kept != nil {
		kept.merge(one)
	}
	return nil
}

// lookAgain appends another bounce to those of a round.
func (s *smallRounds) lookAgain(ctx context.Context, bounces []float64) ([]float64, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	one, err := s.look(ctx)
	return append(bounces, one), err
}

// wants reports whether there are fewer than n rounds of a state.
func (s *smallRounds) wants(met state, n int) bool { return met != changed && s.rounds[met] < n }

// missing are the states with fewer than n rounds.
func (s *smallRounds) missing(n int) (out []state) {
	for _, one := range bothStates {
		if s.wants(one, n) {
			out = append(out, one)
		}
	}
	return out
}

// more goes on until there are n rounds of each state. It stops after some rounds, or when
// the time is over; a state that is not wanted is waited out.
func (s *smallRounds) more(ctx context.Context, n, roundsMax int, timeMax time.Duration) error {
	if len(s.contenders) == 0 {
		return nil
	}
	end := time.Now().Add(timeMax)
	for roundsMax > 0 && len(s.missing(n)) > 0 && time.Now().Before(end) {
		bounce, err := s.look(ctx)
		if err != nil {
			return err
		}
		if !s.wants(stateOf(bounce), n) {
			if err := s.pause(ctx, min(statePause, time.Until(end))); err != nil {
				return err
			}
			continue
		}
		fmt.Fprintf(os.Stderr, "bench: small messages, %s\n", stateOf(bounce))
		if err := s.round(ctx); err != nil {
			return err
		}
		roundsMax--
	}
	for _, one := range s.missing(1) {
		fmt.Fprintf(os.Stderr, "bench: small messages: the state %q was not met\n", one)
	}
	return nil
}

// pause waits for a time, or until ctx ends.
func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}
