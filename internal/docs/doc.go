// Package docs tests what the documentation shows: README.md and every page below docs.
//
// blocks.go finds the blocks of a page and reads their marks. shell.go turns the commands of a page into
// one script, session.go runs it on a host of its own, and output.go compares what it printed with what
// the page shows. options.go looks up the options of commands that are not run. gocode.go type-checks blocks of Go.
//
// docs/internals/testing.md explains the marks to authors. Nothing here knows what a program of this module does.
package docs
