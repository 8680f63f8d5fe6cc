// Package slurmtest runs a Slurm for tests, with several nodes on this machine. It is started and
// stopped with a test, and independent of an installed one: it has its own folder and ports. It needs
// the programs of Debian's slurmctld, slurmd and slurm-client, but neither munge nor systemd, and must
// run as root. It is for tests only.
package slurmtest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/viaduct-hpc/viaduct/internal/freeport"
	"github.com/viaduct-hpc/viaduct/internal/need"
)

// startMax is how long the daemons may take to find each other.
const startMax = time.Minute

// Start starts Slurm with nodes n1, n2 and so on, each with the processors of this machine, and
// returns the environment variables that processes need to use it.
func Start(t *testing.T, nodes int) (env []string) {
	t.Helper()
	for _, program := range []string{"slurmctld", "slurmd", "srun", "sinfo"} {
		need.Program(t, program)
	}
	need.AsRoot(t)
	dir := t.TempDir()
	file := filepath.Join(dir, "slurm.conf")
	for _, sub := range []string{"state", "spool"} {
		if err := os.Mkdir(filepath.Join(dir, sub), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(file, []byte(config(t, dir, nodes)), 0o644); err != nil {
		t.Fatal(err)
	}
	env = []string{"SLURM_CONF=" + file}
	ended := make(chan string, 1+nodes) // has room for all
	daemon(t, ended, env, "slurmctld", "-D", "-c")
	for n := 1; n <= nodes; n++ {
		if err := os.Mkdir(filepath.Join(dir, fmt.Sprintf("tmp.n%d", n)), 0o755); err != nil {
			t.Fatal(err)
		}
		daemon(t, ended, env, "slurmd", "-D", "-N", fmt.Sprintf("n%d", n))
	}
	for began := time.Now(); ; {
		out := run(env, "sinfo", "--noheader", "-o", "%T %D")
		if out == fmt.Sprintf("idle %d", nodes) {
			return env
		}
		select {
		case name := <-ended:
			cannot(t, "%s does not run here: %s", name, logs(dir))
		case <-time.After(50 * time.Millisecond):
		}
		if time.Since(began) > startMax {
			cannot(t, "Slurm does not come up here: sinfo says %q; %s", out, logs(dir))
		}
	}
}

// cannot ends a test that cannot have Slurm.
func cannot(t *testing.T, format string, args ...any) {
	t.Helper()
	need.Unless(t, need.Slurm, fmt.Errorf(format, args...))
}

func config(t *testing.T, dir string, nodes int) string {
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	host, _, _ = strings.Cut(host, ".")
	text := fmt.Sprintf(`ClusterName=test
SlurmctldHost=%[2]s(127.0.0.1)
SlurmctldPort=%[3]d
AuthType=auth/none
CredType=cred/none
SlurmUser=root
SlurmdUser=root
StateSaveLocation=%[1]s/state
SlurmdSpoolDir=%[1]s/spool/%%n
TmpFS=%[1]s/tmp.%%n
SlurmctldPidFile=%[1]s/slurmctld.pid
SlurmdPidFile=%[1]s/slurmd.%%n.pid
SlurmctldLogFile=%[1]s/slurmctld.log
SlurmdLogFile=%[1]s/slurmd.%%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
KillWait=2
PartitionName=all Nodes=n[1-%[4]d] Default=YES MaxTime=INFINITE State=UP
`, dir, host, freeport.TCP(t), nodes)
	for n := 1; n <= nodes; n++ {
		text += fmt.Sprintf("NodeName=n%d NodeHostname=%s NodeAddr=127.0.0.1 Port=%d CPUs=%d State=UNKNOWN\n", n, host, freeport.TCP(t), runtime.NumCPU())
	}
	return text
}

// daemon runs a program until the test ends. If the program ends before, its name is sent on ended.
func daemon(t *testing.T, ended chan<- string, env []string, name string, args ...string) {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Env = append(os.Environ(), env...)
	// If a test is killed, the kernel kills its daemons.
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		_ = cmd.Wait()
		ended <- name
		close(done)
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		select {
		case <-done:
		case <-time.After(startMax):
			_ = cmd.Process.Kill()
			<-done
		}
	})
}

func run(env []string, name string, args ...string) string {
	cmd := exec.Command(name, args...)
	cmd.Env = append(os.Environ(), env...)
	out, _ := cmd.CombinedOutput()
	return strings.TrimSpace(string(out))
}

// logs returns the logs of the daemons.
func logs(dir string) (text string) {
	for _, name := range []string{"slurmctld.log", "slurmd.n1.log"} {
		b, _ := os.ReadFile(filepath.Join(dir, name))
		text += name + ": " + string(b[max(0, len(b)-500):]) + "\n"
	}
	return text
}
