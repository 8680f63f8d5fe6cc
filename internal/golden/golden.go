// Package golden compares the output of a test with files in testdata, and
// rewrites those files when the test runs with -update:
//
//	go test ./matchbits -update
//
// Check compares any text. CheckVectors and Load read and write byte vectors in a
// small format that people can read and comment (vectors.go). The package is for
// tests only; no shipped code imports it.
package golden

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"testing"
)

var update = flag.Bool("update", false, "rewrite golden files with what the tests produced")

// Updating reports whether the test runs with -update.
func Updating() bool { return *update }

// Check fails the test if the file at path does not hold exactly got. With
// -update it writes the file instead.
func Check(t testing.TB, path string, got []byte) {
	t.Helper()
	check(t, path, got, *update)
}

func check(t testing.TB, path string, got []byte, write bool) {
	t.Helper()
	if write {
		rewrite(t, path, got)
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("golden: %v (run the test with -update to write it)", err)
		return
	}
	if bytes.Equal(want, got) {
		return
	}
	line, w, g := firstDifference(want, got)
	t.Errorf("golden: %s differs from line %d on\n  file: %q\n  test: %q\nrun the test with -update if the change is meant",
		path, line, w, g)
}

func rewrite(t testing.TB, path string, got []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatalf("golden: %v", err)
	}
	if err := os.WriteFile(path, got, 0o644); err != nil {
		t.Fatalf("golden: %v", err)
	}
	t.Logf("golden: wrote %s", path)
}

// firstDifference returns the number of the first line in which the two
// differ, and that line of each; a missing line is empty.
func firstDifference(want, got []byte) (line int, w, g []byte) {
	ws, gs := bytes.Split(want, []byte("\n")), bytes.Split(got, []byte("\n"))
	for i := 0; i < len(ws) || i < len(gs); i++ {
		w, g = nil, nil
		if i < len(ws) {
			w = ws[i]
		}
		if i < len(gs) {
			g = gs[i]
		}
		if !bytes.Equal(w, g) || i >= len(ws) || i >= len(gs) {
			return i + 1, w, g
		}
	}
	return 0, nil, nil
}
