package udptest

import (
	"crypto/sha256"
	"fmt"
	"net/netip"
	"strings"
	"sync"

	"github.com/viaduct-hpc/viaduct/internal/nic/udp/secure"
)

// Number of hosts with their own keys. Further listening hosts share one key, which all peers expect at addresses without a
// line of their own.
const ownKeys = 16

// Static as a Provider's identity gives each device of a world its own identity (NameOf).
var Static = secure.IdentitySource{Clients: "everybody"}

// keys are the public keys that every device of a world knows. Each of the first hosts has one: listening devices under the
// names host1, host2 and so on, others under guest1 and so on.
type keys struct{ clients, servers string }

// staticKeys are the keys of all worlds.
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

// Identity is the identity for a name: its own private key, and the public keys that all devices know.
func Identity(name string) secure.IdentitySource {
	k := staticKeys()
	return secure.IdentitySource{Private: private(name), Clients: k.clients, Servers: k.servers}
}

// private is the private key for a name.
func private(name string) []byte {
	key := sha256.Sum256([]byte("private key of " + name))
	return key[:]
}

func publicOf(name string) secure.PublicKey {
	source := secure.IdentitySource{Private: private(name)}
	id, err := source.Load()
	if err != nil {
		panic(err) // any hash is a valid key
	}
	return id.Private.Public()
}
