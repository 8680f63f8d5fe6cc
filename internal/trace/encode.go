package trace

import (
	"strconv"
	"time"
	"unicode/utf8"
)

// appendEvent appends an event as one line, or as two. Each line begins with the comma after the event before it: the header is
// always there.
func (t *Trace) appendEvent(b []byte, tid int, e *Event) []byte {
	switch e.Phase {
	case Call:
		b = t.open(b, "X", tid, e, e.At)
		b = append(b, `,"dur":`...)
		b = appendMicros(b, max(e.End-e.At, 0))
		return appendArgs(b, e)
	case Begin:
		b = t.open(b, "b", tid, e, e.At)
		return appendArgs(appendID(b, e.ID), e)
	case Whole:
		b = t.open(b, "b", tid, e, e.At)
		b = append(appendID(b, e.ID), '}')
	}
	b = t.open(b, "e", tid, e, max(e.End, e.At))
	return appendArgs(appendID(b, e.ID), e)
}

func (t *Trace) open(b []byte, phase string, tid int, e *Event, at time.Duration) []byte {
	name := e.Name
	if name == "" {
		name = e.Kind.Name
	}
	b = append(b, ",\n{\"name\":"...)
	b = appendString(b, name)
	b = append(b, `,"cat":`...)
	b = appendString(b, e.Kind.Category)
	b = append(b, `,"ph":"`...)
	b = append(b, phase...)
	b = append(b, `","ts":`...)
	b = appendMicros(b, at)
	return t.appendPlace(b, tid)
}

// appendPlace appends the process and the track.
func (t *Trace) appendPlace(b []byte, tid int) []byte {
	b = append(b, `,"pid":`...)
	b = strconv.AppendInt(b, int64(t.pid), 10)
	b = append(b, `,"tid":`...)
	return strconv.AppendInt(b, int64(tid), 10)
}

// appendID appends an ID that is the process's own: "id" would be one for all processes.
func appendID(b []byte, id uint64) []byte {
	b = append(b, `,"id2":{"local":"0x`...)
	b = strconv.AppendUint(b, id, 16)
	return append(b, `"}`...)
}

// appendArgs appends the arguments and ends the event. The end of something has its duration among them, so that a reader need
// not look for the beginning.
func appendArgs(b []byte, e *Event) []byte {
	b = append(b, `,"args":{`...)
	first := len(b)
	if e.Phase == End || e.Phase == Whole {
		b = appendKey(b, first, "us")
		b = appendMicros(b, max(e.End-e.At, 0))
	}
	for i, key := range e.Kind.Nums {
		if key == "" {
			break
		}
		if e.Nums[i] != None {
			b = appendKey(b, first, key)
			b = strconv.AppendInt(b, e.Nums[i], 10)
		}
	}
	for i, key := range e.Kind.Strs {
		if key == "" {
			break
		}
		if e.Strs[i] != "" {
			b = appendKey(b, first, key)
			b = appendString(b, e.Strs[i])
		}
	}
	return append(b, "}}"...)
}

func appendKey(b []byte, first int, key string) []byte {
	if len(b) > first {
		b = append(b, ',')
	}
	b = appendString(b, key)
	return append(b, ':')
}

// appendMicros appends a time in microseconds. It is exact.
func appendMicros(b []byte, d time.Duration) []byte {
	if d < 0 {
		b, d = append(b, '-'), -d
	}
	b = strconv.AppendInt(b, int64(d/1000), 10)
	n := int64(d % 1000)
	return append(b, '.', byte('0'+n/100), byte('0'+n/10%10), byte('0'+n%10))
}

// appendString appends a string as JSON. Perfetto knows no \u escapes, so other characters that JSON forbids become question
// marks. What is too long is cut.
func appendString(b []byte, s string) []byte {
	b = append(b, '"')
	for i, r := range s {
		if i >= textBytesMax {
			b = append(b, "…"...)
			break
		}
		switch {
		case r == '"' || r == '\\':
			b = append(b, '\\', byte(r))
		case r < ' ' || r == 0x7f || r == utf8.RuneError:
			b = append(b, '?')
		default:
			b = utf8.AppendRune(b, r)
		}
	}
	return append(b, '"')
}
