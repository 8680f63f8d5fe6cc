//go:build linux

// Package hosts has tests alone: endpoints of via+udp in processes of their own, each
// on a host of its own (internal/netns), with cables, switches, routers and a bad
// network (internal/relay) between them. They skip where hosts are not allowed,
// unless the environment says that they must run (need.MustVariable).
//
// node_test.go and talk_test.go are what runs in such a process, fleet_test.go
// is what starts and directs them, and each of the other files is a kind of bad day.
package hosts

import (
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"

	_ "github.com/viaduct-hpc/viaduct/methods/via"
)

// nodeVariable makes the test binary a Node that is directed by its standard input.
const nodeVariable = "VIADUCT_HOSTS_NODE"

func TestMain(m *testing.M) {
	if os.Getenv(nodeVariable) == "" {
		goleak.VerifyTestMain(m)
		return
	}
	if err := serve(); err != nil {
		fmt.Fprintln(os.Stderr, "node:", err)
		os.Exit(1)
	}
}
