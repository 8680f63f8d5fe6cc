package program

import (
	"fmt"
	"io"
	"time"

	"github.com/schollz/progressbar/v3"
)

// progressAfter is how long a transfer must last before it gets a progress bar.
const progressAfter = 500 * time.Millisecond

// A Progress shows the progress of a transfer on a terminal. Its methods, except Begin, may
// be called by several goroutines. A nil Progress shows nothing.
type Progress struct {
	w     io.Writer
	what  string
	start time.Time
	bar   *progressbar.ProgressBar // from Begin on
}

// NewProgress returns nil if nothing is to be shown.
func NewProgress(w io.Writer, what string, show bool) *Progress {
	if !show {
		return nil
	}
	return &Progress{w: w, what: what}
}

// Begin starts the clock; total is -1 if it is not known.
func (p *Progress) Begin(total int64) *Progress {
	if p == nil {
		return nil
	}
	p.start = time.Now()
	p.bar = progressbar.NewOptions64(total,
		progressbar.OptionSetWriter(p),
		progressbar.OptionSetDescription(p.what),
		progressbar.OptionShowBytes(true),
		progressbar.OptionShowCount(),
		progressbar.OptionThrottle(100*time.Millisecond),
		progressbar.OptionClearOnFinish(),
	)
	return p
}

// Write is called by the bar. Output before progressAfter is dropped.
func (p *Progress) Write(b []byte) (int, error) {
	if time.Since(p.start) < progressAfter {
		return len(b), nil
	}
	return p.w.Write(b)
}

// Set sets the number of bytes done.
func (p *Progress) Set(bytes int64) {
	if p != nil && p.bar != nil {
		_ = p.bar.Set64(bytes)
	}
}

// Add adds to the number of bytes done.
func (p *Progress) Add(bytes int) {
	if p != nil && p.bar != nil {
		_ = p.bar.Add(bytes)
	}
}

// End removes the bar, so that the next output is not beside it.
func (p *Progress) End() {
	if p != nil && p.bar != nil {
		_ = p.bar.Clear()
		_ = p.bar.Exit()
	}
}

// Rate is the speed of a transfer as text.
func Rate(bytes int64, took time.Duration) string {
	return fmt.Sprintf("%d bytes in %s (%.0f MB/s)", bytes, took.Round(time.Millisecond), float64(bytes)/1e6/max(took.Seconds(), 1e-9))
}
