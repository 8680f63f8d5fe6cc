package via_test

import (
	"strings"
	"testing"

	"github.com/viaduct-hpc/viaduct/methods/methodtest"
)

// quickKey is a key as it is: to make one from words takes the time and the memory that a key from words
// must take.
var quickKey = strings.Repeat("5eed", 16)

// TestConformanceUDP runs the conformance suite between endpoints of this process,
// and one of another process, over datagrams, with a key and without. The simulated runs have the whole suite.
func TestConformanceUDP(t *testing.T) {
	for part, env := range []struct{ name, key, value string }{
		{"insecure", "VIADUCT_UDP_INSECURE", "1"},
		{"secure", "VIADUCT_UDP_KEY", quickKey},
	} {
		t.Run(env.name, func(t *testing.T) {
			t.Setenv(env.key, env.value)
			methodtest.RunTests(t, methodtest.All.Again().Brief(part, 4), func(t methodtest.T) *methodtest.Subject {
				s := &methodtest.Subject{Address: methodtest.UDPPorts(t, "via+udp")}
				if env.name == "secure" { // a killed peer is waited for; once is enough
					s.Fork = methodtest.ForkSelf(s.Address)
				}
				return s
			})
		})
	}
}

func cutEnv(env string) (key, value string) {
	for i := range env {
		if env[i] == '=' {
			return env[:i], env[i+1:]
		}
	}
	return env, ""
}
