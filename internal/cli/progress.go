package cli

import (
	"fmt"
	"io"
	"time"

	"github.com/schollz/progressbar/v3"
)

// progressAfter is how long a transfer must last before it gets a bar.
const progressAfter = 500 * time.Millisecond

// A progress shows on a terminal how far a transfer is. Methods other than begin
// may be called by several goroutines.
type progress struct {
	w     io.Writer
	what  string
	start time.Time
	bar   *progressbar.ProgressBar // from begin on
}

// newProgress gives nil, which shows nothing, if there is no terminal to show
// anything on or the user wants none.
func (a *App) newProgress(what string, quiet bool) *progress {
	if quiet || !a.Terminal {
		return nil
	}
	return &progress{w: a.Err, what: what}
}

// begin starts the clock; total is -1 if it is not known.
func (p *progress) begin(total int64) {
	if p == nil {
		return
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
}

// Write is for the bar: what it draws in the beginning is dropped.
func (p *progress) Write(b []byte) (int, error) {
	if time.Since(p.start) < progressAfter {
		return len(b), nil
	}
	return p.w.Write(b)
}

// set is told how many bytes are done.
func (p *progress) set(bytes int64) {
	if p != nil && p.bar != nil {
		_ = p.bar.Set64(bytes)
	}
}

// end removes the bar, so that what is printed next stands alone.
func (p *progress) end() {
	if p != nil && p.bar != nil {
		_ = p.bar.Clear()
		_ = p.bar.Exit()
	}
}

// summary is the line that ends a successful transfer.
func summary(verb string, bytes int64, sum [32]byte, took time.Duration) string {
	rate := float64(bytes) / 1e6 / max(took.Seconds(), 1e-9)
	return fmt.Sprintf("%s %d bytes in %s (%.0f MB/s), sha256 %x", verb, bytes, took.Round(time.Millisecond), rate, sum)
}
