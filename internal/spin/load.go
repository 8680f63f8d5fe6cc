package spin

import (
	"bytes"
	"os"
	"runtime"
	"strconv"
	"time"
)

// A load reports whether the machine has more runnable processes than cores. The
// kernel counts them in /proc/loadavg over the whole machine, so all of the
// machine's cores count too, not only those that this process may use. Without
// these files the machine counts as idle.
//
// It is sampled at the end of a spin, not of a sleep: after a sleep, our own
// threads that wake one another would count, and distort the result.
type load struct {
	file      *os.File
	buf       [64]byte
	sampledAt time.Duration
	over      int // how many of about loadWhole recent samples found more than that
	cores     int
}

const (
	sampleAfter = time.Millisecond // between two samples
	loadOver    = 8                // number of samples in the average
	loadWhole   = 1 << 10

	// loadMost of the samples may find too many: threads of the kernel run now
	// and then, especially while it moves packets.
	loadMost = loadWhole * 3 / 4
)

func (l *load) open() {
	l.sampledAt = -sampleAfter
	l.cores = runtime.NumCPU()
	if text, err := os.ReadFile("/sys/devices/system/cpu/online"); err == nil {
		if n, ok := parseCPUs(text); ok {
			l.cores = n
		}
	}
	if file, err := os.Open("/proc/loadavg"); err == nil {
		l.file = file
	}
}

func (l *load) close() {
	if l.file != nil {
		_ = l.file.Close() // it was only read
	}
}

// crowded reports whether another process could use this core.
func (l *load) crowded(now time.Duration) bool {
	if l.file == nil {
		return false
	}
	if now-l.sampledAt >= sampleAfter {
		l.sampledAt = now
		n, _ := l.file.ReadAt(l.buf[:], 0) // a short file ends in io.EOF
		if running, ok := parseRunning(l.buf[:n]); ok {
			over := 0
			if running > l.cores {
				over = loadWhole
			}
			l.over += (over - l.over) / loadOver
		}
	}
	return l.over > loadMost
}

// parseRunning reads the number of runnable processes, "2" in
// "0.44 0.15 0.05 2/98 10132" (proc_loadavg(5)).
func parseRunning(line []byte) (int, bool) {
	field, n := 0, -1
	for _, b := range line {
		switch {
		case b == ' ':
			field++
		case field == 3 && b == '/':
			return n, n >= 0
		case field == 3 && b >= '0' && b <= '9' && n < 1<<20:
			n = max(n, 0)*10 + int(b-'0')
		case field >= 3:
			return 0, false
		}
	}
	return 0, false
}

// parseCPUs counts the processors in a list of ranges, "0-3,5".
func parseCPUs(list []byte) (int, bool) {
	total := 0
	for part := range bytes.SplitSeq(bytes.TrimSpace(list), []byte(",")) {
		first, last, isRange := bytes.Cut(part, []byte("-"))
		if !isRange {
			last = first
		}
		from, err1 := strconv.ParseUint(string(first), 10, 16)
		to, err2 := strconv.ParseUint(string(last), 10, 16)
		if err1 != nil || err2 != nil || to < from {
			return 0, false
		}
		total += int(to-from) + 1
	}
	return total, total > 0
}
