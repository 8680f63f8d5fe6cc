package mpi

import (
	"context"

	"github.com/viaduct-hpc/viaduct/mpi/boot"
	"github.com/viaduct-hpc/viaduct/mpi/errclass"
)

// hostsKey is where rank 0 publishes the hosts of all processes, if they listen alike.
const hostsKey = "mpi-hosts-"

// Limits of that text, compressed and decompressed. If the hosts exceed them, they are not published,
// and each process asks for the card of each other one.
const (
	hostsTextBytesMax = 256 << 10
	hostsBytesMax     = 32 << 20
	hostsPiecesMax    = 1 << 12
)

// hostsText is the published form of the hosts.
type hostsText struct {
	Hosts []string `json:"hosts"`
	Of    []int    `json:"of"` // the host of each rank
}

// tellHosts publishes the host of each rank, unless they are too many.
func tellHosts(ctx context.Context, b boot.Boot, of []string) (told bool, err error) {
	numbers := map[string]int{}
	var t hostsText
	for _, host := range of {
		n, there := numbers[host]
		if !there {
			n = len(t.Hosts)
			numbers[host] = n
			t.Hosts = append(t.Hosts, host)
		}
		t.Of = append(t.Of, n)
	}
	text := packText(t)
	if len(text) > min(hostsTextBytesMax, hostsPiecesMax*(b.ValueMax()-piecesPrefixMax)) {
		return false, nil
	}
	return true, tellPieces(ctx, b, hostsKey, text)
}

// learnHosts returns the host of each rank, as rank 0 has published them.
func learnHosts(ctx context.Context, b boot.Boot) ([]string, error) {
	text, err := learnPieces(ctx, b, hostsKey, 0, hostsTextBytesMax)
	if err != nil {
		return nil, err
	}
	var t hostsText
	if err := unpackText(text, hostsBytesMax, &t); err != nil {
		return nil, errclass.Wrap(errclass.Other, err, "the hosts that rank 0 has published: run the same release everywhere")
	}
	if len(t.Of) != b.Size() {
		return nil, errclass.New(errclass.Other, "rank 0 has published the hosts of %d processes of %d: run the same release everywhere", len(t.Of), b.Size())
	}
	of := make([]string, len(t.Of))
	for rank, n := range t.Of {
		if n < 0 || n >= len(t.Hosts) {
			return nil, errclass.New(errclass.Other, "rank 0 has published the host %d of %d: run the same release everywhere", n, len(t.Hosts))
		}
		of[rank] = t.Hosts[n]
	}
	return of, nil
}
