package plugins_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/bmi/about"
	"github.com/viaduct-hpc/viaduct/bmi/bmitest"
	"github.com/viaduct-hpc/viaduct/internal/plugins/process"
	"github.com/viaduct-hpc/viaduct/internal/plugins/service"
	"github.com/viaduct-hpc/viaduct/internal/wallclock"
	"github.com/viaduct-hpc/viaduct/plugins"
	"github.com/viaduct-hpc/viaduct/plugins/proto"
)

// An imp is the driver of the in-memory method, which does harm when an address that names the harm
// is resolved.
type imp struct{ bmi.Driver }

// whole is all interfaces of the in-memory method.
type whole interface {
	bmi.Method
	bmi.Sleeper
	bmi.Allocator
	bmi.Dropper
	bmi.Checker
	bmi.Ranger
	bmi.Statser
}

func (d imp) Open(ctx context.Context, cfg bmi.MethodConfig) (bmi.Method, error) {
	if o, ok := cfg.Options.(map[string]string); ok {
		if o["refuse"] != "" {
			return nil, fmt.Errorf("%w: refused, as it was asked to", bmi.ErrInvalid)
		}
		cfg.Options = nil
	}
	if file := os.Getenv(refuseEnv); file != "" {
		if _, err := os.Stat(file); err == nil {
			return nil, fmt.Errorf("%w: %s", bmi.ErrNameTaken, cfg.Listen)
		}
	}
	m, err := d.Driver.Open(ctx, cfg)
	if err != nil {
		return nil, err
	}
	return impMethod{m.(whole)}, nil
}

// refuseEnv names a file; while it exists, imps open nothing.
const refuseEnv = "VIADUCT_PLUGIN_REFUSES"

type impMethod struct{ whole }

func (m impMethod) Resolve(address string) (bmi.Addr, error) {
	switch address {
	case "mem://exit":
		os.Exit(0)
	case "mem://panic":
		go panic("an imp in a goroutine")
		wallclock.Forever()
	case "mem://scribble":
		scribble()
	}
	return m.whole.Resolve(address)
}

// scribble writes over the rings of this process.
func scribble() {
	maps, err := os.Open("/proc/self/maps")
	if err != nil {
		panic(err)
	}
	defer maps.Close()
	mem, err := os.OpenFile("/proc/self/mem", os.O_RDWR, 0)
	if err != nil {
		panic(err)
	}
	defer mem.Close()
	for lines := bufio.NewScanner(maps); lines.Scan(); {
		if !strings.Contains(lines.Text(), "rings") {
			continue
		}
		from, to, _ := strings.Cut(strings.Fields(lines.Text())[0], "-")
		start, _ := strconv.ParseInt(from, 16, 64)
		end, _ := strconv.ParseInt(to, 16, 64)
		garbage := make([]byte, end-start-4096)
		for i := range garbage {
			garbage[i] = 0xa5
		}
		_, _ = mem.WriteAt(garbage, start+4096) // a session that noticed may be gone already
	}
}

func init() {
	roles["imp"] = func() { plugins.Serve(imp{driverOf(bmitest.Name)}) }
	roles["liar"] = func() {
		process.Serve(func(r grpc.ServiceRegistrar, in *process.Inherited) {
			cfg := service.Config{Drivers: []bmi.Driver{driverOf(bmitest.Name)}, Descriptors: in.Descriptors}
			proto.RegisterMethodServer(r, liar{service.New(cfg)})
		})
	}
}

// lieEnv is the variable that selects the false answer of a liar.
const lieEnv = "VIADUCT_PLUGIN_LIE"

// A liar is a service whose answers are false.
type liar struct{ *service.Server }

func (l liar) Describe(ctx context.Context, q *proto.DescribeRequest) (*proto.DescribeReply, error) {
	r, err := l.Server.Describe(ctx, q)
	switch os.Getenv(lieEnv) {
	case "nothing":
		r.Methods = nil
	case "no name":
		r.Methods[0].Name = ""
	case "bad name":
		r.Methods[0].Name = "a://b"
	case "long name":
		r.Methods[0].Name = strings.Repeat("x", 1<<20)
	case "twice":
		r.Methods = append(r.Methods, r.Methods[0])
	case "many":
		for i := range 1000 {
			r.Methods = append(r.Methods, &proto.Offer{Name: fmt.Sprintf("m%d", i)})
		}
	case "rings":
		r.RingsVersion = 77
	case "hangs":
		wallclock.Forever()
	case "panics":
		panic("a liar")
	case "cancels":
		return nil, impatient(ctx, codes.Canceled)
	case "gives up":
		return nil, impatient(ctx, codes.DeadlineExceeded)
	}
	return r, err
}

