package pmi

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/viaduct-hpc/viaduct/internal/mpi/pmi/wire"
	"github.com/viaduct-hpc/viaduct/mpi/boot"
	"github.com/viaduct-hpc/viaduct/mpi/errclass"
)

// The limits of PMI-2 are constants of its C header (PMI2_MAX_KEYLEN, PMI2_MAX_VALLEN), which
// include the zero that ends a text.
const (
	keyMax2   = 64 - 1
	valueMax2 = 1024 - 1
)

// A client2 uses PMI-2.
type client2 struct{ base }

var _ Client = (*client2)(nil)

// newClient2 does the handshake with the launcher in a line, as in PMI-1, and then uses PMI-2.
func newClient2(ctx context.Context, b base, e environment) (*client2, error) {
	c := &client2{base: b}
	c.keyMax, c.valueMax = keyMax2, valueMax2
	if e.fd < 0 {
		return nil, errclass.New(errclass.Other, "PMI-2 needs a descriptor, %s, and there is only %s", FDEnv, PortEnv)
	}
	if err := c.greet(ctx); err != nil {
		return nil, err
	}
	a, err := c.call(ctx, errclass.Other, "starting PMI-2", wire.New("fullinit", "pmijobid", cmp.Or(e.job, "0"), "pmirank", strconv.Itoa(e.rank), "threaded", "FALSE"))
	if err != nil {
		return nil, err
	}
	var ok1, ok2 bool
	c.rank, ok1 = a.Int("rank")
	c.size, ok2 = a.Int("size")
	if !ok1 || !ok2 || c.rank < 0 || c.rank >= c.size || c.size > ranksMax {
		return nil, errclass.New(errclass.Other, "the launcher does not say which process this is: %s", a)
	}
	if c.appNum, ok1 = a.Int("appnum"); !ok1 {
		c.appNum = -1
	}
	if parent, _ := a.Get("spawner-jobid"); parent != "" {
		c.spawned = true
	}
	if a, err = c.call(ctx, errclass.Other, "asking for the job's name", wire.New("job-getid")); err != nil {
		return nil, err
	}
	if c.job, _ = a.Get("jobid"); c.job == "" {
		return nil, errclass.New(errclass.Other, "the launcher has no name for the job: %s", a)
	}
	if a, err = c.call(ctx, errclass.Other, "asking for the universe", wire.New("info-getjobattr", "key", "universeSize")); err == nil {
		c.universe, _ = a.Int("value")
		c.universe = max(c.universe, 0)
	}
	return c, c.broken
}

func (c *client2) greet(ctx context.Context) error {
	line, err := wire.AppendLine(nil, wire.New("init", "pmi_version", "2", "pmi_subversion", "0"))
	if err != nil {
		return err
	}
	var a wire.Command
	err = c.ask(ctx, line, func() (err error) {
		a, err = c.readLine()
		return err
	})
	if err != nil {
		return err
	}
	if version, ok := a.Int("pmi_version"); a.Name != "response_to_init" || !ok || version != 2 {
		return errclass.New(errclass.Other, "the launcher wants another version of PMI: %s", a)
	}
	return failed(a, errclass.Other, "starting PMI-2")
}

// call sends a request, whose answer has its name with -response appended.
func (c *client2) call(ctx context.Context, class errclass.Class, what string, question wire.Command) (a wire.Command, err error) {
	frame, err := wire.AppendFrame(nil, question)
	if err != nil {
		return a, errclass.Wrap(errclass.Arg, err, "%s", what)
	}
	err = c.ask(ctx, frame, func() (err error) {
		if a, err = wire.ReadFrame(c.r); err == nil && a.Name != question.Name+"-response" {
			err = fmt.Errorf("%s: the answer is %s", what, a)
		}
		return err
	})
	if err == nil {
		err = failed(a, class, what)
	}
	return a, err
}

// Put implements boot.Boot.
func (c *client2) Put(ctx context.Context, key, value string) error {
	if err := boot.CheckPair(c, key, value); err != nil {
		return err
	}
	_, err := c.call(ctx, errclass.Arg, "putting "+key, wire.New("kvs-put", "key", key, "value", value))
	return err
}

// Get implements boot.Boot.
func (c *client2) Get(ctx context.Context, key string) (string, error) {
	if err := boot.CheckText("key", key, c.keyMax); err != nil {
		return "", err
	}
	a, err := c.call(ctx, errclass.Arg, "getting "+key, wire.New("kvs-get", "jobid", c.job, "srcid", "-1", "key", key))
	if err != nil {
		return "", err
	}
	found, _ := a.Get("found")
	value, ok := a.Get("value")
	if !ok || !strings.EqualFold(found, "TRUE") {
		return "", errclass.New(errclass.Arg, "no process put the key %q before the latest fence", key)
	}
	return value, nil
}

