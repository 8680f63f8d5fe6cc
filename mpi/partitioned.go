package mpi

import (
	"encoding/binary"
	"sync"

	"github.com/viaduct-hpc/viaduct/internal/mpi/core"
	"github.com/viaduct-hpc/viaduct/mpi/errclass"
)

// Partitioned messages (MPI-4.1, 4). The first message of a PsendInit is its plan, for the PrecvInit
// that matches it: it says how the message is divided, so two builds that would divide it in different
// ways understand each other. After that, each round sends the message in chunks, each as soon as its
// partitions are ready. The tag of a chunk names the PsendInit and the chunk, so rounds of several
// messages between two processes never mix. The messages of one chunk arrive in the order of the
// rounds.

// Tags of partitioned messages, in the context for collective operations.
const (
	tagPlan      = tagFailure            // of plans, by the user's tag
	tagChunk     = tagFailure | 1<<25    // of chunks, by the number of the PsendInit and of the chunk
	planTagMax   = 1<<25 - 1             // the largest tag of a user
	chunkBits    = 13                    // of the number of a chunk
	numbersMax   = 1 << (25 - chunkBits) // how many PsendInits have different numbers
	chunkBytes   = 512 << 10             // the least that is worth a message
	planBytes    = 32
	partitionMax = 1 << 30
)

// A partitioned is one side of a partitioned message.
type partitioned interface {
	// ready marks a partition as ready to be sent.
	ready(partition int) error
	// arrived tells whether a partition has been received.
	arrived(partition int) (bool, error)
	// free releases the resources of a request that is never started again.
	free()
}

// A division describes a partitioned message to both sides. The sender decides how it is divided.
type division struct {
	number, partitions, bytes int // of the PsendInit; of its message
	perChunk                  int // how many partitions are sent in a message
}

// divide divides a message into chunks.
func divide(number, partitions, bytes int) division {
	each := bytes / partitions // the partitions are equal
	n := 1
	if each < chunkBytes {
		n = min(partitions, (chunkBytes+each-1)/max(each, 1))
	}
	return division{number, partitions, bytes, max(n, (partitions+1<<chunkBits-1)>>chunkBits)}
}

func (p division) chunks() int { return (p.partitions + p.perChunk - 1) / p.perChunk }

// chunkOf returns the chunk of a byte of the message.
func (p division) chunkOf(at int) int {
	if p.bytes == 0 {
		return 0
	}
	return at / (p.bytes / p.partitions) / p.perChunk
}

// bounds returns where a chunk begins and ends in the message.
func (p division) bounds(chunk int) (from, to int) {
	step := p.bytes / p.partitions * p.perChunk
	return chunk * step, min(chunk*step+step, p.bytes)
}

func (p division) tag(chunk int) int { return tagChunk | p.number<<chunkBits | chunk }

func (p division) encode() []byte {
	b := binary.LittleEndian.AppendUint64(nil, uint64(p.number))
	b = binary.LittleEndian.AppendUint64(b, uint64(p.partitions))
	b = binary.LittleEndian.AppendUint64(b, uint64(p.bytes))
	return binary.LittleEndian.AppendUint64(b, uint64(p.perChunk))
}

// decodePlan returns the plan in a message of another process.
func decodePlan(b []byte) (division, error) {
	at := func(i int) uint64 { return binary.LittleEndian.Uint64(b[8*i:]) }
	p := division{number: int(at(0)), partitions: int(at(1)), bytes: int(at(2)), perChunk: int(at(3))}
	if at(0) >= numbersMax || at(1) == 0 || at(1) > partitionMax || at(2) > 1<<62 || p.bytes%p.partitions != 0 ||
		at(3) == 0 || at(3) > at(1) || p.chunks() > 1<<chunkBits {
		return division{}, errclass.New(errclass.Other, "the plan of a partitioned message makes no sense: number %d, %d bytes in %d partitions, %d of them in a chunk", at(0), at(2), at(1), at(3))
	}
	return p, nil
}

// PsendInit makes a persistent request that sends b in equal partitions, each of which Pready marks
// as ready, in any order and from any goroutine (MPI_Psend_init; MPI-4.1, 4.2). The PrecvInit that
// matches it has the same communicator and tag, which is at most 2^25-1 here, and the same number of
// bytes; the number of its partitions may differ.
func (c *Comm) PsendInit(b Buffer, partitions, dst, tag int) Request {
	call := c.enterIf("MPI_Psend_init", dst, tag, &b)
	r, err := c.psendInit(&b, partitions, dst, tag)
	c.seen(call, err)
	return c.began(r, err)
}

