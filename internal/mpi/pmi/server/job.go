package server

import (
	"fmt"
	"strconv"
	"strings"
	"sync"

	"github.com/viaduct-hpc/viaduct/internal/mpi/pmi/wire"
)

// A State is the state of a process.
//
//	Started ──init──> Ready ──finalize──> Finalized
type State int

const (
	Started   State = iota // it was started, and has sent nothing
	Ready                  // it sent init
	Finalized              // it sent finalize
)

// Config configures a Job.
type Config struct {
	// Name of the job, unique among those of the launcher: letters, digits, '-' and '_'.
	Name string
	// Size is the number of processes, ≥ 1.
	Size int
	// Universe is the largest number of processes of all jobs; 0 means Size.
	Universe int
	// AppNum returns the number of the program of a rank, from 0; nil means 0 for all.
	AppNum func(rank int) int
	// Preput are pairs that exist from the start.
	Preput map[string]string
	// Names are the services that jobs publish; nil means that they cannot.
	Names Services
	// Here are the ranks that this Job serves; nil means all. If there are others, Fence and Get must
	// be set.
	Here []int
	// Fence is called when all processes here wait in a fence, with the pairs that they have put since
	// the one before. Release ends that fence.
	Fence func(pairs []wire.Pair)
	// Get asks for a pair that no process here has put.
	Get func(rank int, key string) (value string, ok bool)
	// Spawn starts processes of the given programs as a job of their own and returns an exit code
	// for each that could not be started, and 0 for the others. nil means that processes cannot
	// spawn.
	Spawn func(rank int, programs []wire.Spawn) (codes []int, err error)
	// Changed is called for every change of a process's state; it may be nil.
	Changed func(rank int, s State)
	// Abort is called when a process wants to end the job; it may be nil.
	Abort func(rank, code int, message string)
}

// A Job serves the processes of one group. Its methods may be called from several goroutines. The
// functions of its Config are called without its lock.
type Job struct {
	cfg Config

	mu     sync.Mutex
	pairs  map[string]string
	bytes  int           // of keys and values in pairs, ≤ pairsBytesMax
	fresh  []wire.Pair   // put since the latest fence, if Config.Fence is set
	ranks  []process     // those that are elsewhere are gone
	away   int           // processes that a fence waits for: neither in it nor ended
	inside int           // processes in the fence
	fence  chan struct{} // closed and replaced when a fence is complete
	told   bool          // Config.Fence has been called for this fence
	closed chan struct{}
	over   bool // closed is closed
}

type process struct {
	state   State
	gone    bool
	waiting bool // in the fence
}

// New makes a Job.
func New(cfg Config) *Job {
	j := &Job{
		cfg: cfg, pairs: map[string]string{}, ranks: make([]process, cfg.Size), away: cfg.Size,
		fence: make(chan struct{}), closed: make(chan struct{}),
	}
	if j.cfg.Universe == 0 {
		j.cfg.Universe = cfg.Size
	}
	if cfg.Here != nil {
		for r := range j.ranks {
			j.ranks[r].gone = true
		}
		for _, r := range cfg.Here {
			j.ranks[r].gone = false
		}
		j.away = len(cfg.Here)
	}
	for key, value := range cfg.Preput {
		j.pairs[key] = value
		j.bytes += len(key) + len(value)
	}
	return j
}

// Name returns the job's name.
func (j *Job) Name() string { return j.cfg.Name }

// State returns the state of a process.
func (j *Job) State(rank int) State {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.ranks[rank].state
}

// Waiting returns the ranks that wait in a fence for others.
func (j *Job) Waiting() (ranks []int) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for r := range j.ranks {
		if j.ranks[r].waiting {
			ranks = append(ranks, r)
		}
	}
	return ranks
}

// Gone tells the Job that a process has ended: fences do not wait for it any more.
func (j *Job) Gone(rank int) {
	j.mu.Lock()
	j.noteLocked(rank, false, true)
	told := j.advanceLocked()
	j.mu.Unlock()
	told()
}

// Release ends the fence in which the processes here wait. Pairs are those that others have put.
func (j *Job) Release(pairs []wire.Pair) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.learnLocked(pairs)
	j.releaseLocked()
}

// Learn keeps pairs of other processes.
func (j *Job) Learn(pairs []wire.Pair) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.learnLocked(pairs)
}

