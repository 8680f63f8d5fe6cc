package tcp_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/methods/methodtest"
	_ "github.com/viaduct-hpc/viaduct/methods/tcp"
)

// children are what this binary is when one of the variables is set: the other
// process of a test.
var children = map[string]func(spec string) error{
	killVariable:  victim,
	crowdVariable: crowd,
	farVariable:   far,
}

func TestMain(m *testing.M) {
	for variable, child := range children {
		if spec := os.Getenv(variable); spec != "" {
			if err := child(spec); err != nil {
				fmt.Fprintf(os.Stderr, "%s=%s: %v\n", variable, spec, err)
				os.Exit(1)
			}
			return
		}
	}
	os.Exit(methodtest.MainWithoutLeaks(m, nil))
}

// TestConformance runs the conformance suite between endpoints of this process,
// and one of another process, over the kernel's loopback.
func TestConformance(t *testing.T) {
	methodtest.Run(t, func(t methodtest.T) *methodtest.Subject {
		return &methodtest.Subject{
			Address:    addressOf,
			Fork:       methodtest.ForkSelf(addressOf),
			OneWay:     true,
			HeadOfLine: true,
			Ranges: func(name string) (inside, outside []string) {
				host, port, _ := strings.Cut(hostPort(addressOf(name)), ":")
				return []string{
						"tcp://*", "tcp://127.*", "tcp://127.*:" + port, "tcp://" + host, "tcp://" + host + ":*",
						"tcp://127.0.0.0/8", "tcp://127.0.0.0@8", "127.0.0.0/8:" + port, "tcp://" + host + "/32:" + port,
					}, []string{
						"tcp://128.*", "tcp://" + host + ":1", "tcp://10.0.0.0/8", "tcp://127.255.0.0@16", "tcp://127.0.0.0/8:1", "tcp://::1",
					}
			},
		}
	})
}

// TestConformanceCrash runs those tests of the suite in which an endpoint dies
// within the process.
func TestConformanceCrash(t *testing.T) {
	var tests methodtest.Tests
	for _, name := range []string{"CrashCompletesEverything", "CrashDuringTransfer", "CrashSparesOthers", "FileCrash"} {
		test, ok := methodtest.All.Find(name)
		require.True(t, ok, name)
		tests = append(tests, test)
	}
	methodtest.RunTests(t, tests, func(t methodtest.T) *methodtest.Subject {
		return &methodtest.Subject{
			Address:    func(name string) string { return tapped + "://" + hostPort(addressOf(name)) },
			Crash:      crash,
			OneWay:     true,
			HeadOfLine: true,
		}
	})
}
