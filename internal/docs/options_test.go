package docs

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/programs"
)

// TestOptions: commands that are not run have subcommands and options that exist.
func TestOptions(t *testing.T) {
	t.Parallel()
	bin := t.TempDir()
	require.NoError(t, programs.Build(bin, "cmd/bmi", "cmd/pvfs", "cmd/pvfsd"))
	said := make(map[[2]string]string)
	help := func(program, command string) (string, error) {
		key := [2]string{program, command}
		if _, ok := said[key]; !ok {
			args := []string{"--help"}
			if command != "" {
				args = []string{command, "--help"}
			}
			out, err := exec.Command(filepath.Join(bin, program), args...).CombinedOutput()
			if err != nil {
				return "", fmt.Errorf("%s %s: %w: %s", program, command, err, out)
			}
			said[key] = string(out)
		}
		return said[key], nil
	}
	names, byPage, _ := pages(t)
	for _, name := range names {
		report(t, CheckOptions(byPage[name], help))
	}
}

func TestCheckOptions(t *testing.T) {
	help := func(program, command string) (string, error) {
		if command == "" {
			return "Available Commands:\n  ls          List\n  cp          Copy\n\nFlags:\n      --fs string   the file system\n  -h, --help\n", nil
		}
		return "Flags:\n  -l, --long   all\n      --sort string   how\n", nil
	}
	for line, want := range map[string]string{
		"pvfs -fs a/b ls -l --sort=name /x   # pvfs bad": "",
		"make && X=1 bin/pvfs ls -long /x &":             "",
		"pvfs ls -lang /x":                               "a.md:2: pvfs ls has no option -lang",
		"true | pvfs sl /x":                              `a.md:2: pvfs has no command among ["sl" "/x"]; it has ls, cp`,
		"runuser -u pvfs -- pvfs ls":                     "",
		"chown pvfs /x -lang":                            "",
		"mpiexec -n 4 pvfs":                              "",
	} {
		blocks, wrong := Parse("a.md", page("'''sh norun: x\n"+line+"\n'''"))
		require.Empty(t, wrong)
		problems := CheckOptions(blocks, help)
		if want == "" {
			assert.Empty(t, problems, line)
			continue
		}
		require.Len(t, problems, 1, line)
		assert.Contains(t, problems[0].String(), want)
	}
}
