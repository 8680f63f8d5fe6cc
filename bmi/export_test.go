package bmi

// StopWatchers ends the background goroutines, so that a test sees what callers
// do for each other without them.
func (e *Endpoint) StopWatchers() {
	e.monitor.StopWatchers()
}

// IgnoreLoad makes callers spin however busy the machine is.
func (e *Endpoint) IgnoreLoad() {
	e.monitor.IgnoreLoad()
}

// ForgetLoader undoes RegisterLoader.
func ForgetLoader() { loader.Store(nil) }
