// Command bmi-method-tcp is a plugin with the methods tcp and tcps, for programs that run them in
// another process (package plugins, bmi plugins).
package main

import (
	"github.com/viaduct-hpc/viaduct/bmi"
	_ "github.com/viaduct-hpc/viaduct/methods/tcp" // tcp, tcps
	"github.com/viaduct-hpc/viaduct/plugins"
)

func main() { plugins.Serve(bmi.Drivers()...) }
