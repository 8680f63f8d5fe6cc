package web

import (
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	// A server waits half a second before it closes the connection of a request that it has refused.
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("net/http.(*conn).closeWriteAndWait"))
}
