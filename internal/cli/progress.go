package cli

import (
	"fmt"
	"io"
	"time"

	"github.com/schollz/progressbar/v3"
	"go.uber.org/atomic"
)

// progressAfter is how long a transfer must last before it gets a bar.
const progressAfter = 500 * time.Millisecond

// A progress shows on a terminal how far a transfer is. Its methods may be called
// by several goroutines.
type progress struct {
	w     io.Writer
	what  string
	start time.Time
	total atomic.Int64
	bar   atomic.Pointer[progressbar.ProgressBar]
}

// newProgress gives nil, which shows nothing, if there is no terminal to show
// anything on or the user wants none.
func (a *App) newProgress(what string, quiet bool) *progress {
	if quiet || !a.Terminal {
		return nil
	}
	p := &progress{w: a.Err, what: what, start: time.Now()}
	p.total.Store(-1)
	return p
}

// begin starts the clock; total is -1 if it is not known.
func (p *progress) begin(total int64) {
	if p != nil {
		p.start = time.Now()
		p.total.Store(total)
	}
}

// set is told how many bytes are done.
func (p *progress) set(bytes int64) {
	if p == nil || time.Since(p.start) < progressAfter {
		return
	}
	bar := p.bar.Load()
	if bar == nil {
		fresh := progressbar.NewOptions64(p.total.Load(),
			progressbar.OptionSetWriter(p.w),
			progressbar.OptionSetDescription(p.what),
			progressbar.OptionShowBytes(true),
			progressbar.OptionThrottle(100*time.Millisecond),
			progressbar.OptionClearOnFinish(),
		)
		if p.bar.CompareAndSwap(nil, fresh) {
			bar = fresh
		} else {
			bar = p.bar.Load()
		}
	}
	_ = bar.Set64(bytes)
}

// end removes the bar, so that what is printed next stands alone.
func (p *progress) end() {
	if p == nil {
		return
	}
	if bar := p.bar.Load(); bar != nil {
		_ = bar.Clear()
		_ = bar.Exit()
	}
}

// summary is the line that ends a successful transfer.
func summary(verb string, bytes int64, sum [32]byte, took time.Duration) string {
	rate := float64(bytes) / 1e6 / max(took.Seconds(), 1e-9)
	return fmt.Sprintf("%s %d bytes in %s (%.0f MB/s), sha256 %x", verb, bytes, took.Round(time.Millisecond), rate, sum)
}
