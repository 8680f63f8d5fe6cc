// Package methodtest is the conformance suite of BMI methods. Every method
// passes it, whether it lives in this repository, in somebody else's, or in
// another process behind a plugin: the suite uses nothing but bmi's public
// interface.
//
// # Using it
//
// A method's test describes how its endpoints are named and runs the suite:
//
//	func TestConformance(t *testing.T) {
//		methodtest.Run(t, func(t methodtest.T) *methodtest.Subject {
//			return &methodtest.Subject{
//				Address: methodtest.Named("mine"),
//			}
//		})
//	}
//
// What a method can do is read from its bmi.Info: a test that needs more than
// the method offers skips and says why. What cannot be read there (how to kill
// an endpoint, how to start one in another process) are hooks of Subject; a
// test whose hook is absent skips as well. For a Fork hook that runs the test
// binary once more, TestMain calls Main or MainWithoutLeaks. Tests are data: All holds every one
// in a sensible order, Basic those that the simplest useful method passes.
//
// # What lives here
//
// One file per theme holds the tests (order.go, cancel.go, restart.go, …).
// world.go, lane.go and message.go are what they are written with: a world
// holds the endpoints of one test and bounds every wait; a lane follows the
// operations of one context and notices a second completion, a changed byte
// beside or after an operation, and an operation that never ends. random.go
// and checks.go are the random runs; serve.go and forkself.go the peer in
// another process. The tests of the suite itself plant bugs in a
// small method and require that the suite reports each of them.
//
// What a method must do is described in bmi/method.go; bmi/bmitest is a small
// one to start from.
package methodtest
