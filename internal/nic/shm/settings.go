package shm

import (
	"github.com/viaduct-hpc/viaduct/bmi/about"
	"github.com/viaduct-hpc/viaduct/methods/via/nic"
)

var _ nic.Describer = Provider{}

// Settings implements nic.Describer.
func (Provider) Settings() []about.Setting {
	return []about.Setting{
		about.FromEnv("nic.dir", DirEnv, "directory of the sockets; empty: viaduct in XDG_RUNTIME_DIR, or in /tmp"),
		about.FromEnv("nic.open_dir", OpenDirEnv, "directory of names that users have opened to others; empty: /run/viaduct"),
		about.FromEnv("nic.other_users", OtherUsersEnv, "1 opens the names of this process to other users"),
		about.FromEnv("nic.trust", TrustEnv, "users to whose open names this process connects, separated by commas"),
		about.FromEnv("nic.no_cma", NoCMAEnv, "1 disables process_vm_readv and process_vm_writev"),
	}
}
