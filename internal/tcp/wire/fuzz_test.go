package wire

import (
	"testing"

	"github.com/viaduct-hpc/viaduct/internal/golden"
)

// FuzzReader: for any bytes, split in any way, the Reader finds the same messages as the slow
// decoder. cuts are lengths of pieces, used in turn.
func FuzzReader(f *testing.F) {
	for _, file := range []string{"messages", "refused", "streams"} {
		for _, v := range golden.Load(f, "testdata/"+file+".golden") {
			if len(v.Bytes) <= everySize {
				f.Add(v.Bytes, []byte{1, 23, 24, 25, 7})
			}
		}
	}
	_, headers := samples()
	for _, h := range headers {
		f.Add(h.Append(nil), []byte{5})
	}
	f.Fuzz(func(t *testing.T, stream, cuts []byte) {
		want, ends := slowDecode(stream)
		var once, cut assembler
		once.feed(stream)
		for i, rest := 0, stream; len(rest) > 0; i++ {
			n := len(rest)
			if len(cuts) > 0 {
				n = min(n, 1+int(cuts[i%len(cuts)]))
			}
			cut.feed(rest[:n])
			rest = rest[n:]
		}
		for name, a := range map[string]*assembler{"at once": &once, "in pieces": &cut} {
			if !sameMessages(want, a.whole) || a.ends() != ends {
				t.Fatalf("%s: %d messages, %s; want %d, %s", name, len(a.whole), a.ends(), len(want), ends)
			}
		}
	})
}
