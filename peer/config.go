package peer

import (
	"math/bits"
	"time"
)

// Config is shared by all machines of one endpoint and does not change.
type Config struct {
	// Local describes this side: Version, Session, Name, Credits and EagerBytes.
	// The machine fills in the rest.
	Local Hello

	// ConnectTimeout bounds, in total, how long queued sends wait for a
	// connection; 0: for ever.
	ConnectTimeout time.Duration
	// AttemptTimeout bounds one attempt, ours or the peer's, from its link
	// request to READY; 0: only the NIC bounds it. Each further attempt in a row
	// may take twice as long, up to 16 times: a peer whose processor is busy, or
	// that many others connect to, will not be faster the next time.
	AttemptTimeout time.Duration
	// ResendAfter is when to repeat a CONN_REQ that was not answered; 0: never,
	// for links without loss.
	ResendAfter time.Duration
	// RetryMin and RetryMax bound the pause between two attempts. The pause
	// doubles from RetryMin to RetryMax, and up to half of it is subtracted at
	// random.
	RetryMin, RetryMax time.Duration
	// RetryAbsent: an address without a listener is not a failure until
	// ConnectTimeout. For jobs whose processes start together.
	RetryAbsent bool
	// LingerAfter is how long a link stays open after this side refused its peer,
	// so that the peer can read the reason.
	LingerAfter time.Duration
	// KeepAliveAfter: send a keep-alive if nothing was received for this long; 0:
	// never.
	KeepAliveAfter time.Duration
	// DeadAfter: give up the peer if nothing was received for this long despite a
	// keep-alive; more than KeepAliveAfter. 0: never.
	DeadAfter time.Duration
}

// DefaultConfig returns durations that suit processes on one host or in one
// machine room. The caller fills in Local.
func DefaultConfig() Config {
	return Config{
		ConnectTimeout: 10 * time.Second,
		AttemptTimeout: 2 * time.Second,
		ResendAfter:    250 * time.Millisecond,
		RetryMin:       5 * time.Millisecond,
		RetryMax:       500 * time.Millisecond,
		LingerAfter:    100 * time.Millisecond,
		KeepAliveAfter: 2 * time.Second,
		DeadAfter:      8 * time.Second,
	}
}

// never is a deadline that never comes.
const never = time.Duration(1<<63 - 1)

// after is now+d, or never if d is not set.
func after(now, d time.Duration) time.Duration {
	if d <= 0 || now > never-d {
		return never
	}
	return now + d
}

// attemptDoublings bounds how often AttemptTimeout is doubled.
const attemptDoublings = 4

// attemptTime bounds the attempt after a number of failed ones.
func (c *Config) attemptTime(tries uint8) time.Duration {
	if c.AttemptTimeout > never>>attemptDoublings {
		return c.AttemptTimeout
	}
	return c.AttemptTimeout << min(tries, attemptDoublings)
}

// retryDelay is the pause before the next attempt after a number of failed ones,
// with jitter from rng. It is always more than 0.
func (c *Config) retryDelay(tries uint8, rng *uint64) time.Duration {
	low, high := max(c.RetryMin, time.Microsecond), max(c.RetryMax, c.RetryMin, time.Microsecond)
	delay := high
	if shift := int(tries); shift < bits.LeadingZeros64(uint64(low))-1 {
		delay = min(low<<shift, high)
	}
	return delay - time.Duration(splitmix(rng)%uint64(delay/2+1))
}

// splitmix is the SplitMix64 generator: one addition and a mixer, eight bytes of
// state. It is good enough to keep two sides from retrying in step.
func splitmix(state *uint64) uint64 {
	*state += 0x9e3779b97f4a7c15
	z := *state
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}
