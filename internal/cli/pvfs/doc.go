// Package pvfs is the substance of the pvfs command: what cmd/pvfs wires to cobra.
//
// One file per command or family of them (ls.go, cp.go, names.go, attrs.go, xattr.go, df.go,
// bench.go). What they share: place.go says which names are on a file system and which are
// local, mounts.go finds and mounts it, tree.go makes both look alike, copy.go moves bytes,
// explain.go says what is wrong with a name, exit.go turns errors into exit codes. What the
// commands of other programs have, too, is in internal/cli/program.
//
// What a command does underneath is in pvfs/client. Which methods there are is decided by the
// imports of cmd/pvfs.
package pvfs
