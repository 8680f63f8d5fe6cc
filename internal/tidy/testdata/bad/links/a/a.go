// Package a is described in docs/good.md and docs/a.md.
package a
