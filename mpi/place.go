package mpi

import (
	"context"
	"encoding/base64"
	"slices"
	"strings"

	"github.com/viaduct-hpc/viaduct/internal/mpi/core"
	"github.com/viaduct-hpc/viaduct/mpi/boot"
	"github.com/viaduct-hpc/viaduct/mpi/errclass"
)

// The addresses on which a process listens depend on whether all processes of the job are on one host.
// So each process first publishes where it is. Rank 0 compares these texts, and publishes the result
// with its settings. So each process sends the launcher a few requests, and not one for each other
// process.
//
// If all are on one host, and listen there by name, each process can then make all cards. If they are
// on several hosts and listen by the same methods, it also publishes which host each is on: then a
// process asks for the addresses of another one when it first sends to it (findAddresses).
const placeKey = "mpi-place-"

// A spread says how far apart the processes of a job are.
type spread int

const (
	farApart  spread = iota
	allAlike         // as farApart, but all listen by the same methods, and each reaches each
	onOneHost        // all processes are on one host
	allByName        // and each listens on the name of via+shm that listenNames has for it, and on nothing else
	spreadEnd
)

// A site is where a process is, and how it will listen.
type site struct {
	host string
	// named: it listens by name if all are on one host.
	named bool
	// methods are the methods on which it listens if the processes are on several hosts. It is empty
	// if none reaches other hosts.
	methods string
}

// ownSite returns the site of this process.
func ownSite(o Options, around surrounding, named bool) site {
	pl := site{host: o.Host, named: named}
	around.oneHost = false
	far, err := choosePlan(o.Method, around)
	if err == nil && slices.ContainsFunc(far, func(l listening) bool { return !l.near }) {
		pl.methods = far.String()
	}
	return pl
}

// Texts of sites are valid for every launcher.
const (
	namedMark   = "named"
	unnamedMark = "-"
)

func (p site) encode() string {
	mark := unnamedMark
	if p.named {
		mark = namedMark
	}
	pack := base64.RawURLEncoding.EncodeToString
	return mark + "," + pack([]byte(p.host)) + "," + pack([]byte(p.methods))
}

func parseSite(text string) (site, error) {
	parts := strings.Split(text, ",")
	if len(parts) != 3 || parts[0] != namedMark && parts[0] != unnamedMark {
		return site{}, errclass.New(errclass.Other, "the site of a process is %.60q: run the same release everywhere", text)
	}
	host, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		return site{}, errclass.Wrap(errclass.Other, err, "the site of a process")
	}
	methods, err := base64.RawURLEncoding.DecodeString(parts[2])
	if err != nil {
		return site{}, errclass.Wrap(errclass.Other, err, "the site of a process")
	}
	return site{host: string(host), named: parts[0] == namedMark, methods: string(methods)}, nil
}

// compare returns how far apart processes at two sites are, regardless of their methods.
func compare(a, b site) spread {
	switch {
	case a.host != b.host:
		return farApart
	case a.named && b.named:
		return allByName
	}
	return onOneHost
}

// comparePlaces returns how far apart all processes of the job are, and the host of each. Rank 0 calls
// it, after a fence.
func comparePlaces(ctx context.Context, b boot.Boot, own site) (spread, []string, error) {
	widest, alike := allByName, own.methods != ""
	of := make([]string, b.Size())
	for rank := range of {
		other := own
		if rank != b.Rank() {
			text, err := learn(ctx, b, placeKey, rank)
			if err != nil {
				return farApart, nil, err
			}
			if other, err = parseSite(text); err != nil {
				return farApart, nil, err
			}
		}
		of[rank] = other.host
		widest, alike = min(widest, compare(own, other)), alike && other.methods == own.methods
	}
	if widest == farApart && alike {
		widest = allAlike
	}
	return widest, of, nil
}

// learnCards returns the cards of all processes, by rank. When it returns, all of them listen.
func (p *Process) learnCards(ctx context.Context, self core.Card, names listenNames) ([]core.Card, error) {
	b := p.boot
	switch {
	case b.Size() == 1:
		return []core.Card{self}, nil
	case p.told.spread == allAlike:
		return p.placeCards(ctx, self)
	case p.told.spread != allByName:
		return exchangeCards(ctx, b, self)
	}
	cards, addresses := make([]core.Card, b.Size()), make([]string, b.Size())
	for rank := range cards {
		addresses[rank] = names.address(rank)
		cards[rank] = core.Card{ID: p.told.number.id(rank), Host: self.Host, Addresses: addresses[rank : rank+1 : rank+1]}
	}
	if expected := cards[b.Rank()].Encode(); expected != self.Encode() {
		return nil, errclass.New(errclass.Intern, "this process listens at %v, where the others do not expect it", self.Addresses)
	}
	return cards, fence(ctx, b)
}

// placeCards returns the cards of all processes without addresses, but its own.
func (p *Process) placeCards(ctx context.Context, self core.Card) ([]core.Card, error) {
	of := p.told.hosts
	if len(of) != p.boot.Size() || of[p.boot.Rank()] != self.Host {
		return nil, errclass.New(errclass.Other, "rank 0 has published another host for this process than %q: run the same release everywhere", self.Host)
	}
	cards := make([]core.Card, len(of))
	for rank, host := range of {
		cards[rank] = core.Card{ID: p.told.number.id(rank), Host: host}
	}
	cards[p.boot.Rank()] = self
	return cards, publishCard(ctx, p.boot, self)
}

// findAddresses asks the launcher for the addresses of a process of the job.
func (p *Process) findAddresses(id core.ProcID) ([]string, error) {
	rank := p.told.number.rank(id)
	if rank < 0 || rank >= p.boot.Size() {
		return nil, errclass.New(errclass.Intern, "the addresses of process %s are not known", id)
	}
	ctx, cancel := boundedBy(background, p.initTimeMax)
	defer cancel()
	card, err := learnCard(ctx, p.boot, rank)
	if err != nil {
		return nil, err
	}
	if card.ID != id || len(card.Addresses) == 0 {
		return nil, errclass.New(errclass.Other, "the card of rank %d is that of process %s with %d addresses, which is another one: run the same release everywhere", rank, card.ID, len(card.Addresses))
	}
	return card.Addresses, nil
}
