package plugins

import (
	"time"

	"github.com/viaduct-hpc/viaduct/internal/plugins/process"
)

// ForgetEnvironment makes the next bmi.Open load the plugins of the environment again.
func ForgetEnvironment() {
	loading.Lock()
	defer loading.Unlock()
	loading.environment = false
}

// HungUp reports whether err is the error of a connection that ended.
func HungUp(err error) bool { return hungUp(err) }

// Patient sets longer waits than users get, for processes that a busy machine may take longer to
// start and to end.
func Patient(o *Options, most time.Duration) { o.waits = waits{start: most, next: most, dying: most} }

// Dying returns the error of a call to a process that is being killed for a reason and takes longer
// to die than the call waits.
func Dying(reason, err error) error {
	in := &incarnation{name: "test", proc: new(process.Process), reason: reason}
	return in.dying(err)
}
