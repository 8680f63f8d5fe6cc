package spin

// A preempt tells whether others want the core that is polled on: whether the kernel took
// it away from many of the last spins. The load of the machine (load) does not say so
// where processes may use a part of its cores only.
type preempt struct {
	count  func() (thread int, switches int64) // of the running thread
	began  bool
	thread int
	before int64
	share  int // of the last spins, about preemptOver, of preemptWhole
}

const (
	preemptOver  = 8 // spins that the average is over
	preemptWhole = 1 << 10
	// preemptMost is below what one such spin adds: two spins have to go well after it.
	preemptMost = 100
)

// note is called while a spin goes on; the first time counts. It costs two system calls, and
// is not for spins that are over after a few polls.
func (p *preempt) note() {
	if !p.began && p.count != nil {
		p.began = true
		p.thread, p.before = p.count()
	}
}

// end is the end of a spin. A goroutine that changed threads learns nothing.
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
