package mpi

import (
	"context"
	"strings"

	"github.com/viaduct-hpc/viaduct/internal/mpi/core"
	"github.com/viaduct-hpc/viaduct/mpi/boot"
	"github.com/viaduct-hpc/viaduct/mpi/errclass"
)

// The addresses on which a process listens depend on whether all processes of the job are on one
// host. So each tells first where it is. Rank 0 compares these texts, and publishes the result with
// its settings: so the launcher is asked some times by each process, and not by each for each.
//
// If all are on one host, and listen there by name, rank 0 has told them enough to know all cards.
const placeKey = "mpi-place-"

// A spread says how far apart the processes of a job are.
type spread int

const (
	farApart  spread = iota
	onOneHost        // all processes are on one host
	allByName        // and each listens on the name of via+shm that listenNames has for it, and on nothing else
	spreadEnd
)

// byNameMark ends the place of a process that listens by name if all are on one host.
const byNameMark = "+"

// placeText returns the text by which a process tells where it is.
func placeText(host string, named bool) string {
	text := digest(host) // valid text for every launcher
	if named {
		text += byNameMark
	}
	return text
}

// compare returns how far apart processes at two places are.
func compare(a, b string) spread {
	switch {
	case a == b && strings.HasSuffix(a, byNameMark):
		return allByName
	case strings.TrimSuffix(a, byNameMark) == strings.TrimSuffix(b, byNameMark):
		return onOneHost
	}
	return farApart
}

// comparePlaces returns how far apart all processes of the job are. Rank 0 calls it, after a fence.
func comparePlaces(ctx context.Context, b boot.Boot, own string) (spread, error) {
	widest := allByName
	for rank := range b.Size() {
		other := own
		if rank != b.Rank() {
			var err error
			if other, err = learn(ctx, b, placeKey, rank); err != nil {
				return farApart, err
			}
		}
		widest = min(widest, compare(own, other))
	}
	return widest, nil
}

// learnCards returns the cards of all processes, by rank. When it returns, all of them listen.
func (p *Process) learnCards(ctx context.Context, self core.Card, names listenNames) ([]core.Card, error) {
	b := p.boot
	switch {
	case b.Size() == 1:
		return []core.Card{self}, nil
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
