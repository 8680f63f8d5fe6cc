package main

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/internal/perf"
)

const roleCrowd = "crowd-member"

// crowdContender measures a crowd of our processes as peers/pipe.c does its own:
// wall time per message of all.
func crowdContender(cfg config) contender {
	return contender{name: crowd, run: func(context.Context) ([]perf.Result, error) {
		members, err := openCrowd(cfg)
		if err != nil {
			return nil, err
		}
		defer members.close()
		var all []perf.Result
		for _, shape := range shapes {
			perMessage, err := members.measure(shape, cfg.point)
			if err != nil {
				return nil, err
			}
			us := perMessage.Seconds() * 1e6
			all = append(all, perf.Result{Test: crowdTest(shape), Method: crowd, Size: rateSize, Window: crowdSize, Median: us, P99: us, Unit: perf.UnitMicros})
		}
		return all, nil
	}}
}

type crowdMembers []*perf.Child

func openCrowd(cfg config) (crowdMembers, error) {
	var members crowdMembers
	base := fmt.Sprintf("%s://bench-crowd-%d-%x", ours, os.Getpid(), time.Now().UnixNano()&0xffffff)
	for i := range crowdSize {
		child, err := perf.StartChild("member of the crowd", onCores(cfg, perf.SelfCommand(roleCrowd, base, fmt.Sprint(i))...))
		if err != nil {
			members.close()
			return nil, err
		}
		members = append(members, child)
	}
	for _, m := range members {
		if _, err := m.Answer(); err != nil {
			members.close()
			return nil, err
		}
	}
	return members, nil
}

func (m crowdMembers) close() {
	for _, child := range m {
		_ = child.Close()
	}
}

// measure finds a number of steps that fills the time, and returns the time per
// message.
func (m crowdMembers) measure(shape string, budget time.Duration) (time.Duration, error) {
	messages := crowdSize
	if shape == shapeAll {
		messages *= crowdSize - 1
	}
	for steps := 16; ; {
		took, err := m.steps(shape, steps)
		if err != nil {
			return 0, err
		}
		if took >= budget {
			return took / time.Duration(steps*messages), nil
		}
		steps *= min(max(int(budget/max(took, 1))+1, 2), 16)
	}
}

// steps makes all members execute n steps and waits for the last.
func (m crowdMembers) steps(shape string, n int) (time.Duration, error) {
	start := time.Now()
	for _, child := range m {
		if err := child.Tell("%s %d", shape, n); err != nil {
			return 0, err
		}
	}
	for _, child := range m {
		if _, err := child.Answer(); err != nil {
			return 0, err
		}
	}
	return time.Since(start), nil
}

// member is one process of the crowd.
type member struct {
	c     *bmi.Context
	me    int
	peers []bmi.Addr // by number; the member's own entry is not used
	in    [][]byte
	out   []byte

	posted, done int // receives and sends together
	completions  [4 * crowdSize]bmi.Completion
}

// crowdMember runs a member. args are the base of all addresses and its own
// number.
func crowdMember(args []string) error {
	var me int
	if len(args) != 2 {
		return fmt.Errorf("want the base of the addresses and a number, not %q", args)
	}
	if _, err := fmt.Sscan(args[1], &me); err != nil || me < 0 || me >= crowdSize {
		return fmt.Errorf("bad number of a member: %q", args[1])
	}
	address := func(i int) string { return fmt.Sprintf("%s-%d", args[0], i) }
	ep, err := bmi.Open(context.Background(), bmi.Config{Listen: []string{address(me)}})
	if err != nil {
		return err
	}
	m := &member{me: me, out: make([]byte, rateSize)}
	if m.c, err = ep.OpenContext(); err != nil {
		return err
	}
	fmt.Println("ok")
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		if err := m.look(ep, address); err != nil {
			return err
		}
		shape, count, _ := strings.Cut(lines.Text(), " ")
		var steps int
		if _, err := fmt.Sscan(count, &steps); err != nil {
			return fmt.Errorf("bad command %q", lines.Text())
		}
		if err := m.run(shape, steps); err != nil {
			return err
		}
		fmt.Println("ok")
	}
	return ep.Close()
}

// look looks up the others, once all of them are there.
func (m *member) look(ep *bmi.Endpoint, address func(int) string) error {
	if m.peers != nil {
		return nil
	}
	for i := range crowdSize {
		a, err := ep.Lookup(address(i))
		if err != nil {
			return err
		}
		m.peers = append(m.peers, a)
		m.in = append(m.in, make([]byte, rateSize))
	}
	return nil
}

// run executes steps of a shape.
func (m *member) run(shape string, steps int) error {
	next, before := (m.me+1)%crowdSize, (m.me+crowdSize-1)%crowdSize
	to, from := []int{next}, []int{before}
	switch shape {
	case shapePairs:
		return m.pairs(steps)
	case shapeAll:
		to, from = nil, nil
		for i := 1; i < crowdSize; i++ {
			to = append(to, (m.me+i)%crowdSize)
			from = append(from, (m.me+i)%crowdSize)
		}
	}
	for range steps {
		if err := m.recv(from...); err != nil {
			return err
		}
		if err := m.send(to...); err != nil {
			return err
		}
		if err := m.settle(); err != nil {
			return err
		}
	}
	return nil
}

// pairs is a ping-pong with the neighbour.
func (m *member) pairs(steps int) error {
	other := m.me ^ 1
	for range steps {
		if err := m.recv(other); err != nil {
			return err
		}
		if m.me > other {
			if err := m.settle(); err != nil {
				return err
			}
		}
		if err := m.send(other); err != nil {
			return err
		}
		if err := m.settle(); err != nil {
			return err
		}
	}
	return nil
}

func (m *member) recv(from ...int) error {
	for _, i := range from {
		if err := m.count(m.c.PostRecv(m.peers[i], 1, m.in[i], nil)); err != nil {
			return err
		}
	}
	return nil
}

func (m *member) send(to ...int) error {
	for _, i := range to {
		if err := m.count(m.c.PostSend(m.peers[i], 1, m.out, nil)); err != nil {
			return err
		}
	}
	return nil
}

func (m *member) count(p bmi.Posted, err error) error {
	if err == nil && !p.Done {
		m.posted++
	}
	return err
}

// settle waits until all pending operations have completed.
func (m *member) settle() error {
	for m.done < m.posted {
		n, err := m.c.TestContext(m.completions[:], bmi.Forever)
		if err != nil {
			return err
		}
		for _, c := range m.completions[:n] {
			if c.Err != nil {
				return c.Err
			}
		}
		m.done += n
	}
	return nil
}
