package matchbits_test

import (
	"fmt"

	"github.com/viaduct-hpc/viaduct/matchbits"
)

// A receive that is posted first joins its message when the message arrives. A
// message that comes early is kept for its receive.
func Example() {
	e := matchbits.New[string, string](matchbits.Options{Seed: 1})
	bits := matchbits.Make(matchbits.TypeExpected, 0, 7, 42) // from peer 7, tag 42

	e.Post(bits, matchbits.MaskNone, "receive of tag 42")
	e.Post(bits, matchbits.MaskTag, "receive of any tag")
	for range 2 {
		receive, _ := e.Arrive(bits.WithCredits(3)) // credits take no part
		fmt.Println(receive)
	}
	if _, ok := e.Arrive(bits); !ok {
		e.Keep(bits, "early message")
	}
	message, _ := e.Take(bits, matchbits.MaskNone)
	fmt.Println(message)
	// Output:
	// receive of tag 42
	// receive of any tag
	// early message
}
