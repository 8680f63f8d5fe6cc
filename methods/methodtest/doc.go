// Package methodtest is the conformance suite of BMI methods. Every method must pass it, whether
// it is in this repository, in another one, or in another process behind a plugin: the suite
// uses only bmi's public interface.
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
// The capabilities of a method are read from its bmi.Info. A test that needs more is skipped
// with a reason. Other abilities (killing an endpoint, starting one in another process) are
// hooks of Subject; a test without its hook is skipped too. For a Fork hook that runs the test
// binary again, TestMain must call Main or MainWithoutLeaks. Tests are data: All holds every
// test in a sensible order, Basic those that the simplest useful method passes.
//
// # What lives here
//
// The tests are in one file per theme (order.go, cancel.go, restart.go, …). They are written
// with world.go, lane.go and message.go. A world holds the endpoints of one test and bounds
// every wait. A lane follows the operations of one context and detects a second completion, a
// changed byte beside or after an operation, and an operation that never ends. random.go and
// checks.go are the random runs; serve.go and forkself.go the peer in another process. The tests
// of the suite itself plant bugs in a small method and require that the suite reports each of
// them.
//
// bmi/method.go describes what a method must do; bmi/bmitest is a small one to start from.
package methodtest
