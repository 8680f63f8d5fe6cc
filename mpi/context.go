package mpi

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"hash/fnv"
	"math/bits"
	"math/rand/v2"
	"slices"
	"sync"

	"github.com/viaduct-hpc/viaduct/internal/mpi/core"
	"github.com/viaduct-hpc/viaduct/mpi/errclass"
)

// Limits of the communicators of a process. Each has an even context for point-to-point messages,
// and the odd one after it for collective operations.
const (
	contextsMax  = 1 << 15
	contextWords = contextsMax / 64
	// agreedWords is the number of words that agreements take from. The rest is for communicators
	// of this process alone, which therefore do not depend on other processes.
	agreedWords = contextWords - contextWords/8
	// contextBytes is what one round of an agreement carries: the free contexts of a word, and
	// whether every process offered its own.
	contextBytes = 16
	// retiredMax is how many contexts of freed communicators are kept from use.
	retiredMax = 1 << 10
)

// An agreementKey identifies an agreement on contexts. All processes of one agreement have the same
// key for it, and no process uses that key for another.
type agreementKey struct {
	parent core.ContextID // the communicator over which the agreement is made
	tag    int            // the agreement's message tag there
	leader core.ProcID    // the process that proposed the key, where two groups meet; else zero
}

func (k agreementKey) compare(o agreementKey) int {
	if c := cmp.Compare(k.parent, o.parent); c != 0 {
		return c
	}
	if c := cmp.Compare(k.tag, o.tag); c != 0 {
		return c
	}
	return bytes.Compare(k.leader[:], o.leader[:])
}

// contexts holds the context ids that no communicator of this process uses, and the agreements in
// progress.
//
// A new communicator needs an id that is free in each of its processes; they find one by an
// allreduce of their free ids. Several goroutines may want an id at once, in a different order in
// each process. An id that was offered to one agreement cannot be offered to another before the
// first has settled, and that may take as long as the slowest process needs to join it. So each
// round of an agreement covers only one word of 64 ids, in an order that follows from the
// agreement's key and that all its processes know. If the word is lent to another agreement, the
// process offers nothing and all go on to the next word: no agreement waits for another.
type contexts struct {
	mu    sync.Mutex
	taken [contextWords]uint64 // a bit for each pair of contexts in use
	lent  [agreedWords]bool    // words offered to an agreement that has not settled
	going []agreementKey       // agreements in progress; all different

	retired     [retiredMax]retired // a ring
	nextRetired int                 // index of the oldest
}

// reserve marks a context as taken. It is for contexts that need no agreement, such as that of the
// world.
func (c *contexts) reserve(id core.ContextID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.taken[id/2/64] |= 1 << (id / 2 % 64)
}

// release frees a pair of contexts; id is either of the two.
func (c *contexts) release(id core.ContextID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.taken[id/2/64] &^= 1 << (id / 2 % 64)
}

// retire releases a pair of contexts only after many others have been retired. Until then, receives
// that were posted before the communicator was freed may still wait, and late messages or the news
// that it was revoked may still arrive. A new communicator with the same context would receive
// them. closing is called before the context is released.
func (c *contexts) retire(id core.ContextID, closing func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	oldest := &c.retired[c.nextRetired]
	c.nextRetired = (c.nextRetired + 1) % retiredMax
	if oldest.closing != nil {
		oldest.closing()
		c.taken[oldest.id/2/64] &^= 1 << (oldest.id / 2 % 64)
	}
	*oldest = retired{id, closing}
}

// A retired is a context that rests before it is released; the zero value is empty.
type retired struct {
	id      core.ContextID
	closing func()
}