// PrecvInit makes a persistent request that receives a partitioned message into b (MPI_Precv_init;
// MPI-4.1, 4.2). Parrived tells whether one of its partitions has arrived. src is a rank, not
// AnySource.
func (c *Comm) PrecvInit(b Buffer, partitions, src, tag int) Request {
	call := c.enterIf("MPI_Precv_init", src, tag, &b)
	r, err := c.precvInit(&b, partitions, src, tag)
	c.seen(call, err)
	return c.began(r, err)
}

// Pready marks partitions of an active PsendInit as ready to be sent (MPI_Pready,
// MPI_Pready_range, MPI_Pready_list; MPI-4.1, 4.2). Their memory must not change until the request
// has ended.
func (r Request) Pready(partitions ...int) error {
	c := r.comm()
	entered := c.enter(Call{Name: "MPI_Pready", Comm: c, Peer: Undefined, Tag: Undefined})
	parts, err := r.partitioned()
	for _, i := range partitions {
		if err == nil {
			err = parts.ready(i)
		}
	}
	return c.leave(entered, err)
}

// Parrived tells whether a partition of a PrecvInit has arrived in the present round (MPI_Parrived;
// MPI-4.1, 4.2). It is true of inactive requests.
func (r Request) Parrived(partition int) (arrived bool, err error) {
	c := r.comm()
	entered := c.enter(Call{Name: "MPI_Parrived", Comm: c, Peer: Undefined, Tag: Undefined})
	parts, err := r.partitioned()
	if err == nil {
		arrived, err = parts.arrived(partition)
		yieldUnless(arrived)
	}
	return arrived, c.leave(entered, err)
}

// partitioned returns the message of a partitioned request.
func (r Request) partitioned() (partitioned, error) {
	switch {
	case r.from == nil:
		return nil, errNullRequest
	case r.from.err != nil:
		return nil, r.from.err
	case r.from.parts == nil:
		return nil, errclass.New(errclass.Request, "the request is not partitioned: make it with PsendInit or PrecvInit")
	}
	return r.from.parts, nil
}

// checkPartitions checks the arguments of both sides. The message is contiguous memory: so
// partitions are, too.
func (c *Comm) checkPartitions(b *Buffer, partitions, peer, tag int) ([]byte, error) {
	if err := c.checkSend(b, peer, min(tag, planTagMax)); err != nil {
		return nil, err
	}
	if tag > planTagMax {
		return nil, errclass.New(errclass.Tag, "tag %d is not in 0 to %d, the tags of partitioned messages", tag, planTagMax)
	}
	if partitions < 1 || partitions > partitionMax {
		return nil, errclass.New(errclass.Count, "%d partitions: give 1 to %d", partitions, partitionMax)
	}
	if err := b.evenly(partitions); err != nil {
		return nil, err
	}
	mem, ok := b.direct()
	if !ok {
		return nil, errclass.New(errclass.Type, "the elements of a partitioned message have gaps: give contiguous ones")
	}
	return mem, nil
}

// A psend is the sending side.
type psend struct {
	c    *Comm
	dst  int
	mem  []byte
	plan division
	told core.Request // the message with the plan

	mu     sync.Mutex
	cond   sync.Cond
	active bool
	freed  bool           // the request is never started again
	isset  []bool         // partitions that are ready
	left   []int          // partitions of each chunk that are not ready
	sends  []core.Request // of chunks
	posted int            // chunks that are sent or have failed
	err    error          // of the first chunk that could not be sent
}

func (c *Comm) psendInit(b *Buffer, partitions, dst, tag int) (Request, error) {
	mem, err := c.checkPartitions(b, partitions, dst, tag)
	if err != nil {
		return Request{}, err
	}
	number, err := c.takeNumber()
	if err != nil {
		return Request{}, err
	}
	s := &psend{c: c, dst: dst, mem: mem, plan: divide(number, partitions, len(mem))}
	s.cond.L = &s.mu
	s.isset, s.left, s.sends = make([]bool, partitions), make([]int, s.plan.chunks()), make([]core.Request, s.plan.chunks())
	if s.told, err = c.coll.IsendBytes(core.Standard, s.plan.encode(), dst, tagPlan|tag); err != nil {
		c.giveNumber(number)
		return Request{}, err
	}
	return c.partitionedRequest(s, s.wait, s.start), nil
}

