package info

import (
	"os"
	"runtime"
	"strconv"
	"strings"
)

// Env returns what is known of how this process was started: "command" and "argv", and where they
// are not too long, "wdir", "host" and "arch"; "thread_level" is always that of MPI_THREAD_MULTIPLE
// (MPI_Info_create_env, MPI_INFO_ENV; MPI-4.1, 10.2). How many processes there are is in the
// communicators.
func Env() *Info {
	in := new(Info)
	host, _ := os.Hostname() // a value that is not known is left out
	dir, _ := os.Getwd()
	for _, p := range []pair{
		{"command", os.Args[0]}, {"argv", strings.Join(os.Args[1:], " ")}, {"wdir", dir}, {"host", host}, {"arch", runtime.GOARCH},
		{"thread_level", "MPI_THREAD_MULTIPLE"},
	} {
		if p.value != "" {
			_ = in.Set(p.key, p.value) // fails for a value that is too long, and is then left out
		}
	}
	return in
}

// HWResources tells which hardware resources are known, and whether this process is restricted to
// one of them (MPI_Get_hw_resource_info; MPI-4.1, 9.1.4): "mpi_shared_memory" is the host;
// "viaduct://processor" is a processor; the process is restricted to it if it may use no other.
func HWResources() *Info {
	in := new(Info)
	_ = in.Set("mpi_shared_memory", "true") // neither key nor value can be wrong
	_ = in.Set("viaduct://processor", strconv.FormatBool(runtime.NumCPU() == 1))
	return in
}
