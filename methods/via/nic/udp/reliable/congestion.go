package reliable

import "time"

// Congestion decides how much a lane may have under way, and how fast. It sees
// one direction of one lane and belongs to it: no locks. Bytes are those that
// Send was told.
type Congestion interface {
	// Window is how many bytes may be under way at once.
	Window() int
	// Rate is the pace, in bytes per second; 0: as fast as the window allows.
	Rate() int64
	// OnSend: a segment was sent, and so much is under way with it.
	OnSend(now time.Duration, bytes, flying int)
	// OnAck: an ack told something new.
	OnAck(now time.Duration, a Ack)
	// OnLoss: so many bytes were found lost. It comes before OnAck of the ack
	// that showed it.
	OnLoss(now time.Duration, bytes int)
	// OnTimeout: the peer has not answered to repeated questions.
	OnTimeout(now time.Duration)
}

// An Ack is what one ack told congestion control.
type Ack struct {
	// Bytes are acked now and were not before; they may be 0.
	Bytes int
	// RoundTrip was measured by this ack; 0: none was.
	RoundTrip time.Duration
	// SentAt is when the newest of the segments acked now was sent last.
	SentAt time.Duration
	// Flying is how many bytes were under way before the ack.
	Flying int
	// Limited says that the window was in use: only then has it been tried.
	Limited bool
}

// Fixed is a window that never changes, in bytes: no congestion control, for
// comparison and for networks that need none.
type Fixed int

// Window implements Congestion.
func (f Fixed) Window() int { return int(f) }

// Rate implements Congestion: no pace.
func (f Fixed) Rate() int64 { return 0 }

// OnSend implements Congestion.
func (f Fixed) OnSend(time.Duration, int, int) {}

// OnAck implements Congestion.
func (f Fixed) OnAck(time.Duration, Ack) {}

// OnLoss implements Congestion.
func (f Fixed) OnLoss(time.Duration, int) {}

// OnTimeout implements Congestion.
func (f Fixed) OnTimeout(time.Duration) {}
