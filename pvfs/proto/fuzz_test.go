package proto

import (
	"bytes"
	"testing"
)

// FuzzRequest: no bytes cause a panic, and a decoded request decodes to the same after it is encoded again.
func FuzzRequest(f *testing.F) { fuzz(f, true) }

// FuzzResponse is FuzzRequest for responses.
func FuzzResponse(f *testing.F) { fuzz(f, false) }

func fuzz(f *testing.F, request bool) {
	for name, b := range everyVector(f) {
		if isRequest(name) == request && len(b) <= 2048 {
			f.Add(b)
		}
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		text, once, err := describe(request, b)
		if err != nil {
			_ = err.Error()
			return
		}
		again, twice, err := describe(request, once)
		if err != nil {
			t.Fatalf("%s\nis not understood when put together again: %v\n%x", text, err, once)
		}
		if text != again || !bytes.Equal(once, twice) {
			t.Fatalf("%s\nbecomes\n%s\n%x\n%x", text, again, once, twice)
		}
	})
}
