package tcp

import "time"

// warnings bounds the log lines that remote hosts can cause.
type warnings struct {
	window     time.Duration // the second that is being counted
	lines      int           // written in it
	suppressed int           // since the last line
}

// warningsPerSecond is how many lines are written within a second. The next line
// says how many were suppressed.
const warningsPerSecond = 10

// warn logs an irregular event.
func (m *method) warn(text string, args ...any) {
	w := &m.warnings
	if now := m.clock(); now >= w.window+time.Second || w.lines == 0 {
		w.window, w.lines = now, 0
	}
	if w.lines++; w.lines > warningsPerSecond {
		w.suppressed++
		return
	}
	if w.suppressed > 0 {
		args = append(args, "lines_suppressed", w.suppressed)
		w.suppressed = 0
	}
	m.log.Warn(text, args...)
}
