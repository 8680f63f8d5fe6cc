package replay

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// captures is the folder of the captures; tests that need it are skipped without it.
func captures(t testing.TB) string {
	t.Helper()
	shared := os.Getenv("VIADUCT_SHARED")
	if shared == "" {
		t.Skip("set VIADUCT_SHARED to the folder that holds orangefs/captures")
	}
	dir := filepath.Join(shared, "orangefs", "captures")
	if _, err := os.Stat(dir); err != nil {
		t.Skipf("no captures: %v", err)
	}
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
