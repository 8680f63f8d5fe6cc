// Package stacktest is the test suite for every stack.Stack: the kernel's
// sockets, TLS over them, a simulated network.
//
// A stack's own test makes a Subject and calls Run. The suite plays an owner that
// follows the seam exactly: it tries nothing before an event, continues until
// ErrAgain, and then assumes that nothing is there until the next event. A stack
// that loses an edge therefore makes it wait for ever, which the Subject's limits
// turn into a failure.
//
// The seam is in internal/tcp/stack; tests of messages are in methods/methodtest.
package stacktest
