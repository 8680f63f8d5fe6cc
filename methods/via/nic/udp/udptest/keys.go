package udptest

import (
	"crypto/sha256"
	"fmt"
	"net/netip"
	"strings"
	"sync"

	"github.com/viaduct-hpc/viaduct/methods/via/nic/udp/secure"
)

// Hosts with keys of their own. Further ones that listen share the key of the rest, which everybody expects at an address
// that is in no line.
const ownKeys = 16

// Static as a Provider's identity gives each device of a world an identity of its own (NameOf).
var Static = secure.IdentitySource{Clients: "everybody"}

// keys are the public keys that every device of a world knows. Each of the first hosts has one, those that listen by the name
// host1, host2 and so on, those that do not by the name guest1 and so on.
type keys struct{ clients, servers string }

// staticKeys are those of all worlds.
var staticKeys = sync.OnceValue(func() *keys {
	var clients, servers strings.Builder
	for n := range ownKeys + 1 {
		for _, kind := range []string{"host", "guest"} {
			fmt.Fprintf(&clients, "%s%d %s\n", kind, n, publicOf(fmt.Sprint(kind, n)))
		}
		if n > 0 {
			fmt.Fprintf(&servers, "10.0.0.%d:* %s\n", n, publicOf(fmt.Sprint("host", n)))
		}
	}
	fmt.Fprintf(&servers, "* %s\n", publicOf("host0"))
	return &keys{clients.String(), servers.String()}
})

// NameOf is the name of a device in the list of clients.
func NameOf(host netip.Addr, listens bool) string {
	n := 0
	if b := host.As4(); [3]byte(b[:3]) == [3]byte{10, 0, 0} && b[3] <= ownKeys {
		n = int(b[3])
	}
	if listens {
		return fmt.Sprint("host", n)
	}
	return fmt.Sprint("guest", n)
}

// Identity is that of a name: a private key that belongs to it alone, and the public keys that everybody knows.
func Identity(name string) secure.IdentitySource {
	k := staticKeys()
	return secure.IdentitySource{Private: private(name), Clients: k.clients, Servers: k.servers}
}

// private is the private key that goes with a name.
func private(name string) []byte {
	key := sha256.Sum256([]byte("private key of " + name))
	return key[:]
}

func publicOf(name string) secure.PublicKey {
	source := secure.IdentitySource{Private: private(name)}
	id, err := source.Load()
	if err != nil {
		panic(err) // a hash is a key
	}
	return id.Private.Public()
}
