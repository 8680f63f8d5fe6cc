// Command bmi-method-via is a plugin with the methods via+shm and via+udp, for programs that run
// them in another process (package plugins, bmi plugins).
package main

import (
	"github.com/viaduct-hpc/viaduct/bmi"
	_ "github.com/viaduct-hpc/viaduct/methods/via" // via+shm, via+udp
	"github.com/viaduct-hpc/viaduct/plugins"
)

func main() { plugins.Serve(bmi.Drivers()...) }
