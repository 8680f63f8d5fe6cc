// Package spin decides how long to poll before sleeping, for code that waits for another
// process: the endpoint (package bmi) and the loop of a plugin (internal/plugins/guest), which
// contain the loops themselves.
//
// spin.go makes the decision, preempt.go finds out whether other processes need the
// core, pass.go lets them have it, relax.go is the pause between two polls.
package spin
