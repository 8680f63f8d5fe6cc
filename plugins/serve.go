package plugins

import (
	"os"
	"runtime/debug"

	"google.golang.org/grpc"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/plugins/process"
	"github.com/viaduct-hpc/viaduct/plugins/proto"
	"github.com/viaduct-hpc/viaduct/plugins/service"
)

// Serve is the main function of a plugin binary: it offers the methods of drivers to the
// program that started the process. It never returns. Started by hand, the process says
// what it is and ends.
//
// What is printed, and what is logged, goes to the log of the program.
func Serve(drivers ...bmi.Driver) {
	process.Serve(func(r grpc.ServiceRegistrar, in *process.Inherited) {
		cfg := service.Config{Drivers: drivers, Version: buildVersion(), Log: process.NewLogger(os.Stderr)}
		if in != nil {
			cfg.Descriptors = in.Descriptors
		}
		proto.RegisterMethodServer(r, service.New(cfg))
	})
}

// buildVersion is that of this binary, as the go command noted it.
func buildVersion() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "unknown"
}
