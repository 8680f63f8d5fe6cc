package shared

import (
	"context"
	"sync"

	"github.com/viaduct-hpc/viaduct/mpi/errclass"
	"github.com/viaduct-hpc/viaduct/mpi/internal/team"
)

// The operations of a request.
const (
	opAdd    = iota // a: by how much; the answer is the old pointer
	opSet           // a: the new pointer
	opLock          // a, b: off and end; answered when the lock is held
	opShare         // the same for a shared lock
	opUnlock        // a: the number of the lock; not answered
)

// The words of a request: the operation, a, b, and the number of the request. Those of an answer:
// whether it was done, and the pointer.
const (
	requestWords = 4
	answerWords  = 2
)

// numbers is how many requests of a rank have different tags.
const numbers = 1 << 20

// A Desk is one rank's access to the shared pointer and the locks.
type Desk struct {
	t    *team.Team
	stop context.CancelFunc // rank 0: ends the service
	done chan struct{}      // rank 0: the service has ended

	mu     sync.Mutex
	next   int64
	state  state                 // rank 0
	grants map[int64]chan<- bool // rank 0: its own claims that wait
}

// New makes the desk of a rank. On rank 0 it begins to serve, with the pointer at a place.
func New(t *team.Team, pointer int64) *Desk {
	d := &Desk{t: t, done: make(chan struct{}), state: state{pointer: pointer}, grants: make(map[int64]chan<- bool)}
	ctx, stop := context.WithCancel(context.Background())
	d.stop = stop
	if t.Rank() != 0 || t.Size() == 1 {
		close(d.done)
		return d
	}
	go func() {
		defer close(d.done)
		request := make([]int64, requestWords)
		// When the team is broken, the requests of other ranks fail without an answer.
		_ = t.Serve(ctx, request, func(from int) { d.serve(from, request) }, d.gone)
	}()
	return d
}

// Close ends the service. No rank may have a request under way.
func (d *Desk) Close() {
	d.stop()
	<-d.done
}

// Add moves the shared pointer and returns its old value.
func (d *Desk) Add(ctx context.Context, delta int64) (int64, error) {
	if d.t.Rank() == 0 {
		d.mu.Lock()
		defer d.mu.Unlock()
		old, ok := d.state.add(delta)
		return old, beyond(ok)
	}
	answer, err := d.ask(ctx, opAdd, delta, 0, d.number(), func() {})
	if err != nil {
		return 0, err
	}
	return answer[1], beyond(answer[0] == 1)
}

func beyond(ok bool) error {
	if ok {
		return nil
	}
	return errclass.New(errclass.Arg, "the shared file pointer would not fit into 64 bits")
}

// Set sets the shared pointer.
func (d *Desk) Set(ctx context.Context, to int64) error {
	if d.t.Rank() == 0 {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.state.pointer = to
		return nil
	}
	_, err := d.ask(ctx, opSet, to, 0, d.number(), func() {})
	return err
}

// Lock locks bytes off to end-1 against all other locks, or, if shared, against those that are not.
func (d *Desk) Lock(ctx context.Context, off, end int64, shared bool) (unlock func(), err error) {
	number := d.number()
	if d.t.Rank() == 0 {
		return d.lockHere(ctx, claim{off, end, shared, owner{0, number}})
	}
	op := int64(opLock)
	if shared {
		op = opShare
	}
	unlock = func() { d.t.Tell([]int64{opUnlock, number, 0, 0}) }
	if _, err := d.ask(ctx, op, off, end, number, unlock); err != nil {
		return nil, err
	}
	return unlock, nil
}

func (d *Desk) lockHere(ctx context.Context, c claim) (func(), error) {
	granted := make(chan bool, 1)
	d.mu.Lock()
	if d.state.lock(c) {
		granted <- true
	} else {
		d.grants[c.owner.number] = granted
	}
	d.mu.Unlock()
	unlock := func() { d.unlock(func(o owner) bool { return o == c.owner }) }
	select {
	case <-granted:
		return unlock, nil
	case <-ctx.Done():
		unlock()
		d.mu.Lock()
		delete(d.grants, c.owner.number)
		d.mu.Unlock()
		return nil, ctx.Err()
	}
}

func (d *Desk) number() int64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.next = (d.next + 1) % numbers
	return d.next
}

// ask sends a request to rank 0.
func (d *Desk) ask(ctx context.Context, op, a, b, number int64, late func()) (answer []int64, err error) {
	answer = make([]int64, answerWords)
	err = d.t.Ask(ctx, []int64{op, a, b, number}, answer, team.TagAnswer+int(number), late)
	return answer, err
}

// serve serves a request of another rank.
func (d *Desk) serve(from int, request []int64) {
	op, a, b, number := request[0], request[1], request[2], request[3]
	switch op {
	case opAdd:
		d.mu.Lock()
		old, ok := d.state.add(a)
		d.mu.Unlock()
		d.answer(owner{from, number}, ok, old)
	case opSet:
		d.mu.Lock()
		d.state.pointer = a
		d.mu.Unlock()
		d.answer(owner{from, number}, true, a)
	case opLock, opShare:
		c := claim{a, b, op == opShare, owner{from, number}}
		d.mu.Lock()
		ok := d.state.lock(c)
		d.mu.Unlock()
		if ok {
			d.answer(c.owner, true, 0)
		}
	case opUnlock:
		d.unlock(func(o owner) bool { return o == owner{from, a} })
	}
}

// gone ends the locks of a rank that has failed.
func (d *Desk) gone(rank int) { d.unlock(func(o owner) bool { return o.rank == rank }) }

// unlock ends claims, and informs the owners of claims that can now be granted.
func (d *Desk) unlock(is func(owner) bool) {
	d.mu.Lock()
	granted := d.state.unlock(is)
	var others []owner
	for _, o := range granted {
		if o.rank != 0 {
			others = append(others, o)
			continue
		}
		d.grants[o.number] <- true
		delete(d.grants, o.number)
	}
	d.mu.Unlock()
	for _, o := range others {
		d.answer(o, true, 0)
	}
}

func (d *Desk) answer(to owner, ok bool, value int64) {
	answer := make([]int64, answerWords)
	if ok {
		answer[0] = 1
	}
	answer[1] = value
	d.t.Answer(to.rank, team.TagAnswer+int(to.number), answer)
}
