package pmi

import (
	"context"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/viaduct-hpc/viaduct/internal/environ"
	"github.com/viaduct-hpc/viaduct/mpi/boot"
	"github.com/viaduct-hpc/viaduct/mpi/errclass"
)

// Environment variables that this package reads. It also reads those of other launchers, which show
// that a process was started in an unsupported way.
const (
	// FDEnv is the number of a descriptor for the launcher; RankEnv and SizeEnv are this process's
	// rank and the number of processes.
	FDEnv   = "PMI_FD"
	RankEnv = "PMI_RANK"
	SizeEnv = "PMI_SIZE"
	// PortEnv, HOST:PORT, is where the launcher listens if there is no descriptor, and IDEnv is the
	// process's id there.
	PortEnv = "PMI_PORT"
	IDEnv   = "PMI_ID"
	// SpawnedEnv is 1 in spawned processes.
	SpawnedEnv = "PMI_SPAWNED"
	// JobEnv is the job under Slurm, which uses PMI-2.
	JobEnv = "PMI_JOBID"
	// VersionEnv is the version of PMI to use, 1, 2 or "pmix", instead of the one that the launcher seems
	// to have. With "none", each process is a separate job.
	VersionEnv = "MPI_PMI"
	// KeyEnv is the secret key of the job, as package sharedkey reads it; FromEnvironment removes it after
	// reading it. KeyFileEnv is a file with the key, which only its owner may be able to read.
	KeyEnv     = "VIADUCT_JOB_KEY"
	KeyFileEnv = "VIADUCT_JOB_KEY_FILE"
)

// A Client is a process's connection to its launcher.
type Client interface {
	boot.Spawner
	boot.Namer
	// AppNum returns the number of this process's program on the job's command line, from 0; -1 if
	// the launcher does not tell (MPI-4.1, 11.10.3).
	AppNum() int
	// UniverseSize returns the largest number of processes; 0 if the launcher does not tell
	// (MPI-4.1, 11.10.1).
	UniverseSize() int
}

// ranksMax limits the size of a job in an environment or a launcher's answer.
const ranksMax = 1 << 20

// programsMax limits the programs of a spawn, as Viaduct's own launcher does.
const programsMax = 64

// FromEnvironment connects to the launcher that started this process. If there is none, ok is
// false: the process is a job of its own. It can be called only once in a process, because it uses
// up the launcher's connection. It removes from the environment what programs which this process
// starts must not inherit: the key of the job, and with PMIx the place in the job.
func FromEnvironment(ctx context.Context) (c Client, ok bool, err error) {
	c, ok, err = Connect(ctx, func(key string) string {
		value := environ.Getenv(key)
		if key == KeyEnv {
			_ = os.Unsetenv(key) // fails only for invalid names
		}
		return value
	})
	_ = os.Unsetenv(pmixRankEnv)
	_ = os.Unsetenv(pmixNamespaceEnv)
	return c, ok, err
}

// Connect is FromEnvironment with an environment from the caller.
func Connect(ctx context.Context, getenv func(string) string) (c Client, ok bool, err error) {
	version := getenv(VersionEnv)
	switch version {
	case "", "1", "2":
	case "pmix":
		return connectPMIx(ctx, getenv)
	case "none":
		return nil, false, nil
	default:
		return nil, false, errclass.New(errclass.Other, "%s=%q: set it to 1, 2, pmix or none, or not at all", VersionEnv, version)
	}
	if getenv(FDEnv) == "" && getenv(PortEnv) == "" {
		if version == "" && underPMIx(getenv) {
			return connectPMIx(ctx, getenv)
		}
		return nil, false, notOurs(getenv)
	}
	e, err := parseEnvironment(getenv)
	if err != nil {
		return nil, false, err
	}
	secret, err := Secret(getenv)
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

// environment has the launcher's variables.
type environment struct {
	fd         int    // -1 means port
	port       string // HOST:PORT
	id         int    // for port
	rank, size int    // size 0: the launcher sends it later
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

// notOurs returns an error if a launcher without PMI-1, PMI-2 and PMIx started the process together with
// others. Without the error, each process would wrongly run as a job of one.
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
		return errclass.New(errclass.Other, format, "srun", "use srun --mpi=pmi2 or --mpi=pmix", VersionEnv)
	}
	return nil
}

// describe names an unexpected answer of a launcher.
func describe(text string) string {
	if text == "" {
		return "it does not say why"
	}
	if !strings.Contains(text, " ") { // some launchers write words like this
		text = strings.ReplaceAll(text, "_", " ")
	}
	return fmt.Sprintf("%.400q", text)
}
