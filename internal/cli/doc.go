// Package cli is the substance of the bmi command: what cmd/bmi wires to cobra.
//
// One file per command (info.go, ping.go, serve.go, perf.go, send.go, recv.go), and what they
// share: exit.go turns errors into exit codes and words, root.go puts it all together. What the
// commands of other programs have, too, is in internal/cli/program.
//
// What a command does underneath is elsewhere: measuring in internal/perf, the
// stream between send and recv in internal/cli/stream. Which methods there are is
// decided by the imports of cmd/bmi.
package cli
