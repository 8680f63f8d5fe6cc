package spin

import "time"

// A pass decides whether a caller that polls passes its core to other processes meanwhile (sched_yield(2)). Where processes that
// wait for each other outnumber the cores, the one that is waited for then runs at once, and both remain awake. A process that
// computes instead of waiting keeps the core for a whole time slice of some milliseconds; beside such a one it is better to sleep,
// because the kernel soon lets a process run that has been woken. So what happens to this thread decides: a pass that costs a time
// slice stops further ones for a while, and for twice as long if the next one costs as much.
type pass struct {
	yield  func()        // nil: never
	passed bool          // since the last reading of the clock
	at     time.Duration // when
	cheap  int           // passes in a row that cost little
	banned int           // waits to go without
	step   int           // how many waits the last ban was; 0 ≤ step ≤ bannedMax
}

const (
	// dear is less than a time slice, and more than a process needs that only looks for messages.
	dear      = time.Millisecond
	bannedMin = 16
	bannedMax = 4096
	// cheapMany passes in a row end what was learned of dear ones.
	cheapMany = 1024
)

// wait is called at the beginning of a spin.
func (p *pass) wait() {
	p.passed = false
	if p.banned > 0 {
		p.banned--
	}
}

// allowed reports whether the core may be passed on.
func (p *pass) allowed() bool { return p.yield != nil && p.banned == 0 }

// on passes the core on.
func (p *pass) on(now time.Duration) {
	p.yield()
	p.passed, p.at = true, now
}

// back is called with the next reading of the clock. It reports whether the last pass was dear.
func (p *pass) back(now time.Duration) bool {
	if !p.passed {
		return false
	}
	p.passed = false
	if now-p.at < dear {
		if p.cheap++; p.cheap >= cheapMany {
			p.step = 0
		}
		return false
	}
	p.cheap = 0
	p.step = min(max(2*p.step, bannedMin), bannedMax)
	p.banned = p.step
	return true
}
