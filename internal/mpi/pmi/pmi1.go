package pmi

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/viaduct-hpc/viaduct/internal/mpi/pmi/wire"
	"github.com/viaduct-hpc/viaduct/mpi/boot"
	"github.com/viaduct-hpc/viaduct/mpi/errclass"
)

// A client1 uses PMI-1.
type client1 struct{ base }

var _ Client = (*client1)(nil)

// newClient1 does the handshake with the launcher and asks it for the job's parameters.
func newClient1(ctx context.Context, b base, e environment) (*client1, error) {
	c := &client1{base: b}
	if e.fd < 0 {
		if err := c.introduce(ctx, e.id); err != nil {
			return nil, err
		}
	}
	a, err := c.call(ctx, "response_to_init", errclass.Other, "starting PMI-1", wire.New("init", "pmi_version", "1", "pmi_subversion", "1"))
	if err != nil {
		return nil, err
	}
	if version, ok := a.Int("pmi_version"); !ok || version != 1 {
		return nil, errclass.New(errclass.Other, "the launcher wants another version of PMI: %s", a)
	}
	a, err = c.call(ctx, "maxes", errclass.Other, "asking for limits", wire.New("get_maxes"))
	if err != nil {
		return nil, err
	}
	keys, ok1 := a.Int("keylen_max")
	values, ok2 := a.Int("vallen_max")
	if !ok1 || !ok2 || keys < 8 || values < 8 {
		return nil, errclass.New(errclass.Other, "the launcher's limits make no sense: %s", a)
	}
	// They include the zero that ends a text in C, and a line must hold both.
	c.keyMax, c.valueMax = min(keys-1, 1<<10), min(values-1, wire.LineBytesMax/2)
	a, err = c.call(ctx, "my_kvsname", errclass.Other, "asking for the job's name", wire.New("get_my_kvsname"))
	if err != nil {
		return nil, err
	}
	if c.job, _ = a.Get("kvsname"); c.job == "" {
		return nil, errclass.New(errclass.Other, "the launcher has no name for the job: %s", a)
	}
	c.appNum = c.ask1(ctx, "get_appnum", "appnum", "appnum", -1)
	c.universe = c.ask1(ctx, "get_universe_size", "universe_size", "size", 0)
	return c, c.broken
}

// ask1 asks for a number that a launcher may not know.
func (c *client1) ask1(ctx context.Context, question, answer, key string, fallback int) int {
	a, err := c.call(ctx, answer, errclass.Other, question, wire.New(question))
	n, ok := a.Int(key)
	if err != nil || !ok || n < fallback {
		return fallback
	}
	return n
}

// introduce tells the launcher which process this is, over a new connection. The answer is three
// more lines.
func (c *client1) introduce(ctx context.Context, id int) error {
	question, err := wire.AppendLine(nil, wire.New("initack", "pmiid", strconv.Itoa(id)))
	if err != nil {
		return err
	}
	var refused error
	err = c.ask(ctx, question, func() error {
		a, err := c.readLine()
		if err != nil {
			return err
		}
		if a.Name != "initack" {
			return fmt.Errorf("initack is answered by %s", a)
		}
		if refused = failed(a, errclass.Other, "joining the job"); refused != nil {
			return nil
		}
		for _, key := range []string{"size", "rank", "debug"} {
			if a, err = c.readLine(); err != nil {
				return err
			}
			n, ok := a.Int(key)
			switch {
			case a.Name != "set" || !ok || n < 0 || n > ranksMax:
				return fmt.Errorf("%s instead of %s", a, key)
			case key == "size":
				c.size = n
			case key == "rank":
				c.rank = n
			}
		}
		return nil
	})
	if err == nil && refused != nil {
		return refused
	}
	if err == nil && c.rank >= c.size {
		return errclass.New(errclass.Other, "the launcher says that this is rank %d of %d", c.rank, c.size)
	}
	return err
}

// call sends a request and checks the name of its answer. It returns an error if the answer
// refuses.
func (c *client1) call(ctx context.Context, answer string, class errclass.Class, what string, question wire.Command) (wire.Command, error) {
	line, err := wire.AppendLine(nil, question)
	if err != nil {
		return wire.Command{}, errclass.Wrap(errclass.Arg, err, "%s", what)
	}
	return c.callRaw(ctx, answer, class, what, line)
}

func (c *client1) callRaw(ctx context.Context, answer string, class errclass.Class, what string, question []byte) (a wire.Command, err error) {
	err = c.ask(ctx, question, func() (err error) {
		if a, err = c.readLine(); err == nil && a.Name != answer {
			err = fmt.Errorf("%s: the answer is %s instead of %s", what, a, answer)
		}
		return err
	})
	if err == nil {
		err = failed(a, class, what)
	}
	return a, err
}

