package plugins

import (
	"time"

	"github.com/viaduct-hpc/viaduct/plugins/process"
)

// ForgetEnvironment lets the next bmi.Open load what the environment names.
func ForgetEnvironment() {
	loading.Lock()
	defer loading.Unlock()
	loading.environment = false
}

// HungUp reports whether err is of a connection that ended.
func HungUp(err error) bool { return hungUp(err) }

// Patient has a plugin loaded that is waited for longer than users are promised: for its
// processes, which a busy machine may take longer to start, and for its end.
func Patient(o *Options, most time.Duration) { o.waits = waits{start: most, next: most, dying: most} }

// Dying is the error of a call to a process that is being killed for a reason and takes
// longer than the call waits.
func Dying(reason, err error) error {
	in := &incarnation{name: "test", proc: new(process.Process), reason: reason}
	return in.dying(err)
}
