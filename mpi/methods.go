package mpi

import (
	"context"
	"encoding/hex"
	"errors"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/internal/environ"
	"github.com/viaduct-hpc/viaduct/internal/mpi/core"
	"github.com/viaduct-hpc/viaduct/mpi/errclass"
)

// The methods that this package chooses by itself. Other methods are used if the user asks for
// them, or if the program has none of these.
const (
	methodShm = "via+shm"
	methodUDP = "via+udp"
	methodTCP = "tcp"
)

// Environment variables that give via+udp its key. If none of them is set, the key is the job's
// secret.
var udpKeyEnvs = [...]string{"VIADUCT_UDP_KEY", "VIADUCT_UDP_KEY_FILE", "VIADUCT_UDP_INSECURE"}

// Placeholders in a listening address for the parts that differ between processes.
const (
	nameMark = "{name}"
	hostMark = "{host}"
)

// A plan has the methods on which a process listens, best first.
type plan []listening

// A listening is a method of a plan, and how the process listens on it.
type listening struct {
	method string
	// forms are alternative addresses to listen at. The first one that the method accepts is used.
	forms []string
	// near: the method reaches only processes of the same host.
	near bool
}

// A surrounding has the facts that a plan depends on.
type surrounding struct {
	drivers []string // methods that the program has
	oneHost bool     // all processes of the job are on this host
	keyed   bool     // there is a key for via+udp
}

// choosePlan returns the plan of a process: the methods asked for, or those that seem best.
func choosePlan(asked string, s surrounding) (plan, error) {
	if asked != "" {
		return forced(asked)
	}
	if len(s.drivers) == 0 {
		return nil, errclass.New(errclass.Other, `the program has no method for its messages: import _ "github.com/viaduct-hpc/viaduct/methods/via" or .../methods/tcp, or load a plugin`)
	}
	has := func(method string) bool { return slices.Contains(s.drivers, method) }
	var pl plan
	if has(methodShm) {
		pl = append(pl, listen(methodShm))
	}
	if s.oneHost && len(pl) > 0 {
		return pl, nil
	}
	switch {
	case has(methodUDP) && s.keyed:
		pl = append(pl, listen(methodUDP))
	case has(methodTCP):
		pl = append(pl, listen(methodTCP))
	case has(methodUDP):
		pl = append(pl, listen(methodUDP)) // its error says how to set a key
	}
	if len(pl) > 0 {
		return pl, nil
	}
	for _, method := range s.drivers {
		pl = append(pl, listen(method))
	}
	return pl, nil
}

// forced returns the plan that the user asked for.
func forced(asked string) (plan, error) {
	var pl plan
	for text := range strings.SplitSeq(asked, ",") {
		text = strings.TrimSpace(text)
		method, _, whole := strings.Cut(text, "://")
		if method == "" {
			return nil, errclass.New(errclass.Arg, "%q, of Options.Method or %s, names no method between two commas", asked, MethodEnv)
		}
		l := listen(method)
		if whole {
			l.forms = []string{text}
		}
		pl = append(pl, l)
	}
	return pl, nil
}

// listen returns how to listen on a method.
func listen(method string) listening {
	byName, byHost := method+"://"+nameMark, method+"://"+hostMark+":0"
	switch method {
	case methodShm:
		return listening{method: method, forms: []string{byName}, near: true}
	case methodUDP, methodTCP:
		return listening{method: method, forms: []string{byHost}}
	}
	return listening{method: method, forms: []string{byName, byHost}}
}

// addresses returns the addresses to listen on. forms selects one form of each method.
func (pl plan) addresses(name, host string, forms []int) []string {
	fill := strings.NewReplacer(nameMark, name, hostMark, bracketed(host))
	out := make([]string, len(pl))
	for i, l := range pl {
		out[i] = fill.Replace(l.forms[forms[i]])
	}
	return out
}

// bracketed returns a host as it is written before a port.
func bracketed(host string) string {
	if strings.Contains(host, ":") {
		return "[" + host + "]"
	}
	return host
}

// needsHost tells whether the plan needs an address of this machine.
func (pl plan) needsHost() bool {
	return slices.ContainsFunc(pl, func(l listening) bool {
		return slices.ContainsFunc(l.forms, func(form string) bool { return strings.Contains(form, hostMark) })
	})
}

// byName tells whether the process listens on the name of via+shm that listenNames has for it, and on
// nothing else.
func (pl plan) byName() bool {
	only := listen(methodShm)
	return len(pl) == 1 && pl[0].method == only.method && slices.Equal(pl[0].forms, only.forms)
}

// uses tells whether a method is in the plan.
func (pl plan) uses(method string) bool {
	return slices.ContainsFunc(pl, func(l listening) bool { return l.method == method })
}

