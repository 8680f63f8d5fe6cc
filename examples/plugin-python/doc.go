// Package python is a plugin in Python, bmi-method-pyloop. The Go code is only its tests and the
// directive for go generate.
//
// README.md describes the files.
package python

//go:generate ./generate.sh
