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

	"github.com/viaduct-hpc/viaduct/mpi/core"
	"github.com/viaduct-hpc/viaduct/mpi/errclass"
)

// How many communicators a process can be in at once, each of which has an even context for
// messages between two processes and the odd one after it for collective operations.
const (
	contextsMax  = 1 << 15
	contextWords = contextsMax / 64
	// agreedWords are those that agreements take from. The rest is for communicators of this
	// process alone, which are so independent of what others do.
	agreedWords = contextWords - contextWords/8
	// contextBytes is what one round of an agreement carries: which contexts of a word are free,
	// and whether everybody's bits count.
	contextBytes = 16
	// retiredMax is how many contexts of communicators that were freed are kept from others.
	retiredMax = 1 << 10
)

// An agreementKey tells the agreements on contexts apart that go on in a process at once. All
// processes of one agreement have the same key for it, and no process has it for another.
type agreementKey struct {
	parent core.ContextID // the communicator that it is made over
	tag    int            // the message tag that it has there
	leader core.ProcID    // who invented the key, where two communicators come together; else zero
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

// contexts are the context ids that a process has not given to any communicator, and the
// agreements that want some of them.
//
// A new communicator needs an id that is free in each of its processes, which an allreduce of
// what is free there finds. Several goroutines may want one at once, in different order in
// different processes, and what was offered to one agreement cannot be offered to another
// before that has settled, which may take as long as others need to come to it. So each round
// is about one word of 64 ids, in an order that the agreement's key decides and that all its
// processes know. Where the word is lent to another agreement the process offers nothing, and
// all go on to the next one: no agreement waits for another.
type contexts struct {
	mu    sync.Mutex
	taken [contextWords]uint64 // a bit for each pair of contexts in use
	lent  [agreedWords]bool    // words that an agreement has been offered, and has not settled
	going []agreementKey       // agreements; none twice

	retired     [retiredMax]retired // a ring
	nextRetired int                 // where the oldest is
}

// reserve takes a context that needs no agreement, such as that of the world.
func (c *contexts) reserve(id core.ContextID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.taken[id/2/64] |= 1 << (id / 2 % 64)
}

// release gives the pair of contexts of which id is one back.
func (c *contexts) release(id core.ContextID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.taken[id/2/64] &^= 1 << (id / 2 % 64)
}

// retire is release once many others have been retired. Receives that were posted before a
// communicator was freed may still wait, and messages that nobody will receive, or the news that
// it was revoked, may come when others have long freed it: a new one with its context would be
// taken for it. closing is called before the context is released.
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

// A retired is a context that rests; the zero one is none.
type retired struct {
	id      core.ContextID
	closing func()
}

// agree finds n pairs of contexts that are free in all processes, and returns the even ones.
// and is an allreduce with bitwise and over those processes, in place, of contextBytes.
func (c *contexts) agree(key agreementKey, n int, and func(mask []byte) error) ([]core.ContextID, error) {
	if err := c.enter(key); err != nil {
		return nil, err
	}
	defer c.leave(key)
	var mask [contextBytes]byte
	var spent [agreedWords]bool // words of which everybody knows that they have too little
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
	return nil, errclass.New(errclass.Other, "no context is free in all processes: free communicators, of which a process may have %d", contextsMax)
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

// leave takes an agreement back that ended.
func (c *contexts) leave(key agreementKey) {
	c.mu.Lock()
	defer c.mu.Unlock()
	at := slices.Index(c.going, key)
	c.going = slices.Delete(c.going, at, at+1)
}

// offer fills mask with what is free of a word, and tells whether it is to be had.
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

// settle ends a round: it takes n contexts out of what all processes offered. done tells
// whether everybody offered all it had of the word.
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

// alone takes n pairs of contexts for communicators of this process alone, and returns nil if
// there are not as many.
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

// take takes the n lowest contexts of those that are free in a word, or none if it has less.
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

// A wordOrder is the order in which an agreement looks at the words: all of them in strides
// that bring it to each, and then all again in others. Agreements that are in each other's way
// soon part.
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
