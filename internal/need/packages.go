package need

// packages are Debian's packages of the programs and other needs that tests have. An empty name: Debian
// has none.
var packages = map[string]string{
	"cc":              "gcc libc6-dev",
	"chromium":        "chromium",
	"fio":             "fio",
	"fusermount3":     "fuse3",
	"gcc":             "gcc libc6-dev",
	"ip":              "iproute2",
	"man":             "man-db",
	"mandoc":          "mandoc",
	"mpicc.mpich":     "libmpich-dev",
	"mpiexec.hydra":   "mpich",
	"mpirun.openmpi":  "openmpi-bin",
	"nsenter":         "util-linux",
	"openssl":         "openssl",
	"pkg-config":      "pkg-config",
	"prterun":         "",
	"protoc":          "protobuf-compiler",
	"python3":         "python3",
	"python-grpc":     "python3-grpcio python3-protobuf python3-cryptography",
	"python-mpi4py":   "python3-mpi4py python3-numpy openmpi-bin",
	"qemu-aarch64":    "qemu-user",
	"rpm":             "rpm",
	"salloc":          "slurm-client",
	"setsid":          "util-linux",
	"sinfo":           "slurm-client",
	"slapd":           "slapd",
	"slurmctld":       "slurmctld",
	"slurmd":          "slurmd",
	"spin":            "spin",
	"srun":            "slurm-client",
	"ssh":             "openssh-client",
	"ssh-keygen":      "openssh-client",
	"sshd":            "openssh-server",
	"strace":          "strace",
	"stress-ng":       "stress-ng",
	"systemd-analyze": "systemd",
	"taskset":         "util-linux",
	"tshark":          "tshark",
	"unshare":         "util-linux",
	PMIx:              "libpmix-dev",
	Peers:             "openmpi-bin libopenmpi-dev mpich libmpich-dev ucx-utils libucx-dev libfabric-bin",
	"bash":            "bash",
	"dpkg-deb":        "dpkg",
	"mpicc.openmpi":   "libopenmpi-dev",
	"mpiexec.openmpi": "openmpi-bin",
	"tar":             "tar",
}

// Packages are the names of Debian's packages that a need is met by, separated by spaces; "" if there
// are none.
func Packages(what string) string { return packages[what] }

// optional needs are met on few machines: nothing to install meets them.
func optional(what string) bool {
	p, isProgram := packages[what]
	return isProgram && p == "" || what == UserMounts || what == OrangeFS || what == Captures || what == Peers
}
