// Package scale writes the tables of simulated collective operations, for command
// bench/collectives and for the report of bench.
package scale