// open opens an endpoint that listens as planned.
func (pl plan) open(ctx context.Context, cfg bmi.Config, name, host string, secret []byte) (*bmi.Endpoint, error) {
	if err := beginSlowly(&cfg); err != nil {
		return nil, err
	}
	if pl.uses(methodUDP) {
		if err := giveKey(&cfg, secret); err != nil {
			return nil, err
		}
	}
	forms := make([]int, len(pl))
	cfg.Methods = nil
	for {
		cfg.Listen = pl.addresses(name, host, forms)
		ep, err := bmi.Open(ctx, cfg)
		if err == nil {
			return ep, nil
		}
		if !errors.Is(err, bmi.ErrBadAddress) || !pl.another(forms) {
			return nil, errclass.Wrap(errclass.Other, err, "cannot listen at %s", strings.Join(cfg.Listen, " and "))
		}
	}
}

// another moves on to the next combination of forms, one for each method, because an error does not
// say which method did not understand its address.
func (pl plan) another(forms []int) bool {
	for i, l := range pl {
		if forms[i]++; forms[i] < len(l.forms) {
			return true
		}
		forms[i] = 0
	}
	return false
}

// route returns the addresses at which a process that listens as planned reaches another, best
// first.
func (pl plan) route(self string, peer core.Card) []string {
	var out []string
	for _, l := range pl {
		if l.near && peer.Host != self {
			continue
		}
		for _, address := range peer.Addresses {
			if strings.HasPrefix(address, l.method+"://") {
				out = append(out, address)
			}
		}
	}
	return out
}

// udpKeyed tells whether via+udp has a key, or is to run without one.
func udpKeyed(secret []byte) bool { return len(secret) > 0 || udpKeySet() }

func udpKeySet() bool {
	return slices.ContainsFunc(udpKeyEnvs[:], func(env string) bool { return environ.Getenv(env) != "" })
}

// giveKey makes the job's secret the key of via+udp in an endpoint's options. A key that the user
// set is not changed. A plugin takes no options for its key, but finds it in the environment that
// it inherits.
func giveKey(cfg *bmi.Config, secret []byte) error {
	if len(secret) == 0 || udpKeySet() {
		return nil
	}
	for _, d := range bmi.Drivers() {
		k, ok := d.(bmi.Keyer)
		if !ok || d.Name() != methodUDP {
			continue
		}
		opts, err := k.WithKey(cfg.Options[methodUDP], secret)
		if err != nil {
			return errclass.Wrap(errclass.Other, err, "the key of the job")
		}
		setOptions(cfg, methodUDP, opts)
	}
	return nil
}

// connectTimeMax is how long sends wait for a connection. All processes of a job have begun when one of them sends, and
// launchers and most methods say at once that one has died. But a thousand on one host may all connect to one of them, and
// have two processors for it.
const connectTimeMax = 2 * time.Minute

// beginSlowly makes connectTimeMax the time of all methods for which the user has set none.
func beginSlowly(cfg *bmi.Config) error {
	for _, d := range bmi.Drivers() {
		t, ok := d.(bmi.ConnectTimer)
		if !ok {
			continue
		}
		opts, err := t.WithConnectTimeout(cfg.Options[d.Name()], connectTimeMax)
		if err != nil {
			return errclass.Wrap(errclass.Arg, err, "the options of %s", d.Name())
		}
		setOptions(cfg, d.Name(), opts)
	}
	return nil
}

// setOptions sets the options of a method. The caller's map does not change.
func setOptions(cfg *bmi.Config, method string, opts any) {
	cfg.Options = maps.Clone(cfg.Options)
	if cfg.Options == nil {
		cfg.Options = map[string]any{}
	}
	cfg.Options[method] = opts
}

// forgetKey removes the job's secret from the environment, where a launcher may have left it for
// via+udp. This process and its plugins have it already. Programs that this process starts are not
// ranks of the job, and ranks that it spawns get the secret from the launcher.
func forgetKey(secret []byte) {
	if env := udpKeyEnvs[0]; len(secret) > 0 && environ.Getenv(env) == hex.EncodeToString(secret) {
		_ = os.Unsetenv(env) // fails only for invalid names
	}
}

// drivers returns the methods that the program has, or those of its plugins if it has none.
func drivers(ctx context.Context, cfg bmi.Config) ([]string, error) {
	if names := driverNames(); len(names) > 0 {
		return names, nil
	}
	cfg.Listen, cfg.Methods = nil, nil
	ep, err := bmi.Open(ctx, cfg) // loads plugins
	if err != nil {
		return nil, errclass.Wrap(errclass.Other, err, "loading plugins")
	}
	if err := ep.Close(); err != nil {
		return nil, errclass.Wrap(errclass.Other, err, "loading plugins")
	}
	return driverNames(), nil
}

func driverNames() []string {
	var names []string
	for _, d := range bmi.Drivers() {
		names = append(names, d.Name())
	}
	return names
}

// checkRoutes returns an error unless every process can be reached.
func (pl plan) checkRoutes(self core.Card, cards []core.Card) error {
	for rank, card := range cards {
		if card.ID != self.ID && len(pl.route(self.Host, card)) == 0 {
			return errclass.New(errclass.Other, "rank %d listens at %v, where this process cannot reach it by %s: start all with methods in common", rank, card.Addresses, pl)
		}
	}
	return nil
}

// String names the methods.
func (pl plan) String() string {
	names := make([]string, len(pl))
	for i, l := range pl {
		names[i] = l.method
	}
	return strings.Join(names, ", ")
}
