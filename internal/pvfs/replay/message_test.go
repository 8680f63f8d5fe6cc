package replay

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/need"
)

// captures is the folder of the captures. Tests that need it are skipped without it.
func captures(t testing.TB) string {
	t.Helper()
	dir, err := Captures()
	need.Unless(t, need.Captures, err)
	return dir
}

func TestReadSession(t *testing.T) {
	file, err := os.ReadFile(filepath.Join(captures(t), "session.pcap"))
	require.NoError(t, err)
	all, err := Read(file, 3334, 3335)
	require.NoError(t, err)
	exchanges := Exchanges(all)
	require.NotEmpty(t, exchanges)
	flows := 0
	for _, x := range exchanges {
		require.NotEmpty(t, x.Received)
		for _, data := range x.Sent {
			flows += len(data)
		}
	}
	require.Equal(t, 3<<20, flows)
}

// One connection of the probes does not use the protocol. The others are still read.
func TestReadProbes(t *testing.T) {
	file, err := os.ReadFile(filepath.Join(captures(t), "probes.pcap"))
	require.NoError(t, err)
	all, err := Read(file, 3334)
	require.NoError(t, err)
	garbage := 0
	for _, m := range all {
		if m.Garbage {
			require.Len(t, m.Data, 84)
			garbage++
		}
	}
	require.Equal(t, 1, garbage)
	require.Len(t, Exchanges(all), 23)
}

func TestReadGarbage(t *testing.T) {
	for _, file := range [][]byte{nil, make([]byte, 24), []byte("\xd4\xc3\xb2\xa1 and then something else that is no packet at all")} {
		_, err := Read(file, 3334)
		require.Error(t, err)
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte("\xd4\xc3\xb2\xa1\x02\x00\x04\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x04\x00\x01\x00\x00\x00"))
	f.Fuzz(func(t *testing.T, file []byte) {
		if all, err := Read(file, 3334, 3335); err == nil {
			Exchanges(all)
		}
	})
}
