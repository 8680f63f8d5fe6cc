package golden

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// recorder stands in for the testing.TB of a test that is expected to fail.
type recorder struct {
	testing.TB
	failures []string
}

func (r *recorder) Helper()                   {}
func (r *recorder) Logf(string, ...any)       {}
func (r *recorder) Errorf(f string, a ...any) { r.failures = append(r.failures, fmt.Sprintf(f, a...)) }
func (r *recorder) Fatalf(f string, a ...any) { r.Errorf(f, a...) }

func TestCheckFailsOnADifferenceAndNamesTheLine(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.golden")
	require.NoError(t, os.WriteFile(path, []byte("a\nb\nc\n"), 0o644))

	same := &recorder{TB: t}
	check(same, path, []byte("a\nb\nc\n"), false)
	assert.Empty(t, same.failures)

	for _, c := range []struct{ got, says string }{
		{"a\nB\nc\n", "line 2"},
		{"a\nb\nc\nd\n", "line 4"},
		{"a\nb\nc", "line 4"},
		{"", "line 1"},
	} {
		r := &recorder{TB: t}
		check(r, path, []byte(c.got), false)
		require.Len(t, r.failures, 1, "%q", c.got)
		assert.Contains(t, r.failures[0], c.says)
		assert.Contains(t, r.failures[0], "-update")
	}
}

func TestCheckOfAMissingFileSaysHowToWriteIt(t *testing.T) {
	r := &recorder{TB: t}
	check(r, filepath.Join(t.TempDir(), "none"), nil, false)
	require.Len(t, r.failures, 1)
	assert.Contains(t, r.failures[0], "-update")
}

func TestUpdateWritesTheFileAndItsFolder(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sub", "x.golden")
	check(t, path, []byte("new\n"), true)
	check(t, path, []byte("new\n"), false)
}

func TestVectorsSurviveFormatAndParse(t *testing.T) {
	long := make([]byte, 70)
	for i := range long {
		long[i] = byte(i)
	}
	in := []Vector{
		{Comment: "Two lines\nof comment.", Name: "first", Bytes: []byte{0, 1, 0xfe, 0xff, 7}},
		{Name: "empty", Bytes: []byte{}},
		{Comment: "Longer than a line.", Name: "long", Bytes: long},
	}
	out, err := Parse(Format(in))
	require.NoError(t, err)
	assert.Equal(t, in, out)
	CheckVectors(t, "testdata/vectors.golden", in)
	if !Updating() {
		assert.Equal(t, in, Load(t, "testdata/vectors.golden"))
	}
}

func TestParseRefusesNonsense(t *testing.T) {
	for text, says := range map[string]string{
		"a: 0":            "odd length",
		"a: xy":           "invalid byte",
		"no name":         "no name and colon",
		": 00":            "not one word",
		"two words: 00":   "not one word",
		"a: 00\na: 01":    "second vector",
		"  00":            "none was begun",
		"a: 0\nb: 00":     "ends before line 2",
		"a: 00\n  0\n# c": "odd length",
	} {
		_, err := Parse([]byte(text))
		assert.ErrorContains(t, err, says, "%q", text)
	}
}

func TestLoadFailsTheTest(t *testing.T) {
	bad := filepath.Join(t.TempDir(), "bad")
	require.NoError(t, os.WriteFile(bad, []byte("a: 0\n"), 0o644))
	for _, path := range []string{bad, bad + ".none"} {
		r := &recorder{TB: t}
		assert.Nil(t, Load(r, path))
		assert.Len(t, r.failures, 1)
	}
}
