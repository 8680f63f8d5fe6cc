package command

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/mpi/launch"
	"github.com/viaduct-hpc/viaduct/internal/mpi/launch/hosts"
)

// onHosts parses a command line, split at blanks, that runs on hosts by a command that exists.
func onHosts(t *testing.T, line string) launch.Config {
	t.Helper()
	cfg, err := parse(append([]string{"-rsh", "sh -c"}, strings.Fields(line)...), &cobra.Command{})
	require.NoError(t, err, line)
	return cfg
}

func TestHosts(t *testing.T) {
	file := filepath.Join(t.TempDir(), "hosts")
	require.NoError(t, os.WriteFile(file, []byte("a slots=2\nb:3\n"), 0o644))
	ab := []hosts.Host{{Name: "a", Slots: 2}, {Name: "b", Slots: 3}}
	for line, n := range map[string]int{
		"-hosts a:2,b:3 prog": 5, "--host a:2,b:3 prog": 5, "-H a:2,b:3 -n 4 prog": 4, "-hostfile " + file + " prog": 5, "-f " + file + " -np 7 prog": 7,
		"-machinefile=" + file + " -c 1 prog": 1, "-hosts a:2,b:3 -ppn 4 prog": 8, "-hosts a:2,b:3 -map-by ppr:1:node prog": 2, "-hosts a:2,b:3 -N 2 prog": 4,
	} {
		cfg := onHosts(t, line)
		require.NotNil(t, cfg.Hosts, line)
		assert.Equal(t, ab, cfg.Hosts.List, line)
		assert.Equal(t, n, cfg.Programs[0].N, line)
		assert.Equal(t, []string{"sh", "-c"}, cfg.Hosts.Shell)
		assert.False(t, cfg.Hosts.Direct, "the user's command is used for this host, too")
		assert.True(t, filepath.IsAbs(cfg.Hosts.Agent))
	}
	cfg := onHosts(t, "-hosts a:2,b:3 -n 1 x : y")
	assert.Equal(t, 1, cfg.Programs[1].N, "only a single program takes all")
	cfg = onHosts(t, "-hosts a,b -bind-to core -report-bindings -map-by node -fanout 3 -agent /opt/mpiexec prog")
	assert.Equal(t, "core", cfg.Bind)
	assert.True(t, cfg.ReportBindings)
	assert.True(t, cfg.Hosts.Map.RoundRobin)
	assert.Equal(t, 3, cfg.Hosts.Arity)
	assert.Equal(t, "/opt/mpiexec", cfg.Hosts.Agent)

	cfg, err := parse(strings.Fields("-hosts localhost:3 prog"), &cobra.Command{})
	require.NoError(t, err)
	assert.Nil(t, cfg.Hosts, "this machine needs no agent")
	assert.Equal(t, 3, cfg.Programs[0].N)
}

func TestHostsOfAnAllocation(t *testing.T) {
	t.Setenv("SLURM_JOB_NODELIST", "n[1-4]")
	t.Setenv("SLURM_TASKS_PER_NODE", "2(x4)")
	cfg := onHosts(t, "prog")
	assert.Equal(t, 8, cfg.Programs[0].N)
	assert.Len(t, cfg.Hosts.List, 4)
	cfg = onHosts(t, "-hosts n2 prog")
	assert.Equal(t, []hosts.Host{{Name: "n2", Slots: 1}}, cfg.Hosts.List, "the command line precedes")
	t.Setenv("SLURM_JOB_NODELIST", "n[1-")
	_, err := parse([]string{"prog"}, &cobra.Command{})
	assert.ErrorContains(t, err, "the allocation of Slurm in SLURM_JOB_NODELIST")
}

func TestMistakesAboutHosts(t *testing.T) {
	for line, want := range map[string]string{
		"-hosts a, true":                       "--hosts: bad list of hosts",
		"-hostfile /no/such true":              "--hostfile /no/such: ",
		"-hosts a -hostfile b true":            "cannot both be had",
		"-map-by moon true":                    "--map-by: ",
		"-bind-to moon true":                   "--bind-to moon: it is none, core, hwthread, socket or numa",
		"-ppn -1 true":                         "--ppn -1: ",
		"-ppn 2 -map-by ppr:3:node true":       "contradict each other",
		"-hosts a -rsh no-such-command true":   "no-such-command, which starts programs on hosts, is not in PATH",
		"-hosts a -rsh /no/such true":          "--rsh: ",
		"-hosts a -rsh sh -agent mpiexec true": "--agent mpiexec: it is an absolute path",
		"-hosts a -rsh sh -agent /a;b true":    "--agent /a;b: it is an absolute path",
		"-hosts a -rsh sh -fanout 0 true":      "--fanout 0: ",
		"-host true":                           "the program to run is missing",
		"-hots a true":                         "did you mean --hosts?",
		"-machinefil a true":                   "did you mean --machinefile?",
		"-genvlist A -genvnone true":           "only one of --genvall, --genvnone and --genvlist",
		"-x NO_SUCH_VARIABLE true":             "-x NO_SUCH_VARIABLE: there is no such variable",
		"-genv =x true":                        "--genv =x: it is written --genv KEY=VALUE",
		"-n 1 true : -hostfile a true":         "--hostfile counts for all programs",
		"-hosts -oProxyCommand=x -rsh sh true": "no name of a host",
	} {
		code, _, err := run(t, line)
		assert.Equal(t, exitUsage, code, line)
		assert.Contains(t, err, want, line)
	}
}

func TestEnvironmentOfAll(t *testing.T) {
	t.Setenv("MPIEXEC_TEST_A", "1")
	t.Setenv("MPIEXEC_TEST_B", "2")
	show := " sh -c env"
	for line, want := range map[string]string{
		"-genv MPIEXEC_TEST_B 3":                      "A=1 B=3",
		"-genv MPIEXEC_TEST_C=3 -x MPIEXEC_TEST_D=4":  "A=1 B=2 C=3 D=4",
		"-genvlist PATH,MPIEXEC_TEST_B":               "B=2",
		"-genvnone -x PATH -x MPIEXEC_TEST_A":         "A=1",
		"-genvnone -genv PATH=/bin:/usr/bin -env x=y": "",
		"-genvall": "A=1 B=2",
		"-env MPIEXEC_TEST_A 9 --env=MPIEXEC_TEST_C=8 -l": "A=9 B=2 C=8",
	} {
		code, out, err := run(t, line+show)
		require.Zero(t, code, "%s: %s", line, err)
		var got []string
		for _, name := range []string{"A", "B", "C", "D"} {
			values := strings.Split(out, "MPIEXEC_TEST_"+name+"=")
			if len(values) > 1 {
				value, _, _ := strings.Cut(values[len(values)-1], "\n")
				got = append(got, name+"="+value)
			}
		}
		assert.Equal(t, want, strings.Join(got, " "), line)
	}
}

func TestOutputFiles(t *testing.T) {
	dir := t.TempDir()
	code, out, _ := run(t, "-n 2 -output-filename "+dir+"/a%b echo x")
	require.Zero(t, code)
	assert.Empty(t, out)
	for _, name := range []string{"a%b.0.out", "a%b.1.out"} {
		text, err := os.ReadFile(filepath.Join(dir, name))
		require.NoError(t, err)
		assert.Equal(t, "x\n", string(text))
	}
	code, out, _ = run(t, "-n 1 -outfile-pattern "+dir+"/%r -tag-output echo x")
	require.Zero(t, code)
	text, err := os.ReadFile(filepath.Join(dir, "0"))
	require.NoError(t, err)
	assert.Equal(t, "[0] x\n", string(text))
	assert.Empty(t, out)
}
