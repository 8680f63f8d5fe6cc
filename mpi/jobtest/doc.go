// Package jobtest is tests alone: of whole jobs, whose ranks are processes of their own that
// mpiexec starts. Each runs a program that checks itself, over every way to travel, or comes to
// an end that nobody planned; and then nothing of it may be left.
//
// The programs are the test program itself, run once more: see main_test.go. Jobs within one
// process are package mpitest's business, and what the launcher does by itself is tested in
// package launch.
package jobtest
