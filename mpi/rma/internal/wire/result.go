package wire

import "fmt"

// A Result begins the answer to a request; the data follows.
type Result uint8

// Results.
const (
	Done        Result = iota + 1
	NoRange            // the runs are not in the window
	NoAttach           // they are not in attached memory of the dynamic window
	HolderDied         // the lock was held by a process that died
	NotHeld            // the lock is not held by the caller
	HeldTwice          // the caller holds the lock, or waits for it, already
	NotFinished        // the message could not be received or sent
	NotExposed         // the memory cannot be exposed to the origin
)

// ParseResult reads an answer.
func ParseResult(b []byte) (Result, []byte, error) {
	if len(b) == 0 || b[0] == 0 || Result(b[0]) > NotExposed {
		return 0, nil, fmt.Errorf("%w: an answer of %d bytes, without a result", ErrRequest, len(b))
	}
	return Result(b[0]), b[1:], nil
}
