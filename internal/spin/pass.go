package spin

import "time"

// A pass decides whether a caller that polls passes its core to other processes meanwhile (sched_yield(2)). Where processes that
// wait for each other outnumber the cores, the one that is waited for then runs at once, and both remain awake. Beside a process that
// computes instead of waiting, a pass costs a whole time slice of some milliseconds. Then it is better to sleep, because the kernel
// soon lets a process run that has been woken. So it is decided by how long others keep the core. If they keep it too long, there are
// no passes for a while, and for twice as long if they keep it too long after that as well.
type pass struct {
	yield  func()        // nil: never
	passed bool          // since the last reading of the clock
	at     time.Duration // when
	used   bool          // in this wait
	waits  int           // with passes, since they were last judged
	passes int           // in these waits
	total  time.Duration // that these passes took
	good   int           // judgements in a row that passes are of use
	banned int           // waits to go without
	step   int           // how many waits the last ban was; 0 ≤ step ≤ bannedMax
}

const (
	// dear is less than a time slice, and more than a process needs that only looks for messages.
	dear = time.Millisecond
	// After judgeAfter waits, passes are judged: on average they must not take longer than longMax, which is more than several
	// processes need to look for messages in turn.
	judgeAfter = 16
	longMax    = 150 * time.Microsecond
	bannedMin  = 16
	bannedMax  = 4096
	// goodMany judgements in a row end what was learned before.
	goodMany = 16
)

// begin is called at the beginning of a spin.
func (p *pass) begin() {
	p.passed, p.used = false, false
	if p.banned > 0 {
		p.banned--
	}
}

// allowed reports whether the core may be passed on.
func (p *pass) allowed() bool { return p.yield != nil && p.banned == 0 }

// on passes the core on.
func (p *pass) on(now time.Duration) {
	p.yield()
	p.passed, p.at, p.used = true, now, true
}

// back is called with the next reading of the clock. It reports whether the last pass was dear.
func (p *pass) back(now time.Duration) bool {
	if !p.passed {
		return false
	}
	p.passed = false
	took := now - p.at
	p.passes++
	p.total += took
	if took < dear {
		return false
	}
	p.ban()
	return true
}

// end is called at the end of a spin.
func (p *pass) end() {
	if !p.used || p.banned > 0 {
		return
	}
	if p.waits++; p.waits < judgeAfter {
		return
	}
	if p.total > time.Duration(p.passes)*longMax {
		p.ban()
		return
	}
	p.forget()
	if p.good++; p.good >= goodMany {
		p.step = 0
	}
}

// forget begins a new judgement.
func (p *pass) forget() { p.waits, p.passes, p.total = 0, 0, 0 }

func (p *pass) ban() {
	p.forget()
	p.good = 0
	p.step = min(max(2*p.step, bannedMin), bannedMax)
	p.banned = p.step
}
