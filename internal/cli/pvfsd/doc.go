// Package pvfsd is the substance of the pvfsd command, the file server: what cmd/pvfsd wires to
// cobra.
//
// One file per command (serve.go, mkfs.go, genconfig.go, check.go, checkconfig.go), and what they share: place.go
// finds the configuration, the server in it and its folder, statistics.go prints counters, exit.go has the exit codes, root.go
// puts it all together. What the commands of other programs have, too, is in
// internal/cli/program.
//
// What a server does is in pvfs/server, how it stores in pvfs/store. Which methods it can listen
// on is decided by the imports of cmd/pvfsd.
package pvfsd