// learnLocked keeps pairs while there is room. Get asks for the others.
func (j *Job) learnLocked(pairs []wire.Pair) {
	for _, p := range pairs {
		if _, there := j.pairs[p.Key]; !there && j.bytes+len(p.Key)+len(p.Value) <= pairsBytesMax {
			j.pairs[p.Key] = p.Value
			j.bytes += len(p.Key) + len(p.Value)
		}
	}
}

// noteLocked sets whether a process is in the fence, and whether it has ended.
func (j *Job) noteLocked(rank int, waiting, gone bool) {
	p := &j.ranks[rank]
	if !p.waiting && !p.gone {
		j.away--
	}
	if p.waiting {
		j.inside--
	}
	p.waiting, p.gone = waiting, gone
	if !p.waiting && !p.gone {
		j.away++
	}
	if p.waiting {
		j.inside++
	}
}

// Close ends all fences, and so all waits of Serve except reads from its connection.
func (j *Job) Close() {
	j.mu.Lock()
	defer j.mu.Unlock()
	if !j.over {
		j.over = true
		close(j.closed)
	}
}

func (j *Job) become(rank int, s State) error {
	j.mu.Lock()
	from := j.ranks[rank].state
	legal := from == Started && s == Ready || from == Ready && s == Finalized
	if legal {
		j.ranks[rank].state = s
	}
	j.mu.Unlock()
	if !legal {
		return fmt.Errorf("rank %d said %s when it was %s", rank, map[State]string{Ready: "init", Finalized: "finalize"}[s], from)
	}
	if j.cfg.Changed != nil {
		j.cfg.Changed(rank, s)
	}
	return nil
}

// put stores a pair; why is one word that says why not.
func (j *Job) put(key, value string) (why string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	_, put := j.pairs[key]
	switch {
	case key == "" || len(key) >= keyBytesMax:
		return "bad_key"
	case len(value) >= valueBytesMax:
		return "value_too_long"
	case put:
		return "duplicate_key_" + key
	case j.bytes+len(key)+len(value) > pairsBytesMax:
		return "too_many_pairs"
	}
	j.pairs[key] = value
	j.bytes += len(key) + len(value)
	if j.cfg.Fence != nil {
		j.fresh = append(j.fresh, wire.Pair{Key: key, Value: value})
	}
	return ""
}

func (j *Job) get(rank int, key string) (string, bool) {
	j.mu.Lock()
	value, ok := j.pairs[key]
	j.mu.Unlock()
	if !ok && j.cfg.Get != nil {
		return j.cfg.Get(rank, key)
	}
	return value, ok
}

// enter adds a rank to the fence, and returns a channel that is closed when all ranks are in it.
func (j *Job) enter(rank int) (<-chan struct{}, error) {
	j.mu.Lock()
	if j.ranks[rank].waiting {
		j.mu.Unlock()
		return nil, fmt.Errorf("rank %d entered a barrier twice", rank)
	}
	j.noteLocked(rank, true, j.ranks[rank].gone)
	fence := j.fence
	told := j.advanceLocked()
	j.mu.Unlock()
	told()
	return fence, nil
}

// advanceLocked completes the fence if all ranks that have not ended wait in it. If there are others
// elsewhere, the function that it returns tells them.
func (j *Job) advanceLocked() (told func()) {
	switch {
	case j.away > 0, j.inside == 0:
	case j.cfg.Fence == nil:
		j.releaseLocked()
	case !j.told:
		j.told = true
		fresh := j.fresh
		j.fresh = nil
		return func() { j.cfg.Fence(fresh) }
	}
	return func() {}
}

func (j *Job) releaseLocked() {
	for r := range j.ranks {
		j.noteLocked(r, false, j.ranks[r].gone)
	}
	j.told = false
	close(j.fence)
	j.fence = make(chan struct{})
}

func (j *Job) appNum(rank int) string {
	if j.cfg.AppNum == nil {
		return "0"
	}
	return strconv.Itoa(j.cfg.AppNum(rank))
}

func (s State) String() string {
	return [...]string{"started", "initialized", "finalized"}[s]
}

// word makes a text one word, for clients that read a message up to the next blank.
func word(text string) string { return strings.ReplaceAll(wire.Words(text), " ", "_") }
