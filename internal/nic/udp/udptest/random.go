package udptest

import (
	"math/rand/v2"
	"strings"
	"time"

	"github.com/viaduct-hpc/viaduct/internal/nic/udp"
	simdgram "github.com/viaduct-hpc/viaduct/internal/nic/udp/dgram/sim"
	"github.com/viaduct-hpc/viaduct/internal/nic/udp/secure"
	"github.com/viaduct-hpc/viaduct/internal/sim"
)

// Key is the shared key of a secure world. It is not a passphrase, because deriving a
// key from one is slow on purpose.
var Key = secure.Source{Text: strings.Repeat("0123456789abcdef", 4)}

// RandomLink draws a link between perfect and terrible: up to 30 % of the packets get
// lost, up to 10 % are damaged, up to half overtake others.
func RandomLink(rng *rand.Rand) sim.LinkOptions {
	link := sim.RandomLink(rng)
	link.Capacity = 0 // bottlenecks belong to the network
	return link
}

// Random makes a world with faults of every kind, with a shared key, keys of the
// devices, both, or none. A connection that cannot get through ends within seconds of
// virtual time.
func Random(seed uint64) *World {
	rng := rand.New(rand.NewPCG(seed, 31))
	p := udp.Provider{GiveUp: 5 * time.Second, KeepAlive: 500 * time.Millisecond}
	switch secret := rng.IntN(2) == 0; {
	case !secret:
		p.Insecure = true
	case seed%4 == 0:
		p.Identity = Static
	case seed%2 == 0:
		p.Key, p.Identity = Key, Static
	default:
		p.Key = Key
	}
	w := New(seed, RandomLink(rng), simdgram.RandomOptions(rng), p)
	if rng.IntN(2) == 0 {
		w.Partition(200*time.Millisecond, 200*time.Millisecond)
	}
	return w
}
