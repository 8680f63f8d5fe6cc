package tracefile

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"time"

	"github.com/viaduct-hpc/viaduct/internal/trace"
)

// Joined says what Join did.
type Joined struct {
	Files    int         `json:"files"`
	Events   int         `json:"events"`
	Messages int         `json:"messages"` // with both ends
	Ignored  int         `json:"ignored"`  // ends of messages beyond the limit, which were not matched
	Lossy    int         `json:"lossy"`    // files that have lost events
	Cut      int         `json:"cut"`      // files whose process was killed while it wrote
	Hosts    []HostClock `json:"hosts"`
}

// A mark is an arrow at an event.
type mark struct {
	number int
	flow   uint64
	sends  bool
}

// Join writes the events of several files as one, with the clocks of all hosts made equal, and with arrows from sends to receives.
// Processes are numbered in the order of the files.
func Join(out io.Writer, names []string) (*Joined, error) {
	if len(names) == 0 || len(names) > FilesMax {
		return nil, fmt.Errorf("%d files: give 1 to %d", len(names), FilesMax)
	}
	j := &joiner{matcher: newMatcher(), did: Joined{Files: len(names)}}
	if err := j.read(names); err != nil {
		return nil, err
	}
	c := newClocks(j.headers)
	matches := j.matcher.match()
	for _, m := range matches {
		c.take(j.headers, m)
	}
	if err := c.solve(); err != nil {
		return nil, err
	}
	for _, m := range c.machines {
		j.did.Hosts = append(j.did.Hosts, m.HostClock)
	}
	j.mark(matches)
	base := c.shift(0, j.headers[0])
	for file, h := range j.headers {
		base = min(base, c.shift(file, h))
	}
	w := &eventWriter{w: bufio.NewWriterSize(out, lineBytesMax)}
	j.writeHeader(w, base)
	for file, name := range names {
		if err := j.copy(w, file, name, c.shift(file, j.headers[file])-base); err != nil {
			return nil, err
		}
	}
	return &j.did, w.close()
}

// A joiner is a Join under way.
type joiner struct {
	matcher *matcher
	headers []*Header
	marks   [][]mark // by file, in the order of events
	did     Joined
}

// read is the first pass over all files.
func (j *joiner) read(names []string) error {
	for file, name := range names {
		r, err := Each(name, func(r *Reader, number int, e *Event) error {
			if e.Name == joinedName {
				return errors.New("this file is joined already: give the files of the processes")
			}
			return j.matcher.take(file, number, e)
		})
		if err != nil {
			return err
		}
		j.headers = append(j.headers, &r.Header)
		if r.Cut {
			j.did.Cut++
		}
	}
	j.did.Lossy, j.did.Ignored = len(j.matcher.lossy), j.matcher.ignored
	return nil
}

// mark numbers the messages and notes at which events their arrows begin and end.
func (j *joiner) mark(matches []match) {
	j.did.Messages = len(matches)
	j.marks = make([][]mark, len(j.headers))
	for n, m := range matches {
		flow := uint64(n + 1)
		j.marks[m.send.file] = append(j.marks[m.send.file], mark{m.send.number, flow, true})
		j.marks[m.recv.file] = append(j.marks[m.recv.file], mark{m.recv.number, flow, false})
	}
	for _, marks := range j.marks {
		slices.SortFunc(marks, func(a, b mark) int { return cmp.Compare(a.number, b.number) })
	}
}

// joinedName is the name of the event that says that a file is joined.
const joinedName = "viaduct_joined"

func (j *joiner) writeHeader(w *eventWriter, base time.Duration) {
	first := j.headers[0]
	w.meta(0, trace.HeaderName, "version", trace.Version, "wall_ns", strconv.FormatInt(int64(max(first.Wall-first.Monotonic+base, 0)), 10),
		"monotonic_ns", strconv.FormatInt(int64(max(base, 0)), 10), "boot", first.Boot, "host", first.Host, "rank", "", "program", "joined")
	w.meta(0, joinedName, "files", strconv.Itoa(len(j.headers)), "messages", strconv.Itoa(j.did.Messages))
	for _, h := range j.did.Hosts {
		w.meta(0, "viaduct_clock", "host", h.Host, "offset_ns", strconv.FormatInt(int64(h.Offset), 10), "error_ns", strconv.FormatInt(int64(h.Error), 10))
	}
}

// copy writes the events of a file as events of process file+1.
func (j *joiner) copy(w *eventWriter, file int, name string, shift time.Duration) error {
	h, pid, marks := j.headers[file], int64(file+1), j.marks[file]
	w.meta(pid, "process_name", "name", fmt.Sprintf("%s (process %d)", h.Title(), h.PID))
	order := file
	if rank, err := strconv.Atoi(h.Rank); err == nil && rank >= 0 && rank <= FilesMax {
		order = rank
	}
	w.event(&Event{Name: "process_sort_index", Ph: "M", PID: pid, Args: fmt.Appendf(nil, `{"sort_index":%d}`, order)})
	_, err := Each(name, func(_ *Reader, number int, e *Event) error {
		var m *mark
		if len(marks) > 0 && marks[0].number == number {
			m, marks = &marks[0], marks[1:]
		}
		if e.Ph == "M" && e.Name == "process_name" {
			return w.err
		}
		if e.PID = pid; e.Ph != "M" {
			e.TS += Micros(shift)
		}
		if m != nil {
			w.arrow(e, m)
		}
		w.event(e)
		j.did.Events++
		return w.err
	})
	return err
}

// arrow writes an end of an arrow. Arrows are between instants within operations, because that of a receive is its end. An
// arrival of an unexpected message has the arrow itself.
func (w *eventWriter) arrow(e *Event, m *mark) {
	if e.Ph == "X" {
		e.Bind, e.In = m.flow, true
		return
	}
	at := Event{Name: "arrived", Cat: e.Cat, Ph: "n", TS: e.TS, PID: e.PID, TID: e.TID, ID2: e.ID2, Bind: m.flow, In: true}
	if m.sends {
		a, _ := e.args() // were read before
		at.Name, at.In, at.Out, at.TS = "sent", false, true, e.TS-a.US
	}
	w.event(&at)
}

// An eventWriter writes events as a JSON array, one a line. It keeps the first error.
type eventWriter struct {
	w   *bufio.Writer
	buf bytes.Buffer
	n   int
	err error
}

func (w *eventWriter) event(e *Event) {
	w.buf.Reset()
	if w.n++; w.n == 1 {
		w.buf.WriteString("[\n")
	} else {
		w.buf.WriteString(",\n")
	}
	enc := json.NewEncoder(&w.buf)
	enc.SetEscapeHTML(false) // Perfetto knows no \u escapes
	if err := enc.Encode(e); err != nil {
		w.err = errors.Join(w.err, err)
		return
	}
	if _, err := w.w.Write(bytes.TrimSuffix(w.buf.Bytes(), []byte("\n"))); w.err == nil {
		w.err = err
	}
}

func (w *eventWriter) meta(pid int64, name string, pairs ...string) {
	args := map[string]string{}
	for i := 0; i+1 < len(pairs); i += 2 {
		args[pairs[i]] = pairs[i+1]
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	w.err = errors.Join(w.err, enc.Encode(args))
	w.event(&Event{Name: name, Ph: "M", PID: pid, Args: bytes.TrimSpace(b.Bytes())})
}

func (w *eventWriter) close() error {
	if _, err := w.w.WriteString("\n]\n"); w.err == nil {
		w.err = err
	}
	return errors.Join(w.err, w.w.Flush())
}
