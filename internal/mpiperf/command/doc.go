// Package command is the command line of mpibench: options become a mpiperf.Plan, and results
// a table or lines of JSON.
//
// Every rank of a job reads the same command line; rank 0 speaks for all. What is measured is
// in package mpiperf.
package command
