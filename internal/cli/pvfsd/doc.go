// Package pvfsd implements the pvfsd command, the file server; cmd/pvfsd connects it to cobra.
//
// There is one file per command (serve.go, mkfs.go, genconfig.go, check.go, checkconfig.go). They share the others: place.go
// finds the configuration, the server in it and its folder, statistics.go prints counters, exit.go has the exit codes, root.go
// puts everything together. internal/cli/program has the parts shared with other programs.
//
// internal/pvfs/server is the server itself, and internal/pvfs/store its storage. The imports of cmd/pvfsd decide which network methods there are.
package pvfsd
