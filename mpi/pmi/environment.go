package pmi

import (
	"context"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/viaduct-hpc/viaduct/mpi/boot"
	"github.com/viaduct-hpc/viaduct/mpi/errclass"
)

// Environment variables that this package looks at, beside those of other launchers which
// say that a process was started in a way that it does not know.
const (
	// FDEnv is the number of a descriptor to the launcher, RankEnv and SizeEnv say which
	// process of how many this is.
	FDEnv   = "PMI_FD"
	RankEnv = "PMI_RANK"
	SizeEnv = "PMI_SIZE"
	// PortEnv, HOST:PORT, is where the launcher listens if there is no descriptor, and
	// IDEnv is what to call oneself there.
	PortEnv = "PMI_PORT"
	IDEnv   = "PMI_ID"
	// SpawnedEnv is 1 for processes that were spawned.
	SpawnedEnv = "PMI_SPAWNED"
	// JobEnv is the job under Slurm, which speaks PMI-2.
	JobEnv = "PMI_JOBID"
	// VersionEnv, set to 1 or 2, is the version of PMI to speak, whatever the launcher
	// seems to be; "none" makes each process a job of its own.
	VersionEnv = "MPI_PMI"
	// KeyEnv is the secret key of the job, 64 hexadecimal digits, which FromEnvironment
	// removes once it has read it, and KeyFileEnv a file that has it, which nobody but its
	// owner can read.
	KeyEnv     = "VIADUCT_JOB_KEY"
	KeyFileEnv = "VIADUCT_JOB_KEY_FILE"
)

// A Client is a process's connection to its launcher.
type Client interface {
	boot.Spawner
	boot.Namer
	// AppNum is which program of the job's command line this process runs, from 0; -1 if
	// the launcher does not say (MPI-4.1, 11.10.3).
	AppNum() int
	// UniverseSize is how many processes there may be; 0 if the launcher does not say
	// (MPI-4.1, 11.10.1).
	UniverseSize() int
}

// ranksMax bounds what an environment or a launcher may say of a job's size.
const ranksMax = 1 << 20

// programsMax is how many programs a spawn may name, which is as many as Viaduct's own
// launcher takes.
const programsMax = 64

// FromEnvironment connects to the launcher that started this process. If nobody says that
// one did, ok is false: the process is a job of its own. It can be called once in a
// process, because what the launcher gave it to connect by is used up then. It takes the key of
// the job out of the environment, so that programs which this process starts do not inherit it.
func FromEnvironment(ctx context.Context) (c Client, ok bool, err error) {
	return Connect(ctx, func(key string) string {
		value := os.Getenv(key)
		if key == KeyEnv {
			_ = os.Unsetenv(key) // fails only for bad names
		}
		return value
	})
}

// Connect is FromEnvironment with an environment of the caller's.
func Connect(ctx context.Context, getenv func(string) string) (c Client, ok bool, err error) {
	version := getenv(VersionEnv)
	switch version {
	case "", "1", "2":
	case "none":
		return nil, false, nil
	default:
		return nil, false, errclass.New(errclass.Other, "%s=%q: set it to 1, 2 or none, or not at all", VersionEnv, version)
	}
	if getenv(FDEnv) == "" && getenv(PortEnv) == "" {
		return nil, false, notOurs(getenv)
	}
	e, err := parseEnvironment(getenv)
	if err != nil {
		return nil, false, err
	}
	secret, err := secretOf(getenv)
	if err != nil {
		return nil, false, err
	}
	conn, err := e.connect(ctx)
	if err != nil {
		return nil, false, err
	}
	b := base{link: newLink(conn), rank: e.rank, size: e.size, spawned: e.spawned, secret: secret}
	if version == "2" || version == "" && e.job != "" {
		c, err = newClient2(ctx, b, e)
	} else {
		c, err = newClient1(ctx, b, e)
	}
	if err != nil {
		_ = conn.Close()
		return nil, false, err
	}
	return c, true, nil
}

// environment is what the launcher said.
type environment struct {
	fd         int    // -1: port
	port       string // HOST:PORT
	id         int    // with port
	rank, size int    // size 0: the launcher says it later
	job        string
	spawned    bool
}

func parseEnvironment(getenv func(string) string) (environment, error) {
	e := environment{fd: -1, port: getenv(PortEnv), job: getenv(JobEnv)}
	e.spawned = getenv(SpawnedEnv) != "" && getenv(SpawnedEnv) != "0"
	var err error
	if getenv(FDEnv) == "" {
		e.id, err = number(getenv, IDEnv, 0, ranksMax)
		return e, err
	}
	e.port = ""
	if e.fd, err = number(getenv, FDEnv, 3, 1<<30); err != nil {
		return e, err
	}
	if e.size, err = number(getenv, SizeEnv, 1, ranksMax); err != nil {
		return e, err
	}
	e.rank, err = number(getenv, RankEnv, 0, e.size-1)
	return e, err
}

func number(getenv func(string) string, key string, least, most int) (int, error) {
	n, err := strconv.Atoi(getenv(key))
	if err != nil || n < least || n > most {
		return 0, errclass.New(errclass.Other, "%s=%q is no number from %d to %d: start the program by a launcher, or unset %s to run it alone", key, getenv(key), least, most, FDEnv)
	}
	return n, nil
}

func (e environment) connect(ctx context.Context) (net.Conn, error) {
	if e.fd < 0 {
		conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", e.port)
		if err != nil {
			return nil, errclass.Wrap(errclass.Other, err, "the launcher at %s=%.100q cannot be reached", PortEnv, e.port)
		}
		return conn, nil
	}
	var stat unix.Stat_t
	if err := unix.Fstat(e.fd, &stat); err != nil || stat.Mode&unix.S_IFMT != unix.S_IFSOCK {
		return nil, errclass.New(errclass.Other, "%s=%d is no socket (any longer): a process can connect to its launcher once; a program that it starts must be started without %s", FDEnv, e.fd, FDEnv)
	}
	f := os.NewFile(uintptr(e.fd), "PMI")
	conn, err := net.FileConn(f) // a copy, which programs that this process starts do not inherit
	_ = f.Close()
	if err != nil {
		return nil, errclass.Wrap(errclass.Other, err, "%s=%d cannot be used", FDEnv, e.fd)
	}
	return conn, nil
}

// notOurs is an error if the process was started together with others, by something that
// speaks neither PMI-1 nor PMI-2: it would wrongly believe that it is alone.
func notOurs(getenv func(string) string) error {
	many := func(key string) bool {
		n, err := strconv.Atoi(getenv(key))
		return err == nil && n > 1
	}
	format := "%s started this process as one of several, but offers no PMI: %s; or set %s=none, which makes each of them a job of its own"
	switch {
	case many("OMPI_COMM_WORLD_SIZE"):
		return errclass.New(errclass.Other, format, "Open MPI's mpirun", "use Viaduct's mpiexec, mpiexec.hydra or srun --mpi=pmi2", VersionEnv)
	case getenv("SLURM_PROCID") != "" && many("SLURM_STEP_NUM_TASKS"):
		return errclass.New(errclass.Other, format, "srun", "use srun --mpi=pmi2", VersionEnv)
	}
	return nil
}

// describe names a launcher's answer that is not what was asked for.
func describe(text string) string {
	text = strings.ReplaceAll(text, "_", " ")
	if text == "" {
		return "it does not say why"
	}
	return fmt.Sprintf("%.200q", text)
}
