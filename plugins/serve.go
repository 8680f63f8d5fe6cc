package plugins

import (
	"io"
	"os"
	"path/filepath"

	"google.golang.org/grpc"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/internal/plugins/process"
	"github.com/viaduct-hpc/viaduct/internal/plugins/service"
	"github.com/viaduct-hpc/viaduct/internal/version"
	"github.com/viaduct-hpc/viaduct/plugins/proto"
)

// Serve is the main function of a plugin binary. It offers the methods of drivers to the program
// that started the process, and never returns. If a user starts the binary by hand, it explains
// itself and exits; with --version it prints the version of its module.
//
// Output and log records of the process go to the log of the program.
func Serve(drivers ...bmi.Driver) {
	if len(os.Args) == 2 && os.Args[1] == "--version" {
		_, _ = io.WriteString(os.Stdout, version.Line(filepath.Base(os.Args[0])))
		os.Exit(0)
	}
	process.Serve(func(r grpc.ServiceRegistrar, in *process.Inherited) {
		cfg := service.Config{Drivers: drivers, Version: version.String(), Log: process.NewLogger(os.Stderr)}
		if in != nil {
			cfg.Descriptors = in.Descriptors
		}
		proto.RegisterMethodServer(r, service.New(cfg))
	})
}
