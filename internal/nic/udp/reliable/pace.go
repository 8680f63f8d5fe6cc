package reliable

import "time"

// A pacer spreads segments over time. It is a bucket that fills at the pace and
// holds a burst; a segment may be sent while it is not empty. Its level is stored
// as the time at which it was empty.
type pacer struct {
	empty   time.Duration
	at      time.Duration // when to check again, if waiting
	waiting bool
}

// burst is how many bytes may be sent at once: enough for the devices to send
// many segments as one, but little compared to the window and to socket buffers.
func burst(window, segment int) int { return max(window/4, min(burstSegments*segment, burstBytes)) }

const (
	burstSegments = 8
	burstBytes    = 64 << 10
)

// span is the time that bytes take at a pace, in bytes per second.
func span(bytes int, rate int64) time.Duration {
	return time.Duration(int64(bytes) * int64(time.Second) / rate)
}

// room is how many segments the pace allows now.
func (p *pacer) room(now time.Duration, rate int64, window, segment int) int {
	p.waiting = false
	if rate <= 0 {
		return WindowSegments
	}
	full := span(burst(window, segment), rate)
	level := min(now-p.empty, full)
	if level <= 0 {
		p.waiting = true
		p.at = p.empty + full/2
		return 0
	}
	return int(int64(level)*rate/int64(time.Second))/segment + 1
}

// spend takes bytes out of the bucket.
func (p *pacer) spend(now time.Duration, rate int64, window, segment, bytes int) {
	if rate <= 0 {
		return
	}
	p.empty = max(p.empty, now-span(burst(window, segment), rate)) + span(bytes, rate)
}

// expire forgets a wait that is over.
func (p *pacer) expire(now time.Duration) {
	if now >= p.at {
		p.waiting = false
	}
}
