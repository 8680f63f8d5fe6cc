// Package cli implements the bmi command: the code that cmd/bmi connects to cobra.
//
// There is one file per command (info.go, ping.go, serve.go, perf.go, send.go, recv.go).
// exit.go turns errors into exit codes and texts, and root.go puts everything together. Parts
// that commands of other programs use too are in internal/cli/program.
//
// Measuring is in internal/perf, the stream between send and recv in internal/cli/stream. The
// imports of cmd/bmi decide which methods there are.
package cli
