package viaduct_test

import (
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestReadmeLeavesNothingToCommit: git ignores the files that the commands in README.md and docs write here, first of all the keys.
func TestReadmeLeavesNothingToCommit(t *testing.T) {
	if err := exec.Command("git", "rev-parse", "--git-dir").Run(); err != nil {
		t.Skip("this is no clone of the repository")
	}
	for _, name := range []string{"viaduct.key", "job.key", "fs.key", "alice.key", "node1.pem", "fs.conf", "heat.png", "out/tab", "out/storage-a/meta.db", "bin/bmi"} {
		out, err := exec.Command("git", "check-ignore", name).CombinedOutput()
		require.NoError(t, err, "%s: %s", name, out)
	}
}
