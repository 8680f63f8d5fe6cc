// Package jobtest contains only tests: of whole jobs, whose ranks are processes that mpiexec
// starts. Each job runs a program that checks itself over every method, or ends in an unplanned
// way; afterwards no process or file of it may be left.
//
// The programs are the test program itself, run once more: see main_test.go. Jobs within one
// process are tested with package mpitest, and the launcher alone in package launch.
package jobtest
