package pvfs

import (
	"fmt"
	"io"
	"time"

	"github.com/schollz/progressbar/v3"
)

// progressAfter is how long a copy must last before it gets a bar.
const progressAfter = 500 * time.Millisecond

// A progress shows on a terminal how far a copy is. Its methods may be called by several
// goroutines, and on nil, which shows nothing.
type progress struct {
	w     io.Writer
	start time.Time
	bar   *progressbar.ProgressBar
}

// newProgress gives nil if there is no terminal to show anything on or the user wants none.
// total is -1 if it is not known.
func (a *App) newProgress(what string, total int64, quiet bool) *progress {
	if quiet || !a.Terminal {
		return nil
	}
	p := &progress{w: a.Err, start: time.Now()}
	p.bar = progressbar.NewOptions64(total,
		progressbar.OptionSetWriter(p),
		progressbar.OptionSetDescription(what),
		progressbar.OptionShowBytes(true),
		progressbar.OptionShowCount(),
		progressbar.OptionThrottle(100*time.Millisecond),
		progressbar.OptionClearOnFinish(),
	)
	return p
}

// Write is for the bar: what it draws in the beginning is dropped.
func (p *progress) Write(b []byte) (int, error) {
	if time.Since(p.start) < progressAfter {
		return len(b), nil
	}
	return p.w.Write(b)
}

// add is told how many more bytes are done.
func (p *progress) add(bytes int) {
	if p != nil {
		_ = p.bar.Add(bytes)
	}
}

// end removes the bar, so that what is printed next stands alone.
func (p *progress) end() {
	if p != nil {
		_ = p.bar.Clear()
		_ = p.bar.Exit()
	}
}

// rate is how fast that was, in words.
func rate(bytes int64, took time.Duration) string {
	return fmt.Sprintf("%d bytes in %s (%.0f MB/s)", bytes, took.Round(time.Millisecond), float64(bytes)/1e6/max(took.Seconds(), 1e-9))
}