// Put implements boot.Boot.
func (c *client1) Put(ctx context.Context, key, value string) error {
	if err := boot.CheckPair(c, key, value); err != nil {
		return err
	}
	_, err := c.call(ctx, "put_result", errclass.Arg, "putting "+key, wire.New("put", "kvsname", c.job, "key", key, "value", value))
	return err
}

// Get implements boot.Boot.
func (c *client1) Get(ctx context.Context, key string) (string, error) {
	if err := boot.CheckText("key", key, c.keyMax); err != nil {
		return "", err
	}
	a, err := c.call(ctx, "get_result", errclass.Arg, "getting "+key, wire.New("get", "kvsname", c.job, "key", key))
	if err != nil {
		return "", err
	}
	value, ok := a.Get("value")
	if !ok {
		return "", errclass.New(errclass.Arg, "no process put the key %q before the latest fence", key)
	}
	return value, nil
}

// Fence implements boot.Boot.
func (c *client1) Fence(ctx context.Context) error {
	_, err := c.call(ctx, "barrier_out", errclass.Other, "waiting for the others", wire.New("barrier_in"))
	return err
}

// Finalize implements boot.Boot.
func (c *client1) Finalize(ctx context.Context) error {
	if err := c.Fence(ctx); err != nil {
		return err
	}
	_, err := c.call(ctx, "finalize_ack", errclass.Other, "leaving", wire.New("finalize"))
	return err
}

// Abort implements boot.Boot.
func (c *client1) Abort(code int, why string) error {
	question := wire.New("abort", "exitcode", strconv.Itoa(code))
	if why = wire.Words(why); why != "" {
		question.Pairs = append(question.Pairs, wire.Pair{Key: "message", Value: fmt.Sprintf("%.500s", why)})
	}
	line, err := wire.AppendLine(nil, question)
	if err != nil {
		return errclass.Wrap(errclass.Intern, err, "aborting")
	}
	return c.tellAbort(line, code)
}

// Spawn implements boot.Spawner.
func (c *client1) Spawn(ctx context.Context, cmd string, args []string, n int, info, preput map[string]string) ([]int, error) {
	return c.SpawnMultiple(ctx, []boot.Program{{Path: cmd, Args: args, N: n, Info: info}}, preput)
}

// SpawnMultiple implements boot.Spawner.
func (c *client1) SpawnMultiple(ctx context.Context, programs []boot.Program, preput map[string]string) ([]int, error) {
	n, err := c.checkSpawn(programs, preput)
	if err != nil {
		return nil, err
	}
	var text []byte
	for i, p := range programs {
		// Every program carries the pairs, because launchers read them in different places.
		text, err = wire.AppendSpawn(text, wire.Spawn{Total: len(programs), Number: i + 1, Processes: p.N, Program: p.Path, Args: p.Args, Preput: sorted(preput), Info: sorted(p.Info)})
		if err != nil {
			return nil, errclass.Wrap(errclass.Spawn, err, "spawning %s", p.Path)
		}
	}
	a, err := c.callRaw(ctx, "spawn_result", errclass.Spawn, "spawning "+programs[0].Path, text)
	if err != nil {
		return nil, err
	}
	codes, _ := a.Get("errcodes")
	return codesOf(codes, n), nil
}

func sorted(m map[string]string) (pairs []wire.Pair) {
	for _, key := range slices.Sorted(maps.Keys(m)) {
		pairs = append(pairs, wire.Pair{Key: key, Value: m[key]})
	}
	return pairs
}

// Publish implements boot.Namer.
func (c *client1) Publish(ctx context.Context, service, port string) error {
	_, err := c.call(ctx, "publish_result", errclass.Service, "publishing "+service, wire.New("publish_name", "service", service, "port", port))
	return err
}

// Unpublish implements boot.Namer.
func (c *client1) Unpublish(ctx context.Context, service string) error {
	_, err := c.call(ctx, "unpublish_result", errclass.Service, "unpublishing "+service, wire.New("unpublish_name", "service", service))
	return err
}

// Lookup implements boot.Namer.
func (c *client1) Lookup(ctx context.Context, service string) (string, error) {
	a, err := c.call(ctx, "lookup_result", errclass.Name, "looking up "+service, wire.New("lookup_name", "service", service))
	if err != nil {
		return "", err
	}
	port, ok := a.Get("port")
	if !ok {
		return "", errclass.New(errclass.Name, "no port is published as %q", service)
	}
	return port, nil
}
