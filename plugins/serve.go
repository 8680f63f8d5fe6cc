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

// Serve is the main function of a plugin binary. It offers the methods of drivers to the program
// that started the process, and never returns. If a user starts the binary by hand, it explains
// itself and exits.
//
// Output and log records of the process go to the log of the program.
func Serve(drivers ...bmi.Driver) {
	process.Serve(func(r grpc.ServiceRegistrar, in *process.Inherited) {
		cfg := service.Config{Drivers: drivers, Version: buildVersion(), Log: process.NewLogger(os.Stderr)}
		if in != nil {
			cfg.Descriptors = in.Descriptors
		}
		proto.RegisterMethodServer(r, service.New(cfg))
	})
}

// buildVersion returns the version of this binary, as recorded by the go command.
func buildVersion() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "unknown"
}
