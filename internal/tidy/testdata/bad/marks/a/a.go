// Package a leaves work behind. TODO: all of it.
package a

// NotTODOItself is a word of its own.
var NotTODOItself = "mktemp /tmp/fooXXXXXX"

// FIXME
