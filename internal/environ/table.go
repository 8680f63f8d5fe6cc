package environ

// The readers of variables.
const (
	methodShm = "via+shm"
	methodUDP = "via+udp"
	methodTCP = "tcps"
	plugin    = "plugins"
	mpi       = "MPI programs"
	mpiexec   = "mpiexec"
	files     = "pvfs, MPI files"
	anyone    = "all commands"
	vipl      = "package vipl"
	tests     = "tests"
)

// table has all variables.
var table = []Variable{
	{Name: "NO_COLOR", Text: "if not empty: no colours", Reader: anyone, Default: "colours on a terminal"},
	{Name: "CLICOLOR", Text: "0: no colours", Reader: anyone, Default: "colours on a terminal"},
	{Name: "CLICOLOR_FORCE", Text: "if not empty and not 0: colours also without a terminal", Reader: anyone},

	{Name: "VIADUCT_SHM_DIR", Text: "directory of the sockets; empty: viaduct in XDG_RUNTIME_DIR, or in /tmp", Reader: methodShm, Default: "XDG_RUNTIME_DIR/viaduct, or /tmp/viaduct-UID"},
	{Name: "VIADUCT_SHM_OPEN_DIR", Text: "directory of names that users have opened to others; empty: /run/viaduct", Reader: methodShm, Default: "/run/viaduct"},
	{Name: "VIADUCT_SHM_OTHER_USERS", Text: "1 opens the names of this process to other users", Reader: methodShm, Default: "names are for processes of the same user"},
	{Name: "VIADUCT_SHM_TRUST", Text: "users to whose open names this process connects, separated by commas", Reader: methodShm, Default: "this user and root"},
	{Name: "VIADUCT_SHM_NO_CMA", Text: "1 disables process_vm_readv and process_vm_writev", Reader: methodShm, Default: "they are used where the kernel has them"},

	{Name: "VIADUCT_UDP_KEY_FILE", Text: "file with the key that all sides share", Reader: methodUDP},
	{Name: "VIADUCT_UDP_KEY", Text: "whether the environment has the key that all sides share", Reader: methodUDP, Secret: true},
	{Name: "VIADUCT_UDP_PRIVATE_KEY_FILE", Text: "file with the private key of this endpoint", Reader: methodUDP},
	{Name: "VIADUCT_UDP_CLIENTS_FILE", Text: "file with the public keys of endpoints that may connect", Reader: methodUDP},
	{Name: "VIADUCT_UDP_SERVERS_FILE", Text: "file with the public keys of endpoints to connect to", Reader: methodUDP},
	{Name: "VIADUCT_UDP_INSECURE", Text: "1: packets are neither authenticated nor encrypted", Reader: methodUDP, Default: "a key is needed"},
	{Name: "VIADUCT_UDP_DATA_PORT", Text: "second UDP port of a listening endpoint; empty: any", Reader: methodUDP, Default: "any"},

	{Name: "VIADUCT_TLS_SECRET", Text: "file with a key that both sides share", Reader: methodTCP},
	{Name: "VIADUCT_TLS_CERT", Text: "file with the certificate of this side, PEM", Reader: methodTCP},
	{Name: "VIADUCT_TLS_KEY", Text: "file with the private key of the certificate, PEM", Reader: methodTCP},
	{Name: "VIADUCT_TLS_CA", Text: "file with the certificates of accepted authorities, PEM", Reader: methodTCP},
	{Name: "VIADUCT_TLS_SERVER_NAME", Text: "name or address that the certificate of a dialled server must carry; empty: any", Reader: methodTCP, Default: "any"},

	{Name: "BMI_PLUGINS", Text: "plugins that are loaded at the first opening of an endpoint: files or folders, separated by colons", Reader: plugin, Default: "none"},
	{Name: "BMI_PLUGIN_ENV", Text: "names of environment variables that plugins inherit, separated by commas", Reader: plugin, Default: "none"},
	{Name: "BMI_METHOD_PLUGIN", Text: "says that a program was started as a plugin", Reader: plugin, Kind: Internal},
	{Name: "BMI_PLUGIN_SOCKET", Text: "descriptor over which a plugin gets shared memory", Reader: plugin, Kind: Internal},

	{Name: "MPI_METHOD", Text: "methods that messages travel by, best first", Reader: mpi, Default: "via+shm on one host, else the best for which there is a key"},
	{Name: "MPI_LISTEN_HOST", Text: "name or address at which other hosts reach this one; empty: found automatically", Reader: mpi, Default: "the address of the route to the others"},
	{Name: "MPI_TUNING", Text: "file with algorithms of collective operations; that of rank 0 counts", Reader: mpi, Default: "built-in rules"},
	{Name: "MPI_RANKS_PER_HOST", Text: "consecutive ranks that collective operations and topologies treat as one host; 0: hosts are what they are; that of rank 0 counts", Reader: mpi, Default: "those that do"},
	{Name: "MPI_PMI", Text: "version of PMI to speak, 1, 2 or pmix; none: run alone; empty: what the launcher seems to be", Reader: mpi, Default: "what the launcher seems to be"},
	{Name: "MPI_PMIX_HELPER", Text: "path of viaduct-pmix; empty: beside the program, or in PATH", Reader: mpi, Default: "beside the program, or in PATH"},
	{Name: "MPI_PMIX_LIBRARY", Text: "libpmix that viaduct-pmix loads; empty: the system's libpmix.so.2", Reader: mpi, Default: "the system's libpmix.so.2"},
	{Name: "VIADUCT_JOB_KEY_FILE", Text: "file with the key of the job", Reader: mpi},
	{Name: "VIADUCT_JOB_KEY", Text: "whether the environment had the key of the job, which Init removes", Reader: mpi, Secret: true, Kind: Internal},
	{Name: "PMI_FD", Text: "descriptor of the connection to the launcher", Reader: mpi, Kind: Launcher},
	{Name: "PMI_PORT", Text: "address of the launcher, HOST:PORT", Reader: mpi, Kind: Launcher},
	{Name: "PMI_ID", Text: "number of this process, for a launcher with PMI_PORT", Reader: mpi, Kind: Launcher},
	{Name: "PMI_RANK", Text: "number of this process", Reader: mpi, Kind: Launcher},
	{Name: "PMI_SIZE", Text: "number of processes", Reader: mpi, Kind: Launcher},
	{Name: "PMI_SPAWNED", Text: "1: other processes have started this job", Reader: mpi, Kind: Launcher},
	{Name: "PMI_JOBID", Text: "name of the job", Reader: mpi, Kind: Launcher},
	{Name: "PMIX_NAMESPACE", Text: "name of the job, from a launcher with PMIx", Reader: mpi, Kind: Launcher},
	{Name: "PMIX_RANK", Text: "number of this process, from a launcher with PMIx", Reader: mpi, Kind: Launcher},
	{Name: "MPI_LOCALRANKID", Text: "number of this process on its host; mpiexec sets it", Reader: "programs", Kind: Launcher},
	{Name: "MPI_LOCALNRANKS", Text: "number of processes of the job on this host; mpiexec sets it", Reader: "programs", Kind: Launcher},
	{Name: "VIADUCT_LAUNCH_GUARD", Text: "says that mpiexec was started to end a job whose mpiexec was killed", Reader: mpiexec, Kind: Internal},

	{Name: "VIADUCT_METRICS", Text: "where the process serves metrics, and what it does: :9100, HOST:9100, :9100-9199, unix:/PATH or dir:/FOLDER", Reader: "programs that link package watch, bmi top", Default: "nowhere"},
	{Name: "VIADUCT_TRACE", Text: "file for a trace of the process's messages and calls; %r is its rank, %h its host, %p its number", Reader: anyone, Default: "no trace"},

	{Name: "PVFS2TAB_FILE", Text: "file with the mount points of PVFS file systems; empty: /etc/pvfs2tab", Reader: files, Default: "/etc/pvfs2tab"},
	{Name: "PVFS2KEY_FILE", Text: "private key of the user, for PVFS servers", Reader: files, Default: ".pvfs2-cert-key.pem in the home directory"},
	{Name: "PVFS2CERT_FILE", Text: "certificate of the user, for PVFS servers; empty: .pvfs2-cert.pem in the home directory", Reader: files, Default: ".pvfs2-cert.pem in the home directory"},
	{Name: "PVFS_MOUNT_READY", Text: "descriptor to which pvfs mount --background says that it is ready", Reader: "pvfs", Kind: Internal},

	{Name: "VIADUCT_VIHOSTS", Text: "file with names and addresses of VI hosts, for programs that use the package without a method", Reader: vipl},

	{Name: "VIADUCT_METHODTEST_SERVE", Text: "address at which a process that the conformance suite starts listens", Reader: "package methodtest", Kind: Internal},
	{Name: "ORANGEFS_PREFIX", Text: "where OrangeFS is installed, for tests with its programs", Reader: tests, Kind: Test},
	{Name: "ORANGEFS_CERT_PREFIX", Text: "where OrangeFS with certificates is installed", Reader: tests, Kind: Test},
	{Name: "VIADUCT_SHARED", Text: "folder with captured messages of OrangeFS", Reader: tests, Kind: Test},
	{Name: "VIADUCT_MACHINE", Text: "a digest of what the machine has for tests, so that go test repeats those that need something else now; make test sets it", Reader: tests, Kind: Test},
	{Name: "VIADUCT_MUST", Text: "what tests must not skip for want of: all, or names of package need; -NAME takes one out", Reader: tests, Kind: Test},
	{Name: "VIADUCT_PICTURES", Text: "folder for the screenshots of the live page", Reader: tests, Kind: Test},
	{Name: "VIADUCT_STRANGERS", Text: "how many requests the test of hostile clients sends", Reader: tests, Kind: Test},
	{Name: "VIADUCT_KILLS", Text: "how many processes the tests of killed processes kill", Reader: tests, Kind: Test},
	{Name: "VIADUCT_MUTATIONS", Text: "how many mutations tests of damaged messages try", Reader: tests, Kind: Test},
}
