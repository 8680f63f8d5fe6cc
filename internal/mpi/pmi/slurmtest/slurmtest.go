// Package slurmtest runs a Slurm of one node for tests. It is started and stopped with a test, and
// independent of an installed one. It needs Debian's slurm-wlm, but neither munge nor systemd, and
// must run as root. It is for tests only.
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
)

// startMax is how long the daemons may take to find each other.
const startMax = 30 * time.Second

// Start starts Slurm and returns the environment variables that processes need to use it. If that
// is not possible, it skips the test.
func Start(t *testing.T) (env []string) {
	t.Helper()
	for _, program := range []string{"slurmctld", "slurmd", "srun", "sinfo"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("%s is not installed (Debian: slurm-wlm)", program)
		}
	}
	if os.Getuid() != 0 {
		t.Skip("slurmd starts jobs as root only")
	}
	dir := t.TempDir()
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	host, _, _ = strings.Cut(host, ".")
	file := filepath.Join(dir, "slurm.conf")
	for _, sub := range []string{"state", "spool"} {
		if err := os.Mkdir(filepath.Join(dir, sub), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(file, []byte(config(dir, host, freeport.TCP(t), freeport.TCP(t))), 0o644); err != nil {
		t.Fatal(err)
	}
	env = []string{"SLURM_CONF=" + file}
	ended := make(chan string, 2)
	daemon(t, ended, env, "slurmctld", "-D", "-c")
	daemon(t, ended, env, "slurmd", "-D", "-N", host)
	for began := time.Now(); ; {
		out := run(env, "sinfo", "--noheader", "-o", "%T")
		if out == "idle" {
			return env
		}
		select {
		case name := <-ended:
			t.Skipf("%s does not run here: %s", name, logs(dir))
		case <-time.After(50 * time.Millisecond):
		}
		if time.Since(began) > startMax {
			t.Skipf("Slurm does not come up here: sinfo says %q; %s", out, logs(dir))
		}
	}
}

func config(dir, host string, controlPort, nodePort int) string {
	return fmt.Sprintf(`ClusterName=test
SlurmctldHost=%[2]s(127.0.0.1)
SlurmctldPort=%[3]d
SlurmdPort=%[4]d
AuthType=auth/none
CredType=cred/none
SlurmUser=root
SlurmdUser=root
StateSaveLocation=%[1]s/state
SlurmdSpoolDir=%[1]s/spool
SlurmctldPidFile=%[1]s/slurmctld.pid
SlurmdPidFile=%[1]s/slurmd.pid
SlurmctldLogFile=%[1]s/slurmctld.log
SlurmdLogFile=%[1]s/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
KillWait=2
NodeName=%[2]s NodeAddr=127.0.0.1 CPUs=%[5]d State=UNKNOWN
PartitionName=all Nodes=%[2]s Default=YES MaxTime=INFINITE State=UP
`, dir, host, controlPort, nodePort, runtime.NumCPU())
}

// daemon runs a program until the test ends. If the program ends before, its name is sent on ended.
func daemon(t *testing.T, ended chan<- string, env []string, name string, args ...string) {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Env = append(os.Environ(), env...)
	// If a test is killed, the kernel kills its daemons.
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		t.Skipf("%s cannot be started: %v", name, err)
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
	for _, name := range []string{"slurmctld.log", "slurmd.log"} {
		b, _ := os.ReadFile(filepath.Join(dir, name))
		text += name + ": " + string(b[max(0, len(b)-500):]) + "\n"
	}
	return text
}
