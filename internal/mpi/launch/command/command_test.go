package command

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/viaduct-hpc/viaduct/internal/cli/program"
	"github.com/viaduct-hpc/viaduct/internal/logtext"
	"github.com/viaduct-hpc/viaduct/internal/mpi/launch"
	"github.com/viaduct-hpc/viaduct/internal/wallclock"
)

func TestMain(m *testing.M) {
	launch.BecomeGuard()
	goleak.VerifyTestMain(m)
}

// run runs a command line, split at blanks.
func run(t *testing.T, line string) (code int, out, err string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), wallclock.Patience)
	defer cancel()
	var o, e logtext.Buffer
	a := &App{Out: &o, Err: &e}
	code = a.Main(ctx, strings.Fields(line))
	return code, o.String(), e.String()
}

func TestParse(t *testing.T) {
	dir := t.TempDir()
	defaults := launch.Config{InitTimeout: InitTimeoutDefault, Grace: launch.GraceDefault}
	for line, change := range map[string]func(c *launch.Config){
		"prog": func(c *launch.Config) { c.Programs = []launch.Program{{N: 1, Path: "prog", Args: []string{}}} },
		"-n 4 prog -n 5 --label -- x": func(c *launch.Config) {
			c.Programs = []launch.Program{{N: 4, Path: "prog", Args: []string{"-n", "5", "--label", "--", "x"}}}
		},
		"-np 4 -- -prog -x": func(c *launch.Config) { c.Programs = []launch.Program{{N: 4, Path: "-prog", Args: []string{"-x"}}} },
		"-n=2 --no-label -timeout=3 -init-timeout 0 -grace 1m -keep-going prog": func(c *launch.Config) {
			c.Programs = []launch.Program{{N: 2, Path: "prog", Args: []string{}}}
			c.KeepGoing, c.Timeout, c.InitTimeout, c.Grace = true, 3*time.Second, 0, time.Minute
		},
		"-label -n 1 a : -n 3 -env A=1 --env B=x=y -wdir " + dir + " b c : d": func(c *launch.Config) {
			c.Label = true
			c.Programs = []launch.Program{
				{N: 1, Path: "a", Args: []string{}},
				{N: 3, Path: "b", Args: []string{"c"}, Env: []string{"A=1", "B=x=y"}, Dir: dir},
				{N: 1, Path: "d", Args: []string{}},
			}
		},
	} {
		want := defaults
		change(&want)
		got, err := parse(strings.Fields(line), &cobra.Command{})
		require.NoError(t, err, line)
		for i := range got.Programs {
			if len(got.Programs[i].Env) == 0 {
				got.Programs[i].Env = nil
			}
		}
		assert.Equal(t, want, got, line)
	}
}

func TestMistakesInTheCommandLine(t *testing.T) {
	for line, want := range map[string]string{
		"":                        "the program to run is missing",
		"-n 2":                    "the program to run is missing behind -n 2",
		"-n 2 a :":                "the program to run is missing",
		": a":                     "the program to run is missing",
		"-n 2 -- : a":             "the program to run is missing behind -n 2 --",
		"-n 0 true":               "-n 0: a program has 1 process or more",
		"-n -3 true":              "-n -3: a program has 1 process or more",
		"-n x true":               "-n x: the number of processes is a number",
		"-n4 true":                "-n4: write -n 4",
		"-n":                      "-n needs a value behind it",
		"-labl true":              "mpiexec has no option --labl; did you mean --label?",
		"-tiemout 3 true":         "did you mean --timeout?",
		"-xwdir 3 true":           "did you mean --wdir?",
		"-quux 3 true":            "mpiexec has no option --quux\n",
		"-m 3 true":               "mpiexec has no option -m\n",
		"-timeout 5x true":        "--timeout 5x: want a time with its unit",
		"-timeout":                "--timeout needs a value behind it",
		"-timeout -5s true":       "--timeout -5s: it cannot be negative",
		"-label=maybe true":       "--label maybe: ",
		"-label -no-label true":   "cannot both",
		"-env A true":             "the program to run is missing behind -env A true",
		"-env =x true":            "--env =x: it is written --env KEY=VALUE",
		"-wdir /no/such true":     "--wdir /no/such: there is no such folder",
		"-n 1 true : -label true": "--label counts for all programs: it stands before the first one",
		"-n 99999999 true":        "99999999 processes of true cannot be started",
	} {
		code, out, err := run(t, line)
		assert.Equal(t, exitUsage, code, line)
		assert.Empty(t, out, line)
		assert.Contains(t, err, want, line)
		assert.True(t, strings.HasPrefix(err, "mpiexec: "), err)
	}
}

func TestExitCodes(t *testing.T) {
	plain := filepath.Join(t.TempDir(), "plain")
	require.NoError(t, os.WriteFile(plain, nil, 0o644))
	for line, want := range map[string]int{
		"-n 2 true": 0, "false": 1, "no-such-program": exitNotFound, plain: exitNotExecutable, "-help": 0, "-version": 0,
		"-timeout 50ms sleep 100": launch.CodeTimeout, "-n 2 sh -c exit${IFS}3": 3,
	} {
		code, _, err := run(t, line)
		assert.Equal(t, want, code, "%s: %s", line, err)
	}
	_, out, _ := run(t, "--help")
	assert.Contains(t, out, "mpiexec -n 4 ./heat")
	_, out, _ = run(t, "-n 2 -version")
	assert.Regexp(t, `^mpiexec \S+ go`, out)
	_, out, _ = run(t, "-label -n 1 echo -n x : -n 1 -env A=b printenv A")
	assert.ElementsMatch(t, []string{"[0] x", "[1] b"}, strings.Split(strings.TrimSpace(out), "\n"))
}

func FuzzParse(f *testing.F) {
	f.Add("-n 4 prog -x : -env A=b -wdir / prog -- y")
	f.Add("-timeout=5s -label - : --")
	f.Fuzz(func(t *testing.T, line string) {
		cfg, err := parse(strings.Split(line, " "), &cobra.Command{})
		switch {
		case errors.Is(err, program.ErrUsage), errors.Is(err, errHelp), errors.Is(err, errVersion):
			return
		case err != nil:
			require.NoError(t, err)
		}
		require.NotEmpty(t, cfg.Programs)
		for _, p := range cfg.Programs {
			require.Positive(t, p.N)
		}
	})
}
