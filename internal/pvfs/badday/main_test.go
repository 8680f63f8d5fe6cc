package badday_test

import (
	"context"
	"os"
	"strconv"
	"testing"

	"go.uber.org/goleak"

	"github.com/viaduct-hpc/viaduct/internal/cli/pvfsd"
	_ "github.com/viaduct-hpc/viaduct/methods/tcp" // for servers' addresses
	_ "github.com/viaduct-hpc/viaduct/methods/via" // likewise
)

// mainVariable makes the test binary run as pvfsd.
const mainVariable = "VIADUCT_BADDAY_MAIN"

func TestMain(m *testing.M) {
	if os.Getenv(mainVariable) != "" {
		app := &pvfsd.App{Out: os.Stdout, Err: os.Stderr}
		os.Exit(app.Main(context.Background(), os.Args[1:]))
	}
	goleak.VerifyTestMain(m)
}

// number is the value of an environment variable, or the default.
func number(t testing.TB, variable string, def int) int {
	text := os.Getenv(variable)
	if text == "" {
		return def
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		t.Fatalf("%s=%s is not a number of things to do", variable, text)
	}
	return n
}
