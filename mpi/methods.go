package mpi

import (
	"context"
	"encoding/hex"
	"errors"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/mpi/core"
	"github.com/viaduct-hpc/viaduct/mpi/errclass"
)

// The methods that this package chooses by itself. Others are chosen by who runs the
// program, or if there is nothing else.
const (
	methodShm = "via+shm"
	methodUDP = "via+udp"
	methodTCP = "tcp"
)

// Variables that tell via+udp its key. If none of them is set, it is the job's secret.
var udpKeyEnvs = [...]string{"VIADUCT_UDP_KEY", "VIADUCT_UDP_KEY_FILE", "VIADUCT_UDP_INSECURE"}

// What stands in an address to listen at for what differs between processes.
const (
	nameMark = "{name}"
	hostMark = "{host}"
)

// A plan is what a process listens on, best first.
type plan []listening

// A listening is one method of a plan.
type listening struct {
	method string
	// forms are addresses to listen at, of which the method takes the first that it
	// understands.
	forms []string
	// near: only processes of the same host are reached.
	near bool
}

// A surrounding is what a plan depends on.
type surrounding struct {
	drivers []string // methods that the program has
	oneHost bool     // all processes of the job are on this host
	keyed   bool     // there is a key for via+udp
}

// choosePlan is the plan of a process: what is asked for, or what seems best.
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
		pl = append(pl, listen(methodUDP)) // whose error says how to give it a key
	}
	if len(pl) > 0 {
		return pl, nil
	}
	for _, method := range s.drivers {
		pl = append(pl, listen(method))
	}
	return pl, nil
}

// forced is the plan that somebody asked for.
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

// listen is how to listen by a method.
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

// addresses are those to listen at, in one of the forms of each method.
func (pl plan) addresses(name, host string, forms []int) []string {
	fill := strings.NewReplacer(nameMark, name, hostMark, bracketed(host))
	out := make([]string, len(pl))
	for i, l := range pl {
		out[i] = fill.Replace(l.forms[forms[i]])
	}
	return out
}

// bracketed is a host as it stands before a port.
func bracketed(host string) string {
	if strings.Contains(host, ":") {
		return "[" + host + "]"
	}
	return host
}

// needsHost tells whether an address of this machine is needed.
func (pl plan) needsHost() bool {
	return slices.ContainsFunc(pl, func(l listening) bool {
		return slices.ContainsFunc(l.forms, func(form string) bool { return strings.Contains(form, hostMark) })
	})
}

// uses tells whether a method is in the plan.
func (pl plan) uses(method string) bool {
	return slices.ContainsFunc(pl, func(l listening) bool { return l.method == method })
}

// open opens an endpoint that listens as planned.
func (pl plan) open(ctx context.Context, cfg bmi.Config, name, host string, secret []byte) (*bmi.Endpoint, error) {
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

// another moves on to the next choice of one form for each method: an error does not say
// which of them did not understand its own.
func (pl plan) another(forms []int) bool {
	for i, l := range pl {
		if forms[i]++; forms[i] < len(l.forms) {
			return true
		}
		forms[i] = 0
	}
	return false
}

// route are the addresses under which a process that listens as planned reaches another,
// best first.
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

// udpKeyed tells whether via+udp finds a key, or is to go without.
func udpKeyed(secret []byte) bool { return len(secret) > 0 || udpKeySet() }

func udpKeySet() bool {
	return slices.ContainsFunc(udpKeyEnvs[:], func(env string) bool { return os.Getenv(env) != "" })
}

// giveKey makes the job's secret the key of via+udp in an endpoint's options. A key that the
// user set is left alone; a plugin takes none, and finds its key in the environment that it was
// given.
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
		cfg.Options = maps.Clone(cfg.Options) // which is the caller's
		if cfg.Options == nil {
			cfg.Options = map[string]any{}
		}
		cfg.Options[methodUDP] = opts
	}
	return nil
}

// forgetKey takes the job's secret out of the environment, where a launcher may have left it for
// via+udp: this process has it, and so have its plugins. Programs that it starts are not ranks
// of the job; those that are get it from the launcher.
func forgetKey(secret []byte) {
	if env := udpKeyEnvs[0]; len(secret) > 0 && os.Getenv(env) == hex.EncodeToString(secret) {
		_ = os.Unsetenv(env) // fails only for bad names
	}
}

// drivers are the methods that the program has, with those of its plugins if it has no other.
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

// checkRoutes makes sure that every process can be reached.
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
