package mpi

import (
	"context"
	"fmt"
	"os"

	"github.com/viaduct-hpc/viaduct/bmi/about"
	"github.com/viaduct-hpc/viaduct/internal/mpi/core"
	"github.com/viaduct-hpc/viaduct/internal/mpi/pmi"
	"github.com/viaduct-hpc/viaduct/mpi/boot"
	"github.com/viaduct-hpc/viaduct/mpi/errclass"
)

// Init begins a process's part in its job (MPI_Init, MPI_Init_thread; MPI-4.1, 11.2.1). It waits
// until all processes of the job are in Init and their addresses are known; spawned processes then
// connect to those that spawned them. ctx, or Options.InitTimeMax, limits the wait. Every Process
// must be finalized. Errors have class ErrOther, ErrArg if the options are invalid, or ErrPort if
// the processes that spawned this one do not listen.
func Init(ctx context.Context, o Options) (*Process, error) {
	if ctx == nil {
		return nil, errclass.New(errclass.Arg, "Init needs a context, take context.Background()")
	}
	userLog := o.Log
	o = o.withDefaults()
	ctx, cancel := boundedBy(ctx, o.InitTimeMax)
	defer cancel()
	launched := launchSettings()
	b, err := findBoot(ctx, o.Boot)
	if err != nil {
		return nil, err
	}
	p := &Process{boot: b, launched: launched, log: o.Log, hook: o.Hook, options: o, manual: o.Endpoint.Manual, initTimeMax: o.InitTimeMax}
	err = p.start(ctx, o)
	forgetKey(b.Secret())
	if err != nil {
		p.tellParent(err)
		p.giveUp()
		return nil, err
	}
	p.initialized.Store(true)
	p.warnExposed(userLog)
	return p, nil
}

// start opens the engine and the endpoint of the process.
func (p *Process) start(ctx context.Context, o Options) error {
	b := p.boot
	if err := p.findParent(ctx); err != nil {
		return err
	}
	has, err := drivers(ctx, o.Endpoint)
	if err != nil {
		return err
	}
	around := surrounding{drivers: has, oneHost: true, keyed: udpKeyed(b.Secret())}
	pl, err := choosePlan(o.Method, around)
	if err != nil {
		return err
	}
	if err := p.agree(ctx, o, ownSite(o, around, pl.byName())); err != nil {
		return err
	}
	p.near = p.told.spread >= onOneHost
	around.oneHost = p.near
	if pl, err = choosePlan(o.Method, around); err != nil {
		return err
	}
	p.exposed = pl.exposed(o.Method, around)
	names := newListenNames(b.JobID(), p.told.number)
	if err := p.listen(ctx, o, pl, names.of(b.Rank())); err != nil {
		return err
	}
	p.startTrace()
	card := core.Card{ID: p.told.number.id(b.Rank()), Host: o.Host, Addresses: p.ep.Addresses()}
	p.engine, err = core.New(core.Config{
		Endpoint: p.ep, Self: card, Log: o.Log, Limits: o.Limits, Manual: o.Endpoint.Manual,
		Route: func(peer core.Card) []string { return pl.route(o.Host, peer) },
		Find:  p.findAddresses,
	})
	if err != nil {
		return err
	}
	cards, err := p.learnCards(ctx, card, names)
	if err != nil {
		return err
	}
	if p.told.spread != allAlike { // otherwise each listens by the methods of all
		if err := pl.checkRoutes(card, cards); err != nil {
			return err
		}
	}
	procs, err := p.engine.Procs(cards)
	if err != nil {
		return err
	}
	if err := p.openWorlds(procs); err != nil {
		return err
	}
	return p.meetParent(ctx)
}

// listen opens the endpoint, and shows the process.
func (p *Process) listen(ctx context.Context, o Options, pl plan, name string) (err error) {
	host := o.ListenHost
	if host == "" && pl.needsHost() {
		if host, err = listenHost(ctx, p.near); err != nil {
			return errclass.Wrap(errclass.Other, err, "set %s to an address of this machine", ListenHostEnv)
		}
	}
	defer about.Hold()() // viewers see the endpoint with its rank
	if p.ep, err = pl.open(ctx, o.Endpoint, name, host, p.boot.Secret()); err == nil && !p.manual {
		p.hide = p.source().Open()
	}
	return err
}

// giveUp undoes an Init that failed.
func (p *Process) giveUp() {
	p.ending.Store(true)
	p.finalized.Store(true)
	if p.hide != nil {
		p.hide()
	}
	ctx, cancel := context.WithCancel(background)
	cancel() // nothing was sent
	if p.engine != nil {
		_ = p.engine.Close(ctx) // the caller already returns the reason for giving up
	}
	if p.ep != nil {
		_ = p.ep.Shutdown(ctx)
	}
	_ = p.boot.Close()
}

// findBoot finds the launcher that started the process.
func findBoot(ctx context.Context, given boot.Boot) (boot.Boot, error) {
	if given != nil {
		return given, nil
	}
	b, ok, err := pmi.FromEnvironment(ctx)
	if err != nil {
		return nil, errclass.Wrap(errclass.Other, err, "cannot join the job that started this process")
	}
	if ok {
		return b, nil
	}
	lone, err := boot.Local(1)
	if err != nil {
		return nil, err
	}
	return alone{lone[0]}, nil
}

// alone is the Boot of a process that was started without a launcher. Its job is the
// operating-system process, and Abort ends it.
type alone struct{ *boot.LocalBoot }

// Abort implements boot.Boot.
func (alone) Abort(code int, why string) error {
	fmt.Fprintln(os.Stderr, "mpi: aborted:", why)
	os.Exit(code)
	return nil
}