// unputKey is a key that no process puts.
const unputKey = "viaduct-fence"

// Fence implements boot.Boot. Hydra answers the fence at once. A request for a key that does not
// exist is what waits for the other processes.
func (c *client2) Fence(ctx context.Context) error {
	if err := c.enter(ctx); err != nil {
		return err
	}
	_, err := c.call(ctx, errclass.Other, "waiting for the others", wire.New("kvs-get", "jobid", c.job, "srcid", "-1", "key", unputKey))
	return err
}

// enter makes the pairs that were put visible to the others.
func (c *client2) enter(ctx context.Context) error {
	_, err := c.call(ctx, errclass.Other, "waiting for the others", wire.New("kvs-fence"))
	return err
}

// Finalize implements boot.Boot. Not every launcher waits for the others here.
func (c *client2) Finalize(ctx context.Context) error {
	if err := c.enter(ctx); err != nil {
		return err
	}
	_, err := c.call(ctx, errclass.Other, "leaving", wire.New("finalize"))
	return err
}

// Abort implements boot.Boot. PMI-2 has no exit code, so it is in the text, which some launchers
// show.
func (c *client2) Abort(code int, why string) error {
	text := wire.Words(fmt.Sprintf("exit code %d: %.500s", code, why))
	frame, err := wire.AppendFrame(nil, wire.New("abort", "isworld", "TRUE", "msg", text))
	if err != nil {
		return errclass.Wrap(errclass.Intern, err, "aborting")
	}
	return c.tellAbort(frame, code)
}

// Spawn implements boot.Spawner.
func (c *client2) Spawn(ctx context.Context, cmd string, args []string, n int, info, preput map[string]string) ([]int, error) {
	return c.SpawnMultiple(ctx, []boot.Program{{Path: cmd, Args: args, N: n, Info: info}}, preput)
}

// SpawnMultiple implements boot.Spawner.
func (c *client2) SpawnMultiple(ctx context.Context, programs []boot.Program, preput map[string]string) ([]int, error) {
	n, err := c.checkSpawn(programs, preput)
	if err != nil {
		return nil, err
	}
	pairs := []string{"ncmds", strconv.Itoa(len(programs)), "preputcount", strconv.Itoa(len(preput))}
	for i, p := range sorted(preput) {
		pairs = append(pairs, fmt.Sprintf("ppkey%d", i), p.Key, fmt.Sprintf("ppval%d", i), p.Value)
	}
	for _, p := range programs {
		pairs = append(pairs, "subcmd", p.Path, "maxprocs", strconv.Itoa(p.N), "argc", strconv.Itoa(len(p.Args)))
		for i, arg := range p.Args {
			pairs = append(pairs, fmt.Sprintf("argv%d", i), arg)
		}
		pairs = append(pairs, "infokeycount", strconv.Itoa(len(p.Info)))
		for i, info := range sorted(p.Info) {
			pairs = append(pairs, fmt.Sprintf("infokey%d", i), info.Key, fmt.Sprintf("infoval%d", i), info.Value)
		}
	}
	a, err := c.call(ctx, errclass.Spawn, "spawning "+programs[0].Path, wire.New("spawn", pairs...))
	if err != nil {
		return nil, err
	}
	codes, _ := a.Get("errcodes")
	return codesOf(codes, n), nil
}

// Publish implements boot.Namer.
func (c *client2) Publish(ctx context.Context, service, port string) error {
	_, err := c.call(ctx, errclass.Service, "publishing "+service, wire.New("name-publish", "name", service, "port", port))
	return err
}

// Unpublish implements boot.Namer.
func (c *client2) Unpublish(ctx context.Context, service string) error {
	_, err := c.call(ctx, errclass.Service, "unpublishing "+service, wire.New("name-unpublish", "name", service))
	return err
}

// Lookup implements boot.Namer.
func (c *client2) Lookup(ctx context.Context, service string) (string, error) {
	a, err := c.call(ctx, errclass.Name, "looking up "+service, wire.New("name-lookup", "name", service))
	if err != nil {
		return "", err
	}
	port, ok := a.Get("port")
	if !ok {
		port, ok = a.Get("value") // Slurm's name for it
	}
	if !ok {
		return "", errclass.New(errclass.Name, "no port is published as %q", service)
	}
	return port, nil
}
