package interop

import (
	"bytes"
	_ "embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/need"
	"github.com/viaduct-hpc/viaduct/internal/pvfs/pvfstest"
	"github.com/viaduct-hpc/viaduct/internal/pvfs/pvfstest/stock"
	"github.com/viaduct-hpc/viaduct/pvfs/config"
)

//go:embed testdata/libpvfs2.c
var librarySource []byte

//go:embed testdata/library.txt
var libraryScript string

// library compiles the program that calls OrangeFS's client library.
func library(t testing.TB) string {
	t.Helper()
	stock.Need(t)
	cc := need.Program(t, "cc")
	prefix, dir := os.Getenv(stock.Variable), t.TempDir()
	source, path := filepath.Join(dir, "libpvfs2.c"), filepath.Join(dir, "libpvfs2")
	require.NoError(t, os.WriteFile(source, librarySource, 0o600))
	out, err := exec.Command(cc, "-O1", "-D_GNU_SOURCE", "-I"+filepath.Join(prefix, "include"), "-o", path, source,
		"-L"+filepath.Join(prefix, "lib"), "-lpvfs2", "-lssl", "-lcrypto", "-lpthread", "-ldl", "-lm", "-lz").CombinedOutput()
	require.NoError(t, err, "%s", out)
	return path
}

// script runs lines in one process. It returns the output for each: the lines before "ok" or "error", and that.
func (w *world) script(t testing.TB, program string, lines ...string) []string {
	t.Helper()
	cmd := exec.Command(program)
	cmd.Dir = w.Dir
	cmd.Env = append(os.Environ(), "PVFS2TAB_FILE="+w.Tab, "PVFS2KEY_FILE="+w.KeyFile())
	cmd.Stdin = strings.NewReader(strings.Join(lines, "\n") + "\n")
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	require.NoError(t, pvfstest.StartChild(cmd))
	limit := time.AfterFunc(5*time.Minute, func() { _ = cmd.Process.Kill() })
	err := cmd.Wait()
	limit.Stop()
	require.NoError(t, err, "%s\n%s", out.String(), errs.String())
	var answers []string
	var so []string
	for line := range strings.Lines(out.String()) {
		so = append(so, strings.TrimSpace(line))
		if strings.HasPrefix(line, "ok") || strings.HasPrefix(line, "error") {
			answers = append(answers, strings.Join(so, " "))
			so = nil
		}
	}
	require.Len(t, answers, len(lines), "%s", errs.String())
	return answers
}

// TestLibrarySameAsStock: calls of the library have the same results on stock servers and on ours.
func TestLibrarySameAsStock(t *testing.T) {
	program := library(t)
	for name, change := range map[string]func(*config.GenOptions){
		"plain": nil,
		"spread": func(o *config.GenOptions) {
			o.DistrDir.Initial, o.DistrDir.Max, o.DistrDir.Split = 2, 2, 3
		},
	} {
		t.Run(name, func(t *testing.T) {
			lines := strings.Split(strings.TrimSpace(libraryScript), "\n")
			var said [2][]string
			for i, w := range []*world{theirs(t, 2, change), ours(t, 2, change)} {
				w.local(t, "in", content(100000))
				said[i] = w.script(t, program, lines...)
			}
			for i, line := range lines {
				want, got := comparable(line, said[0][i]), comparable(line, said[1][i])
				if want != got {
					t.Errorf("%s: stock servers: %s; ours: %s", line, want, got)
				}
			}
		})
	}
}

// comparable is an answer without times, and with sorted names.
func comparable(line, answer string) string {
	words := strings.Fields(answer)
	switch {
	case strings.HasPrefix(line, "stat") && len(words) == 10 && words[0] == "ok":
		words[7], words[8] = "", ""
		return strings.Join(words, " ")
	case strings.HasPrefix(line, "names"):
		all := map[string]bool{}
		for _, w := range words {
			all[w] = true
		}
		return fmt.Sprint(all)
	}
	return answer
}
