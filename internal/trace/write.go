package trace

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"sync"
	"time"
)

// Options configure a Trace. Zero values mean defaults.
type Options struct {
	// Clock is the time since an arbitrary start; nil is a monotonic clock that starts now.
	Clock func() time.Duration
	// Every is how often events are written; 0 is 100 ms, < 0 only by Flush and Close.
	Every time.Duration
	// FileBytesMax limits the file; 0 is 1 GiB. Later events are dropped and counted.
	FileBytesMax int64
	// Process describes the process; nil is this one.
	Process *Process
}

// A Trace writes the events of a process. Its methods may be called by any goroutine.
type Trace struct {
	clock func() time.Duration
	pid   int
	most  int64
	out   io.WriterAt
	close func() error // of out; may be nil

	wake  chan struct{} // capacity 1
	ended chan struct{} // the goroutine that writes; nil if there is none
	stop  chan struct{}

	mu       sync.Mutex
	closed   bool
	tracks   []*Track
	lastTID  int
	refusing Track  // in place of Tracks beyond the limit
	metas    []byte // text that waits to be written

	writing sync.Mutex // guards what follows
	end     int64      // offset of the text that closes the array
	buf     []byte
	full    bool
	gone    bool // Close has written the last event
	err     error
}

// closing ends the array. Each write puts it at the end again.
const closing = "\n]\n"

// New makes a Trace that writes to out, from its beginning.
func New(out io.WriterAt, o Options) (*Trace, error) {
	if o.Process == nil {
		o.Process = new(ThisProcess())
	}
	if o.Clock == nil {
		start := time.Now()
		o.Clock = func() time.Duration { return time.Since(start) }
	}
	t := &Trace{clock: o.Clock, pid: o.Process.PID, most: o.FileBytesMax, out: out}
	if t.most <= 0 {
		t.most = FileBytesMax
	}
	t.refusing.t = t
	t.wake, t.stop = make(chan struct{}, 1), make(chan struct{})
	head := append([]byte("["), o.Process.header()...)
	head = append(head, closing...)
	if _, err := out.WriteAt(head, 0); err != nil {
		return nil, fmt.Errorf("trace: %w", err)
	}
	t.end = int64(len(head) - len(closing))
	if name := o.Process.Title(); name != "" {
		t.Meta("process_name", nil, "name", name)
	}
	if o.Every == 0 {
		o.Every = writeEvery
	}
	if o.Every > 0 {
		t.ended = make(chan struct{})
		go t.run(o.Every)
	}
	return t, nil
}

// run writes events until Close.
func (t *Trace) run(every time.Duration) {
	defer close(t.ended)
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-t.stop:
			return
		case <-tick.C:
		case <-t.wake:
		}
		_ = t.Flush() // Close returns the error
		select {
		case <-t.stop:
			return
		case <-time.After(writePause):
		}
	}
}

// hurry makes the goroutine write soon.
func (t *Trace) hurry() {
	select {
	case t.wake <- struct{}{}:
	default:
	}
}

// Meta writes something about the process, or about a Track if that is not nil: a name, and pairs of keys and values.
func (t *Trace) Meta(name string, k *Track, pairs ...string) {
	tid := 0
	if k != nil {
		tid = k.tid
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.closed && len(t.metas) < writeBytes {
		t.metaLocked(name, tid, pairs...)
	}
}

func (t *Trace) metaLocked(name string, tid int, pairs ...string) {
	b := append(t.metas, ",\n"...)
	b = appendMeta(b, name, func(b []byte) []byte { return t.appendPlace(b, tid) }, pairs...)
	t.metas = b
}

func appendMeta(b []byte, name string, place func([]byte) []byte, pairs ...string) []byte {
	b = append(b, `{"name":`...)
	b = appendString(b, name)
	b = append(b, `,"ph":"M","ts":0`...)
	b = place(b)
	b = append(b, `,"args":{`...)
	first := len(b)
	for i := 0; i+1 < len(pairs); i += 2 {
		b = appendKey(b, first, pairs[i])
		b = appendString(b, pairs[i+1])
	}
	return append(b, "}}"...)
}

// Flush writes the events that have been put so far, and returns the error of this or an earlier write. After an error nothing
// more is written.
func (t *Trace) Flush() error {
	t.writing.Lock()
	defer t.writing.Unlock()
	if t.gone {
		return t.err
	}
	t.mu.Lock()
	b, tracks := append(t.buf[:0], t.metas...), slices.Clone(t.tracks)
	t.metas = t.metas[:0]
	t.mu.Unlock()
	for _, k := range tracks {
		ended := k.ended.Load()                                                          // before the last look at its ring
		for until := k.tail.Load(); k.head.Load() != until && t.err == nil && !t.full; { // else the ring fills, and lost events are counted
			b = k.drain(b, until)
			if len(b) >= writeBytes {
				b = t.write(b)
			}
		}
		if b = t.countLost(b, k); ended {
			t.forget(k)
		}
	}
	t.buf = t.write(t.countLost(b, &t.refusing))
	return t.err
}

// forget drops a Track that has ended.
func (t *Trace) forget(k *Track) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.tracks = slices.DeleteFunc(t.tracks, func(other *Track) bool { return other == k })
}

// countLost says how many events of a Track were dropped since it was last said.
func (t *Trace) countLost(b []byte, k *Track) []byte {
	n := k.lost.Load()
	if n == k.told {
		return b
	}
	b = append(b, ",\n{\"name\":\"events dropped\",\"cat\":\"viaduct\",\"ph\":\"i\",\"s\":\"t\",\"ts\":"...)
	b = appendMicros(b, t.clock())
	b = t.appendPlace(b, k.tid)
	b = append(b, `,"args":{"dropped":`...)
	b = strconv.AppendUint(b, n-k.told, 10)
	k.told = n
	return append(b, "}}"...)
}

// write writes text at the end of the array, and returns its memory for the next text.
func (t *Trace) write(b []byte) []byte {
	switch {
	case len(b) == 0 || t.err != nil || t.full:
		return b[:0]
	case t.end+int64(len(b)+len(closing)) > t.most:
		t.full = true
		b = append(b[:0], ",\n{\"name\":\"the file is full\",\"cat\":\"viaduct\",\"ph\":\"i\",\"s\":\"p\",\"ts\":"...)
		b = appendMicros(b, t.clock())
		b = append(t.appendPlace(b, 0), `,"args":{"full":1}}`...)
	}
	b = append(b, closing...)
	if _, err := t.out.WriteAt(b, t.end); err != nil {
		t.err = fmt.Errorf("trace: %w", err)
		return b[:0]
	}
	t.end += int64(len(b) - len(closing))
	return b[:0]
}

// Close writes the remaining events. Events that are put later are dropped. A second call does nothing.
func (t *Trace) Close() error {
	t.mu.Lock()
	if t.closed {
		t.mu.Unlock()
		return nil
	}
	t.closed = true
	t.mu.Unlock()
	close(t.stop)
	if t.ended != nil {
		<-t.ended
	}
	err := t.Flush()
	t.writing.Lock()
	defer t.writing.Unlock()
	t.gone = true
	if t.close != nil {
		if e := t.close(); err == nil && e != nil {
			err = fmt.Errorf("trace: %w", e)
		}
	}
	return err
}