func (l liar) Open(ctx context.Context, q *proto.OpenRequest) (*proto.OpenReply, error) {
	r, err := l.Server.Open(ctx, q)
	if err != nil || r.GetInfo() == nil {
		return r, err
	}
	i := r.Info
	switch os.Getenv(lieEnv) {
	case "no info":
		r.Info = nil
	case "sizes":
		i.MaxExpectedSize, i.MaxUnexpectedSize, i.EagerSize, i.MaxPieces = 1<<64-1, 1<<64-1, 1<<64-1, 0
	case "texts":
		i.Description, i.Provider = strings.Repeat("\x1b[2J", 1000), "a\nb"
	case "address":
		i.Addresses = []string{"tcp://other"}
	case "addresses":
		for range 1000 {
			i.Addresses = append(i.Addresses, "mem://x")
		}
	case "status":
		r.Failure = &proto.Failure{Status: 4711, Text: strings.Repeat("y", 1<<20)}
	}
	return r, nil
}

// impatient returns the error of a call whose deadline passed. The gRPC of either side may notice
// that before the program does.
func impatient(ctx context.Context, code codes.Code) error {
	at, _ := ctx.Deadline()
	early, cancel := context.WithDeadline(context.Background(), at.Add(-100*time.Millisecond))
	defer cancel()
	<-early.Done()
	return status.Error(code, "no time left")
}

func (l liar) Resolve(ctx context.Context, q *proto.ResolveRequest) (*proto.ResolveReply, error) {
	if os.Getenv(lieEnv) == "gives up on a question" {
		return nil, impatient(ctx, codes.DeadlineExceeded)
	}
	r, err := l.Server.Resolve(ctx, q)
	if os.Getenv(lieEnv) == "resolve" {
		r.Address = "tcp://elsewhere"
	}
	return r, err
}

func (l liar) Ping(ctx context.Context, q *proto.PingRequest) (*proto.PingReply, error) {
	if os.Getenv(lieEnv) == "gives up on a ping" {
		return nil, impatient(ctx, codes.DeadlineExceeded)
	}
	return l.Server.Ping(ctx, q)
}

func (l liar) Stats(ctx context.Context, q *proto.StatsRequest) (*proto.StatsReply, error) {
	r, err := l.Server.Stats(ctx, q)
	switch os.Getenv(lieEnv) {
	case "stats":
		r.Json = []byte(`{"Method": 7`)
	case "counts":
		r.Json = []byte(`{"Method": {"Own": [{"Name": "nic.good", "Text": "fine", "Values": [5]}, {"Name": "nic.bad", "Class": 200, "Values": [1]},
			{"Name": "\u001b[2J", "Values": [1]}, {"Name": "nic.none"}]}}`)
	}
	return r, err
}

// TestHarm: a plugin that exits, panics or overwrites the rings harms nothing else. Its operations
// end once and say what happened.
func TestHarm(t *testing.T) {
	t.Parallel()
	for what, text := range map[string]string{
		"exit":     "ended: exit status 0",
		"panic":    "panic: an imp in a goroutine",
		"scribble": "was killed",
	} {
		t.Run(what, func(t *testing.T) {
			o, far := apart(t, "imp")
			plugins.Patient(&o, patience)
			if what == "scribble" {
				o.HangTimeout = hang // a Ping notices that a loop has ended
			}
			p := load(t, o)
			a, b := open(t, far), open(t, far)
			talk(t, a, b, 100)
			ops := a.posted(a.to(b), 1)
			asked := make(chan struct{})
			go func() {
				defer close(asked)
				_, _ = b.Lookup(far + "://" + what)
			}()
			defer func() { <-asked }()
			if what == "scribble" {
				// The other side of the rings also sees the garbage, and may have ended some
				// operations before this one does.
				for _, op := range ops {
					c := a.wait(op, nil)
					require.Error(t, c.Err)
					if !errors.Is(c.Err, bmi.ErrClosed) {
						require.ErrorIs(t, c.Err, plugins.ErrDied)
						require.ErrorContains(t, c.Err, text)
					}
				}
			} else {
				a.requireDied(ops, text)
			}
			eventually(t, "another process", func() bool { return p.Restarts() == 1 })
			talkAgain(t, a, b)
		})
	}
}

// TestLiesAtLoad: a plugin's description of itself is checked.
func TestLiesAtLoad(t *testing.T) {
	for lie, text := range map[string]string{
		"nothing":   "plugin test offers 0 methods, want 1 to 64",
		"no name":   `plugin test offers a method "": that is not a valid name`,
		"bad name":  `plugin test offers a method "a://b": that is not a valid name`,
		"long name": "that is not a valid name",
		"twice":     "plugin test offers two methods far, give one another name (Options.Names)",
		"many":      "plugin test offers 1001 methods, want 1 to 64",
		"rings":     "plugin test has version 77 of the rings, this program 1: build both from the same release, or use Options.NoRings",
		"panics":    "plugin test does not say what it offers",
	} {
		t.Run(lie, func(t *testing.T) {
			_, err := plugins.Load(t.Context(), self(t), lies(lie))
			require.ErrorIs(t, err, plugins.ErrRefused)
			require.ErrorContains(t, err, text)
			require.Less(t, len(err.Error()), 4096)
		})
	}
}

