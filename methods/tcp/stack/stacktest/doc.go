// Package stacktest says what every stack.Stack must do, as tests that any of
// them can run: the kernel's sockets, TLS over them, a simulated network.
//
// A stack's own test makes a Subject and calls Run. The suite plays an owner
// that follows the seam to the letter: it tries nothing before an event says
// so, goes on until ErrAgain, and believes that nothing is there until the next
// event. A stack that loses an edge therefore makes it wait for ever, which the
// Subject's limits turn into a failure.
//
// What does not live here: the seam (methods/tcp/stack), and anything about
// messages (methods/methodtest).
package stacktest