// takeNumber returns a number for a PsendInit. It is not that of another, and was not lately.
func (c *Comm) takeNumber() (int, error) {
	p := &c.parts
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.psends) == numbersMax {
		return 0, errclass.New(errclass.Request, "the communicator has %d requests of PsendInit, and cannot have more: free some", numbersMax)
	}
	if p.psends == nil {
		p.psends = make(map[int]bool)
	}
	for p.psends[p.psendNext] {
		p.psendNext = (p.psendNext + 1) % numbersMax
	}
	number := p.psendNext
	p.psends[number] = true
	p.psendNext = (number + 1) % numbersMax
	return number, nil
}

// giveNumber gives back the number of a PsendInit.
func (c *Comm) giveNumber(number int) {
	c.parts.mu.Lock()
	defer c.parts.mu.Unlock()
	delete(c.parts.psends, number)
}

// partitionedRequest makes the request of one side. A round waits with wait, and begins with start,
// which gets its task.
func (c *Comm) partitionedRequest(p partitioned, wait func() (core.Status, error), start func(*task) error) Request {
	o := &origin{comm: c, parts: p}
	o.start = func() (core.Request, error) {
		if err := c.hold(); err != nil {
			return core.Request{}, err
		}
		r, t := c.newTask(wait)
		if err := start(t); err != nil {
			t.begun.Store(true) // so that no goroutine is started for it
			t.end(core.Empty, nil)
			c.drop(t)
			return core.Request{}, err
		}
		o.task.Store(t)
		return r, nil
	}
	return Request{from: o}
}

// start begins a round. Its task runs when the program asks for its end.
func (s *psend) start(*task) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.isset)
	for i := range s.left {
		s.left[i] = min(s.plan.perChunk, s.plan.partitions-i*s.plan.perChunk)
	}
	s.active, s.posted, s.err = true, 0, nil
	return nil
}

func (s *psend) ready(i int) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case !s.active:
		return errclass.New(errclass.Request, "the partitioned request is not active: start it before a partition is ready")
	case i < 0 || i >= s.plan.partitions:
		return errclass.New(errclass.Arg, "partition %d is not in 0 to %d", i, s.plan.partitions-1)
	case s.isset[i]:
		return errclass.New(errclass.Arg, "partition %d has been marked as ready already in this round", i)
	}
	s.isset[i] = true
	chunk := i / s.plan.perChunk
	if s.left[chunk]--; s.left[chunk] > 0 {
		return nil
	}
	from, to := s.plan.bounds(chunk)
	r, err := s.c.coll.IsendBytes(core.Standard, s.mem[from:to], s.dst, s.plan.tag(chunk))
	if s.sends[chunk] = r; err != nil && s.err == nil {
		s.err = err
	}
	if s.posted++; s.posted == len(s.sends) {
		s.cond.Broadcast()
	}
	return nil // the request reports the error
}

// wait waits until all chunks are sent.
func (s *psend) wait() (core.Status, error) {
	s.mu.Lock()
	for s.posted < len(s.sends) {
		s.cond.Wait()
	}
	err := s.err
	s.mu.Unlock()
	if terr := waitEach(append([]core.Request{s.told}, s.sends...)); err == nil {
		err = terr
	}
	s.mu.Lock()
	s.active = false
	freed := s.freed
	s.mu.Unlock()
	if freed {
		s.c.giveNumber(s.plan.number)
	}
	return core.Empty, err
}

// waitEach waits for all requests, and returns the first error.
func waitEach(rs []core.Request) (err error) {
	for _, r := range rs {
		if _, rerr := r.Wait(background); err == nil {
			err = rerr
		}
	}
	return err
}

func (s *psend) arrived(int) (bool, error) {
	return false, errclass.New(errclass.Request, "the request sends: only partitions of a PrecvInit arrive")
}

func (s *psend) free() {
	s.mu.Lock()
	s.freed = true
	active := s.active
	s.mu.Unlock()
	if !active { // else the number is in use until the round ends
		s.c.giveNumber(s.plan.number)
	}
	if _, done, _ := s.told.Peek(); !done {
		_ = s.told.Free() // it goes on unobserved
	}
}

