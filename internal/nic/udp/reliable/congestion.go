package reliable

import "time"

// Congestion decides how much a lane may have under way, and how fast. It belongs
// to one direction of one lane, so it needs no locks. Bytes are counted as given
// to Send.
type Congestion interface {
	// Window is how many bytes may be under way at once.
	Window() int
	// Rate is the pace, in bytes per second; 0: as fast as the window allows.
	Rate() int64
	// OnSend: a segment was sent; flying bytes are now under way, including it.
	OnSend(now time.Duration, bytes, flying int)
	// OnAck: an ack had news.
	OnAck(now time.Duration, a Ack)
	// OnLoss: bytes were found lost. It is called before OnAck of the same ack.
	OnLoss(now time.Duration, bytes int)
	// OnTimeout: the peer has not answered several probes.
	OnTimeout(now time.Duration)
}

// An Ack is the content of one ack, for congestion control.
type Ack struct {
	// Bytes are newly acked; may be 0.
	Bytes int
	// RoundTrip was measured by this ack; 0: none was.
	RoundTrip time.Duration
	// SentAt is when the newest of the newly acked segments was last sent.
	SentAt time.Duration
	// Flying is how many bytes were under way before the ack.
	Flying int
	// Limited says that the window was fully used: only then has it been tested.
	Limited bool
}
