package bmi

// StopWatchers ends the background goroutines, so that a test sees what callers
// do for each other without them.
func (e *Endpoint) StopWatchers() {
	for _, in := range e.methods() {
		in.watch.stop()
	}
	e.watchers.Wait()
}

// IgnoreLoad makes callers spin however busy the machine is.
func (e *Endpoint) IgnoreLoad() {
	e.spinner.IgnoreLoad()
}

// ForgetLoader undoes RegisterLoader.
func ForgetLoader() { loader.Store(nil) }
