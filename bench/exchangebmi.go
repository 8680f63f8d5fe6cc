package main

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/internal/perf"
)

// The two processes of an exchange over via+shm. The first one starts the second one, so both
// run on the processors of the first.
const (
	roleExchange       = "exchange"
	roleExchangeFollow = "exchange-follow"
)

// exchangeLine is the command line of an exchange of goroutines, with one context for all or
// one for each.
func exchangeLine(cfg config, goroutines int, shared bool) []string {
	return []string{cfg.self, roleExchange, strconv.Itoa(goroutines), strconv.FormatBool(shared), cfg.point.String()}
}

// exchangeLead runs the first process. Its arguments are the number of goroutines, whether
// they share a context, and the time.
func exchangeLead(args []string) error {
	if len(args) != 3 {
		return fmt.Errorf("want a number of goroutines, whether they share a context, and a time, not %q", args)
	}
	budget, err := parseBudget(args[2])
	if err != nil {
		return err
	}
	base := fmt.Sprintf("%s://bench-exchange-%d", ours, os.Getpid())
	s, err := openExchange(base, 0, args[0], args[1])
	if err != nil {
		return err
	}
	other, err := perf.StartChild("other side", perf.SelfCommand(roleExchangeFollow, base, args[0], args[1]))
	if err != nil {
		return err
	}
	if _, err := other.Answer(); err != nil {
		return errors.Join(err, other.Close())
	}
	messages, took, err := s.lead(budget)
	if err = errors.Join(err, s.ep.Close(), other.Close()); err != nil {
		return err
	}
	return printExchange(ours, len(s.partners), messages, took)
}

// exchangeFollow runs the second process. Its arguments are the base of the addresses, and the
// first two of exchangeLead.
func exchangeFollow(args []string) error {
	if len(args) != 3 {
		return fmt.Errorf("want the base of the addresses, a number of goroutines, and whether they share a context, not %q", args)
	}
	s, err := openExchange(args[0], 1, args[1], args[2])
	if err != nil {
		return err
	}
	fmt.Println("ok")
	var all errgroup.Group
	for _, p := range s.partners {
		all.Go(func() error { return followTwice(p) })
	}
	return errors.Join(all.Wait(), s.ep.Close())
}

// An exchangeSide is one process: its endpoint and goroutines.
type exchangeSide struct {
	ep       *bmi.Endpoint
	partners []*bmiPartner
}

func openExchange(base string, me int, goroutines, shared string) (*exchangeSide, error) {
	n, err1 := parseGoroutines(goroutines)
	one, err2 := strconv.ParseBool(shared)
	if err := errors.Join(err1, err2); err != nil {
		return nil, err
	}
	address := func(i int) string { return fmt.Sprintf("%s-%d", base, i) }
	ep, err := bmi.Open(context.Background(), bmi.Config{Listen: []string{address(me)}})
	if err != nil {
		return nil, err
	}
	s := &exchangeSide{ep: ep}
	peer, err := ep.Lookup(address(1 - me))
	if err != nil {
		return nil, err
	}
	var c *bmi.Context
	for tag := range n {
		if c == nil || !one {
			if c, err = ep.OpenContext(); err != nil {
				return nil, err
			}
		}
		p := &bmiPartner{c: c, peer: peer, tag: bmi.Tag(tag), out: make([]byte, rateSize), in: make([]byte, rateSize)}
		if err := p.post(); err != nil {
			return nil, err
		}
		s.partners = append(s.partners, p)
	}
	return s, nil
}

// lead leads the exchanges of all goroutines at once, and returns their messages and the time
// until the last one ended.
func (s *exchangeSide) lead(budget time.Duration) (messages int, took time.Duration, err error) {
	for _, part := range []time.Duration{warmUp(budget), budget} {
		if messages, took, err = s.leadOnce(part); err != nil {
			return 0, 0, err
		}
	}
	return messages, took, nil
}

func (s *exchangeSide) leadOnce(budget time.Duration) (messages int, took time.Duration, err error) {
	trips := make([]int, len(s.partners))
	times := make([]time.Duration, len(s.partners))
	var all errgroup.Group
	for i, p := range s.partners {
		all.Go(func() (err error) {
			trips[i], times[i], err = lead(p, budget)
			return err
		})
	}
	err = all.Wait()
	for i := range trips {
		messages += 2 * trips[i]
		took = max(took, times[i])
	}
	return messages, took, err
}

// A bmiPartner is a goroutine's twin in the other process, with a tag of its own. The receive
// of the next message is always posted.
type bmiPartner struct {
	c       *bmi.Context
	peer    bmi.Addr
	tag     bmi.Tag
	out, in []byte
	posted  bmi.Posted
}

func (p *bmiPartner) post() (err error) {
	p.posted, err = p.c.PostRecv(p.peer, p.tag, p.in, nil)
	return err
}

func (p *bmiPartner) send(word uint64) error {
	binary.LittleEndian.PutUint64(p.out, word)
	posted, err := p.c.PostSend(p.peer, p.tag, p.out, nil)
	if err != nil || posted.Done {
		return err
	}
	return p.wait(posted)
}

func (p *bmiPartner) recv() (uint64, error) {
	if !p.posted.Done {
		if err := p.wait(p.posted); err != nil {
			return 0, err
		}
	}
	word := binary.LittleEndian.Uint64(p.in)
	return word, p.post()
}

func (p *bmiPartner) wait(posted bmi.Posted) error {
	done, _, err := p.c.Test(posted.Op, bmi.Forever)
	if err != nil {
		return err
	}
	return done.Err
}
