// Package version says which build of this module a program is. It is the only place that reads what the go command
// stamps into a binary.
package version

import (
	"fmt"
	"runtime"
	"runtime/debug"
)

// String is the version of the module that the program belongs to: its tag, such as v0.3.0, or a version of the go
// command for a commit without a tag, such as v0.3.1-0.20261126170000-7cfbedd01234, with +dirty if the tree had other
// changes. A build that knows only its commit returns that.
func String() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "(unknown)"
	}
	return of(info)
}

func of(info *debug.BuildInfo) string {
	if info.Main.Version != "" && info.Main.Version != "(devel)" {
		return info.Main.Version
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			return s.Value
		}
	}
	return "(development)"
}

// Line is what a program prints when it is asked for its version.
func Line(program string) string {
	return fmt.Sprintf("%s %s %s %s/%s\n", program, String(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
}
