// Package simtest holds no code. Its tests run the method over internal/tcp/stack/sim, in virtual
// time and on one goroutine. The race detector would find nothing there and make the tests ten
// times slower, so the fast tier runs them without it (docs/internals/testing.md).
package simtest
