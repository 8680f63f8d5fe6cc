package spin

// A preempt reports whether other processes need the polled core, that is, whether the
// kernel took it away during many of the last spins, or another process took it when it was
// passed on. What runs elsewhere on the machine does not count.
type preempt struct {
	count  func() (thread int, switches int64) // for the current thread
	began  bool
	thread int
	before int64
	share  int // preempted ones of about preemptOver last spins, scaled to preemptWhole
}

const (
	preemptOver  = 8 // number of spins in the average
	preemptWhole = 1 << 10
	// preemptMost is less than one such spin adds: two undisturbed spins must follow it.
	preemptMost = 100
)

// note is called during a spin; only the first call counts. It costs two system calls, so it
// is not for spins that end after a few polls.
func (p *preempt) note() {
	if !p.began && p.count != nil {
		p.began = true
		p.thread, p.before = p.count()
	}
}

// end is called at the end of a spin. If the goroutine changed threads the result is
// unknown.
func (p *preempt) end() {
	taken := 0
	if p.began {
		p.began = false
		thread, now := p.count()
		if thread != p.thread {
			return
		}
		if now != p.before {
			taken = preemptWhole
		}
	}
	p.share += (taken - p.share) / preemptOver
}

func (p *preempt) crowded() bool { return p.share > preemptMost }
