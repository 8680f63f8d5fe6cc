package via_test

import (
	"testing"

	"github.com/viaduct-hpc/viaduct/methods/methodtest"
)

// TestConformanceUDP runs the conformance suite between endpoints of this process,
// and one of another process, over datagrams, with a key and without. The simulated runs have the whole suite.
func TestConformanceUDP(t *testing.T) {
	for name, env := range map[string]string{"insecure": "VIADUCT_UDP_INSECURE=1", "secure": "VIADUCT_UDP_KEY=correct horse battery staple"} {
		t.Run(name, func(t *testing.T) {
			key, value := cutEnv(env)
			t.Setenv(key, value)
			methodtest.RunTests(t, methodtest.All.Brief(), func(t methodtest.T) *methodtest.Subject {
				s := &methodtest.Subject{Address: methodtest.UDPPorts(t, "via+udp")}
				if name == "secure" { // a killed peer is waited for; once is enough
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
