// Package browser tests the live page (internal/watch/page) in headless Chromium: what it shows, that it keeps to itself, and that names
// that processes give themselves are text. It also takes the pictures of docs/guides/watching.md.
//
// It is a module of its own, so that the library that drives the browser is in no user's go.sum.
package browser
