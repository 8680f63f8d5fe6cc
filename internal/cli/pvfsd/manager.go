package pvfsd

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"
	"golang.org/x/sys/unix"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/internal/pvfs/rpc"
	"github.com/viaduct-hpc/viaduct/internal/pvfs/server"
	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// A manager is the service manager that started this server, usually systemd. It is notified when the server is ready,
// reloads or stops. If it has a watchdog, it also gets signs that the server still answers. nil: there is none.
type manager struct {
	log      *slog.Logger
	watchdog time.Duration // how long it waits for a sign of life; 0: for ever
}

// findManager returns the manager that the environment names (sd_notify(3), sd_watchdog_enabled(3)).
func findManager(log *slog.Logger) (*manager, error) {
	if os.Getenv("NOTIFY_SOCKET") == "" {
		return nil, nil
	}
	limit, err := daemon.SdWatchdogEnabled(false)
	if err != nil {
		return nil, fmt.Errorf("the watchdog of the service manager: %w", err)
	}
	return &manager{log: log, watchdog: limit}, nil
}

func (m *manager) tell(state ...string) {
	if m == nil {
		return
	}
	if _, err := daemon.SdNotify(false, strings.Join(state, "\n")); err != nil {
		m.log.Warn("the service manager was not notified", "state", state[0], "err", err)
	}
}

// reloading begins a reload, which ready ends.
func (m *manager) reloading() {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &now); err == nil {
		m.tell(daemon.SdNotifyReloading, fmt.Sprintf("MONOTONIC_USEC=%d", now.Nano()/1000))
	}
}

func (m *manager) ready() { m.tell(daemon.SdNotifyReady) }

// attend begins to follow a running server that listens at addresses. The result is to be called when the server has stopped, and ctx
// has ended.
func (m *manager) attend(ctx context.Context, _ *server.Running, addresses []string) (leave func() error, err error) {
	if m == nil {
		return func() error { return nil }, nil
	}
	check, err := newSelfCheck(ctx, addresses)
	if err != nil {
		return nil, err
	}
	stopped, left := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(left)
		m.follow(ctx, check.ask, stopped)
	}()
	return func() error {
		close(stopped)
		<-left
		return check.close()
	}, nil
}

// asksPerLimit is how often the server sends itself a request within the watchdog's limit: one late answer must not end it.
const asksPerLimit = 3

// follow informs the manager about the state of the server until stopped is closed. ask sends the server a request, and
// returns nil if it answers. The server begins to stop when ctx ends.
func (m *manager) follow(ctx context.Context, ask func(context.Context) error, stopped <-chan struct{}) {
	for told := false; ctx.Err() == nil; {
		err := ask(ctx)
		if ctx.Err() != nil {
			break
		}
		if err != nil {
			m.log.Warn("this server does not answer its own request, so the service manager gets no notification that it works", "err", err)
			sleep(ctx, askAgainAfter)
			continue
		}
		if !told {
			told = true
			m.ready()
		}
		if m.watchdog == 0 {
			<-ctx.Done()
			break
		}
		m.tell(daemon.SdNotifyWatchdog)
		sleep(ctx, m.watchdog/asksPerLimit)
	}
	m.tell(daemon.SdNotifyStopping)
	m.lastSigns(stopped)
}

// askAgainAfter is the pause after a request that got no answer.
const askAgainAfter = 100 * time.Millisecond

// lastSigns satisfies the watchdog while the server stops and takes no new requests. Those under way are ended by --drain.
func (m *manager) lastSigns(stopped <-chan struct{}) {
	if m.watchdog == 0 {
		return
	}
	tick := time.NewTicker(m.watchdog / asksPerLimit)
	defer tick.Stop()
	for {
		select {
		case <-stopped:
			return
		case <-tick.C:
			m.tell(daemon.SdNotifyWatchdog)
		}
	}
}

func sleep(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// A selfCheck sends requests to this server as a client does. The server takes and answers them like any others, so they get
// no answer if the server hangs.
type selfCheck struct {
	ep     *bmi.Endpoint
	caller *rpc.Caller
	to     []bmi.Addr // the addresses of the server; the first that answered, once one has
}

// selfTimeout is how long the server may take to answer.
const selfTimeout = 10 * time.Second

func newSelfCheck(ctx context.Context, addresses []string) (*selfCheck, error) {
	ep, err := bmi.Open(ctx, bmi.Config{})
	if err != nil {
		return nil, err
	}
	c := &selfCheck{ep: ep, caller: rpc.NewCaller(ep, rpc.Options{Timeout: selfTimeout})}
	for _, address := range addresses {
		to, err := ep.Lookup(address)
		if err != nil {
			return nil, errors.Join(err, c.close())
		}
		c.to = append(c.to, to)
	}
	return c, nil
}

// ask sends a request. A refusal is an answer.
func (c *selfCheck) ask(ctx context.Context) error {
	var errs []error
	for _, to := range c.to {
		err := c.caller.Call(ctx, to, nil, &proto.NoopReq{}, &proto.NoopResp{})
		var refused proto.Status
		if err == nil || errors.As(err, &refused) {
			c.to = []bmi.Addr{to}
			return nil
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

func (c *selfCheck) close() error { return errors.Join(c.caller.Close(), c.ep.Close()) }