// A precv is the receiving side.
type precv struct {
	c          *Comm
	src, tag   int
	mem        []byte
	partitions int
	planned    [planBytes]byte
	told       core.Request // the message with the plan

	mu     sync.Mutex
	plan   division // valid if its partitions are not 0
	err    error    // why there is no plan
	active bool
	recvs  []core.Request // of the chunks of this round; nil before the plan is known
}

func (c *Comm) precvInit(b *Buffer, partitions, src, tag int) (Request, error) {
	if src == AnySource {
		return Request{}, errclass.New(errclass.Rank, "a partitioned message comes from a rank, not from AnySource")
	}
	if tag == AnyTag {
		return Request{}, errclass.New(errclass.Tag, "a partitioned message has a tag, not AnyTag")
	}
	mem, err := c.checkPartitions(b, partitions, src, tag)
	if err != nil {
		return Request{}, err
	}
	q := &precv{c: c, src: src, tag: tag, mem: mem, partitions: partitions}
	if q.told, err = c.coll.IrecvBytes(q.planned[:], src, tagPlan|tag); err != nil {
		return Request{}, err
	}
	return c.partitionedRequest(q, q.wait, q.start), nil
}

func (q *precv) start(t *task) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.recvs = nil
	if err := q.post(); err != nil {
		return err
	}
	q.active = true
	if q.recvs == nil {
		t.launch() // it takes the plan, and posts the receives
	}
	return nil
}

// post posts the receives of a round if the plan is known. q.mu is held.
func (q *precv) post() error {
	if q.err != nil || q.recvs != nil || q.plan.partitions == 0 {
		return q.err
	}
	recvs := make([]core.Request, q.plan.chunks())
	for i := range recvs {
		from, to := q.plan.bounds(i)
		var err error
		if recvs[i], err = q.c.coll.IrecvBytes(q.mem[from:to], q.src, q.plan.tag(i)); err != nil {
			for _, r := range recvs[:i] {
				_ = r.Cancel() // too late if it has ended
			}
			_ = waitEach(recvs[:i]) // the error that matters is err
			return err
		}
	}
	q.recvs = recvs
	return nil
}

// learn takes the plan from its message.
func (q *precv) learn(st core.Status) error {
	if st.Bytes != planBytes {
		return errclass.New(errclass.Other, "the plan of a partitioned message has %d bytes and not %d", st.Bytes, planBytes)
	}
	p, err := decodePlan(q.planned[:])
	switch {
	case err != nil:
		return err
	case p.bytes != len(q.mem):
		return errclass.New(errclass.Truncate, "rank %d sends a partitioned message of %d bytes, and there is memory for %d: give as much on both sides", q.src, p.bytes, len(q.mem))
	}
	q.plan = p
	return nil
}

// wait waits until all chunks have arrived.
func (q *precv) wait() (core.Status, error) {
	st := core.Status{Source: q.src, Tag: q.tag, Bytes: len(q.mem)}
	if q.src == ProcNull {
		st.Bytes, st.Tag = 0, core.AnyTag
		return st, q.end(nil)
	}
	told, err := q.told.Wait(background) // empty if an earlier round has taken it
	q.mu.Lock()
	if q.plan.partitions == 0 && q.err == nil {
		if err == nil {
			err = q.learn(told)
		}
		q.err = err
	}
	err = q.post()
	recvs := q.recvs
	q.mu.Unlock()
	if err == nil {
		err = waitEach(recvs)
	}
	return st, q.end(err)
}

func (q *precv) end(err error) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.active = false
	return err
}

func (q *precv) ready(int) error {
	return errclass.New(errclass.Request, "the request receives: only partitions of a PsendInit become ready")
}

func (q *precv) arrived(i int) (bool, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if i < 0 || i >= q.partitions {
		return false, errclass.New(errclass.Arg, "partition %d is not in 0 to %d", i, q.partitions-1)
	}
	if !q.active || q.src == ProcNull {
		return true, nil
	}
	if q.recvs == nil {
		_, _, _ = q.told.Peek() // makes progress; the task that waits takes the plan
		return false, q.err
	}
	each := len(q.mem) / q.partitions
	first, last := q.plan.chunkOf(i*each), q.plan.chunkOf(max((i+1)*each-1, 0))
	for _, r := range q.recvs[first : last+1] {
		if _, done, err := r.Peek(); !done || err != nil {
			return false, err
		}
	}
	return true, nil
}

func (q *precv) free() {
	if _, done, _ := q.told.Peek(); !done {
		_ = q.told.Cancel()
		_ = q.told.Free()
	}
}
