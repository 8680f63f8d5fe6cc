package fuzzed

import (
	"os"
	"testing"
)

func FuzzIt(f *testing.F) {
	if os.Getenv("ORANGEFS_PREFIX") == "" {
		f.Skip("no OrangeFS")
	}
}
