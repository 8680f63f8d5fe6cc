package launch

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// HandedOn are the signals that a program gives to Run, by Config.Signals, so that the
// processes of the job get them in its place.
func HandedOn() []os.Signal {
	return []os.Signal{
		unix.SIGINT, unix.SIGTERM, unix.SIGHUP, unix.SIGQUIT,
		unix.SIGUSR1, unix.SIGUSR2, unix.SIGTSTP, unix.SIGCONT,
	}
}

// takeSignal hands a signal on. One that is to end the job, which the processes have the
// usual time for, ends it at once if it comes twice.
func (j *job) takeSignal(s os.Signal) {
	n, ok := s.(syscall.Signal)
	if !ok {
		return
	}
	switch n {
	case unix.SIGINT, unix.SIGTERM, unix.SIGHUP, unix.SIGQUIT:
		if j.interrupted || j.ending {
			j.signalAll(unix.SIGKILL, false)
			return
		}
		j.interrupted = true
		if j.code == 0 {
			j.cause = CodeSignal + int(n)
		}
		j.signalAll(n, false)
		j.signalAll(unix.SIGCONT, false)
		j.kill.Reset(j.cfg.Grace)
	case unix.SIGTSTP:
		// The processes have groups of their own, which the terminal does not stop.
		j.signalAll(n, false)
		_ = unix.Kill(os.Getpid(), unix.SIGSTOP)
	case unix.SIGCONT:
		j.signalAll(n, false)
	default:
		j.signalAll(n, true)
	}
}
