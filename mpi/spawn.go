package mpi

import (
	"context"
	"encoding/binary"
	"net"

	"github.com/viaduct-hpc/viaduct/mpi/boot"
	"github.com/viaduct-hpc/viaduct/mpi/errclass"
)

// parentKey is the key under which spawned processes find the port of the processes that spawned
// them.
const parentKey = "mpi-parent-port"

// A Command tells Spawn to start N processes of a program. The launcher interprets hints;
// "wdir" is the working directory (MPI-4.1, 11.8.4).
type Command struct {
	Program string
	Args    []string
	N       int
	Hints   *Info
}

// Spawn starts processes of one or more commands, and joins them with the processes of c to an
// inter-communicator (MPI_Comm_spawn, MPI_Comm_spawn_multiple; MPI-4.1, 11.8.2 and 11.8.3). The new
// processes have one World of their own, with ranks in the order of the commands. All processes of c
// must call it; the commands matter only at the root. The root's ctx limits the wait until the new
// processes are in Init; if it has no deadline, Options.InitTimeMax does. If one of them cannot be
// started or fails in Init, the root's error has class ErrSpawn. codes has an exit code for each
// process that could not be started, if the launcher reports them.
func (c *Comm) Spawn(ctx context.Context, root int, commands ...Command) (inter *Comm, codes []int, err error) {
	name := "MPI_Comm_spawn"
	if len(commands) > 1 {
		name = "MPI_Comm_spawn_multiple"
	}
	defer c.call(name, &err)()
	if err := c.checkJoin(root); err != nil {
		return nil, nil, err
	}
	ctx, cancel := boundedBy(orBackground(ctx), c.p.initTimeMax)
	defer cancel()
	inter, err = c.meetOver(root, func() (net.Conn, error) {
		var conn net.Conn
		var err error
		codes, conn, err = c.p.spawn(ctx, commands)
		return conn, err
	}, ctx)
	if err != nil {
		return nil, codes, err
	}
	err = c.run(background, program{do: func(v *view) error {
		told := make([]byte, 0, 8*len(codes))
		for _, code := range codes {
			told = binary.LittleEndian.AppendUint64(told, uint64(code))
		}
		told, err := v.bcastAll(root, told)
		codes = codes[:0]
		for ; len(told) >= 8; told = told[8:] {
			codes = append(codes, int(int64(binary.LittleEndian.Uint64(told))))
		}
		return err
	}})
	if err != nil {
		_ = inter.free() // the caller does not get it
		return nil, codes, err
	}
	return inter, codes, nil
}

// spawn starts processes, and waits until the first of them connects.
func (p *Process) spawn(ctx context.Context, commands []Command) ([]int, net.Conn, error) {
	s, ok := p.boot.(boot.Spawner)
	if !ok {
		return nil, nil, errclass.New(errclass.UnsupportedOperation, "what started this process starts no others: start all processes at once")
	}
	programs, err := programsOf(commands)
	if err != nil {
		return nil, nil, err
	}
	host, err := listenHost(ctx, p.oneHost())
	if err != nil {
		return nil, nil, errclass.Wrap(errclass.Spawn, err, "no address for the new processes to connect to")
	}
	name, err := p.ports.open(ctx, host)
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = p.ports.close(name) }()
	codes, err := s.SpawnMultiple(ctx, programs, map[string]string{parentKey: name})
	if err != nil {
		return codes, nil, err
	}
	for rank, code := range codes {
		if code != 0 {
			return codes, nil, errclass.New(errclass.Spawn, "process %d of those to be spawned could not be started: code %d", rank, code)
		}
	}
	conn, err := p.ports.accept(ctx, name)
	if err != nil {
		return codes, nil, errclass.Wrap(errclass.Spawn, err, "the processes of %s were started, and did not connect", commands[0].Program)
	}
	return codes, conn, nil
}

// programsOf converts commands to the form for a launcher.
func programsOf(commands []Command) ([]boot.Program, error) {
	if len(commands) == 0 {
		return nil, errclass.New(errclass.Arg, "no command says what to spawn: give one or more")
	}
	programs := make([]boot.Program, len(commands))
	for i, c := range commands {
		if c.N < 1 {
			return nil, errclass.New(errclass.Spawn, "%d processes of %q cannot be started: ask for one or more", c.N, c.Program)
		}
		programs[i] = boot.Program{Path: c.Program, Args: c.Args, N: c.N, Info: c.Hints.Map()}
	}
	return programs, nil
}
