package replay

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestCut(t *testing.T) {
	lines := append(append([]byte("x"), line(5)...), line(6)...)
	want := []Session{{Name: "a", Exchanges: []*Exchange{
		{Conn: 1, Port: 3334, Tag: 7, Request: []byte("off= and off=00000000050"), Sent: [][]byte{lines, append(lines, "rest"...)}, Received: [][]byte{[]byte("y")}},
		{Request: line(1 << 30)},
	}}, {Name: "b"}}
	var file bytes.Buffer
	require.NoError(t, WriteCut(&file, want))
	got, err := ReadCut(bytes.NewReader(file.Bytes()))
	require.NoError(t, err)
	require.Equal(t, want, got)
	for n := range file.Len() {
		_, err := ReadCut(bytes.NewReader(file.Bytes()[:n]))
		require.Error(t, err)
	}
}

func TestLine(t *testing.T) {
	for _, n := range []uint64{0, 1, 15, 16, 0xabcdef, 1<<40 - 1} {
		require.Equal(t, fmt.Sprintf("off=%011x\n", n*lineBytes), string(line(n)))
	}
}

func FuzzReadCut(f *testing.F) {
	var file bytes.Buffer
	require.NoError(f, WriteCut(&file, []Session{{Name: "a", Exchanges: []*Exchange{{Request: append(line(0), line(1)...)}}}}))
	f.Add(file.Bytes())
	f.Fuzz(func(t *testing.T, b []byte) {
		if s, err := ReadCut(bytes.NewReader(b)); err == nil {
			require.NoError(t, WriteCut(&bytes.Buffer{}, s))
		}
	})
}