// lies returns the options of a liar.
func lies(about string) plugins.Options {
	o := options("liar")
	tell(&o, about)
	return o
}

// tell makes a liar lie about something.
func tell(o *plugins.Options, about string) { o.Env = append(o.Env, lieEnv+"="+about) }

// TestLiesAtOpen: a plugin's description of a method is checked.
func TestLiesAtOpen(t *testing.T) {
	for lie, text := range map[string]string{
		"no info":   "plugin test opened its method mem and does not say what it can do",
		"address":   `the plugin says "tcp://other", which is no address of its method mem`,
		"addresses": "plugin test says 1001 addresses",
		"status":    "yyyy",
	} {
		t.Run(lie, func(t *testing.T) {
			load(t, lies(lie))
			_, err := bmi.Open(t.Context(), bmi.Config{Listen: []string{"far://x"}})
			require.ErrorContains(t, err, text)
			require.Less(t, len(err.Error()), 4096)
		})
	}
}

// TestLimitsAreCut: limits are reduced to the room in the shared memory, texts to a readable
// length.
func TestLimitsAreCut(t *testing.T) {
	load(t, lies("sizes"))
	i := open(t, far).Info()[0]
	require.Equal(t, 32<<20, i.MaxExpectedSize, "half of the arena")
	require.Less(t, i.MaxUnexpectedSize, 1<<18)
	require.Equal(t, i.MaxExpectedSize, i.EagerSize)
	require.Equal(t, 1, i.MaxPieces)

	o := lies("texts")
	o.Names = map[string]string{bmitest.Name: "texts"}
	load(t, o)
	i = open(t, "texts").Info()[0]
	require.Equal(t, "a?b", i.Provider)
	require.Len(t, i.Description, 256)
	require.NotContains(t, i.Description, "\x1b")
}

// TestLiesLater: invalid answers are errors, or ignored.
func TestLiesLater(t *testing.T) {
	load(t, lies("resolve"))
	_, err := open(t, far).Lookup(far + "://x")
	require.ErrorContains(t, err, `the plugin says "tcp://elsewhere", which is no address of its method mem`)

	o := lies("stats")
	o.Names = map[string]string{bmitest.Name: "stats"}
	load(t, o)
	a, b := open(t, "stats"), open(t, "stats")
	talk(t, a, b, 10)
	require.Empty(t, a.Stats().Peers)

	o = lies("counts")
	o.Names = map[string]string{bmitest.Name: "counts"}
	load(t, o)
	require.Equal(t, []about.Count{{Name: "nic.good", Text: "fine", Values: []uint64{5}}}, open(t, "counts").Stats().Methods[0].Own)
}

// TestMethodOptions: the options of a plugin's method must be texts.
func TestMethodOptions(t *testing.T) {
	load(t, options("imp"))
	_, err := bmi.Open(t.Context(), bmi.Config{Methods: []string{far}, Options: map[string]any{far: 7}})
	require.ErrorIs(t, err, bmi.ErrInvalid)
	require.ErrorContains(t, err, "options of type int, a plugin's method takes map[string]string")
	_, err = bmi.Open(t.Context(), bmi.Config{Methods: []string{far}, Options: map[string]any{far: map[string]string{"refuse": "yes"}}})
	require.ErrorIs(t, err, bmi.ErrInvalid)
	require.ErrorContains(t, err, "refused, as it was asked to")
}

// TestCannotBeOpenedAgain: an endpoint that the next process refuses to open returns an error, and
// is opened again later.
func TestCannotBeOpenedAgain(t *testing.T) {
	o := options("imp")
	refuse := t.TempDir() + "/refuse"
	o.Env = append(o.Env, refuseEnv+"="+refuse)
	p := load(t, o)
	a, b := open(t, far), open(t, far)
	toB, toA := a.to(b), b.to(a)
	require.NoError(t, os.WriteFile(refuse, nil, 0o600))
	kill(t, p, 9)
	eventually(t, "posts say why", func() bool {
		c := a.wait(a.ctx.PostSend(toB, 1, []byte("x"), nil))
		require.Error(t, c.Err)
		return strings.Contains(c.Err.Error(), "name is taken")
	})
	require.Equal(t, plugins.Running, p.State())
	require.NoError(t, os.Remove(refuse))
	eventually(t, "a is there again", func() bool {
		c := b.wait(b.ctx.PostSend(toA, 1, []byte("x"), nil))
		d := a.wait(a.ctx.PostSend(toB, 1, []byte("x"), nil))
		return c.Err == nil && d.Err == nil
	})
}
