// Package command is the command line of mpibench: it turns options into a mpiperf.Plan, and
// results into a table or lines of JSON.
//
// Every rank of a job reads the same command line; rank 0 prints for all. Package mpiperf
// makes the measurements.
package command
