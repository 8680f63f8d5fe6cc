// Package pvfs implements the pvfs command; cmd/pvfs connects it to cobra.
//
// There is one file per command or family of commands (ls.go, cp.go, names.go, attrs.go, xattr.go, df.go, bench.go). They share
// the others: place.go decides which names are local and which are on a file system, mounts.go finds and mounts that, tree.go
// gives both the same interface, copy.go copies data, explain.go explains errors about names, exit.go turns errors into exit
// codes. internal/cli/program has the parts shared with other programs.
//
// pvfs/client does the work of the commands. The imports of cmd/pvfs decide which network methods there are.
package pvfs