// agree finds n pairs of contexts that are free in all processes, and returns the even ones. and is
// an allreduce with bitwise AND over those processes, in place, of contextBytes.
func (c *contexts) agree(key agreementKey, n int, and func(mask []byte) error) ([]core.ContextID, error) {
	if err := c.enter(key); err != nil {
		return nil, err
	}
	defer c.leave(key)
	var mask [contextBytes]byte
	var spent [agreedWords]bool // words that every process knows to have too few free contexts
	left := agreedWords
	for order := newWordOrder(key); left > 0; {
		word := order.next()
		mine := c.offer(word, mask[:])
		err := and(mask[:])
		ids, done := c.settle(word, mine, n, mask[:], err)
		switch {
		case err != nil:
			return nil, err
		case ids != nil:
			return ids, nil
		case done && !spent[word]:
			spent[word] = true
			left--
		}
	}
	return nil, errclass.New(errclass.Other, "no context is free in all processes: free communicators; a process may have at most %d", contextsMax)
}

// enter announces an agreement.
func (c *contexts) enter(key agreementKey) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if slices.Contains(c.going, key) {
		return errclass.New(errclass.Comm, "this process is making a communicator of the same parent with the same tag %d: take another tag", key.tag&userTagMax)
	}
	c.going = append(c.going, key)
	return nil
}

// leave removes an agreement that ended.
func (c *contexts) leave(key agreementKey) {
	c.mu.Lock()
	defer c.mu.Unlock()
	at := slices.Index(c.going, key)
	c.going = slices.Delete(c.going, at, at+1)
}

// offer fills mask with the free contexts of a word. It returns false if the word is lent to
// another agreement.
func (c *contexts) offer(word int, mask []byte) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	clear(mask)
	if c.lent[word] {
		return false
	}
	c.lent[word] = true
	binary.LittleEndian.PutUint64(mask, ^c.taken[word])
	mask[8] = 1
	return true
}

// settle ends a round: it takes n contexts out of those that all processes offered. done tells
// whether every process offered its free contexts of the word.
func (c *contexts) settle(word int, mine bool, n int, mask []byte, err error) (ids []core.ContextID, done bool) {
	if !mine {
		return nil, false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lent[word] = false
	if err != nil {
		return nil, false
	}
	return c.take(word, binary.LittleEndian.Uint64(mask), n), mask[8] == 1
}

// alone takes n pairs of contexts for communicators of this process alone. It returns nil if too
// few are free.
func (c *contexts) alone(n int) []core.ContextID {
	c.mu.Lock()
	defer c.mu.Unlock()
	for word := agreedWords; word < contextWords; word++ {
		if ids := c.take(word, ^c.taken[word], n); ids != nil {
			return ids
		}
	}
	return nil
}

// take takes the n lowest free contexts of a word, or none if fewer than n are free.
func (c *contexts) take(word int, free uint64, n int) []core.ContextID {
	if bits.OnesCount64(free) < n {
		return nil
	}
	ids := make([]core.ContextID, n)
	for i := range ids {
		ids[i] = core.ContextID(2 * (64*word + bits.TrailingZeros64(free)))
		c.taken[word] |= free & -free
		free &= free - 1
	}
	return ids
}

// A wordOrder is the order in which an agreement visits the words. It visits every word once with a
// stride, then every word again with another stride, so that agreements that collide soon part.
type wordOrder struct {
	rng              *rand.Rand
	at, stride, left int
}

func newWordOrder(key agreementKey) wordOrder {
	seed := fnv.New64a()
	_, _ = seed.Write(appendKey(nil, key)) // never fails
	return wordOrder{rng: rand.New(rand.NewPCG(seed.Sum64(), agreedWords))}
}

// oddPrimes is the product of the odd primes that divide agreedWords.
const oddPrimes = 7

func (o *wordOrder) next() int {
	if o.left == 0 {
		o.left = agreedWords
		o.at = o.rng.IntN(agreedWords)
		o.stride = 1 + 2*oddPrimes*o.rng.IntN(agreedWords/(2*oddPrimes))
	}
	o.left--
	o.at = (o.at + o.stride) % agreedWords
	return o.at
}
