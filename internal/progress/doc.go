// Package progress lets the goroutines of an endpoint wait. One of them polls and sleeps on behalf of all that wait; while none
// does, a goroutine in the background takes over. It knows methods as something to poll and to sleep on, and nothing of
// operations or messages: what a goroutine waits for is a Condition.
//
//	Monitor    of an endpoint: who waits, and which of them polls (monitor.go, wait.go, spin.go)
//	Engine     of a method: the engine lock, and the right to sleep on the method (engine.go)
//	watcher    of a method: the goroutine in the background (watch.go)
//	Waiter     a goroutine that is about to block (waiter.go)
//
// docs/internals/models/wait.pml is a model of sleeping and waking.
package progress
