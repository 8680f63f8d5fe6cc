package tcp

import "time"

// warnings bounds the lines that strangers can make us write.
type warnings struct {
	window     time.Duration // the second that is being counted
	lines      int           // written in it
	suppressed int           // since the last line
}

// warningsPerSecond is how many lines are written within a second; the next line
// after that says how many were not.
const warningsPerSecond = 10

// warn writes a line about something that does not happen in good order.
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
