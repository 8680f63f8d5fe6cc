// Package python is a plugin in Python, bmi-method-pyloop, and in Go only what tests it and
// what go generate calls.
//
// README.md says what is in which file.
package python

//go:generate ./generate.sh
