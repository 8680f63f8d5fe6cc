// Package spin decides how long it is worthwhile to poll before sleeping, for those that
// wait for another process: the endpoint (package bmi) and the loop of a plugin
// (plugins/guest). The loops themselves are theirs.
//
// spin.go is the decision, load.go and preempt.go whether others want the core,
// relax.go the pause between two polls.
package spin
