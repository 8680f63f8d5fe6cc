package plugins_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/plugins"
)

// A program loads a plugin; from then on its methods are methods like any other.
func ExampleLoad() {
	ctx := context.Background()
	p, err := plugins.Load(ctx, "/usr/lib/bmi/bmi-method-fast", plugins.Options{
		Env: []string{"FAST_DEVICE=0", "FAST_KEY_FILE"}, // the second with its value in this process
		Log: slog.Default(),
	})
	if err != nil {
		fmt.Println(err) // the file, the problem, and what to do
		return
	}
	defer p.Unload(ctx)
	fmt.Println(p.Name(), p.Version(), p.Methods())

	ep, err := bmi.Open(ctx, bmi.Config{Listen: []string{"fast://node1"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer ep.Close()
}

// Two versions of a plugin in one program, each method under a name of its own. Peers of
// the second one have addresses that begin with fast2://.
func ExampleLoad_sideBySide() {
	ctx := context.Background()
	for path, name := range map[string]string{
		"/opt/fast/1.9/bmi-method-fast": "fast",
		"/opt/fast/2.0/bmi-method-fast": "fast2",
	} {
		p, err := plugins.Load(ctx, path, plugins.Options{Name: name, Names: map[string]string{"fast": name}})
		if err != nil {
			fmt.Println(err)
			return
		}
		defer p.Unload(ctx)
	}
}

// How a program handles a plugin that died: it posts again, if it may.
func ExampleLoad_errors() {
	post := func(c bmi.Completion, again func()) {
		switch {
		case errors.Is(c.Err, plugins.ErrUnloaded):
			fmt.Println("close the endpoint:", c.Err)
		case errors.Is(c.Err, plugins.ErrDied):
			again() // waits for the next process; the first attempt may or may not have arrived
		case c.Err != nil:
			fmt.Println("the peer, or the network:", c.Err)
		}
	}
	post(bmi.Completion{Err: plugins.ErrDied}, func() { fmt.Println("posted again") })
	// Output: posted again
}

// The plugins of a folder, and why other files in it are refused.
func ExampleDiscover() {
	paths, err := plugins.Discover("/usr/lib/bmi")
	if err != nil {
		fmt.Fprintln(os.Stderr, err) // one line for each file that is refused
	}
	for _, path := range paths {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		_, err := plugins.Load(ctx, path, plugins.Options{})
		cancel() // the plugin keeps running
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
	}
}

// A plugin binary is called bmi-method-NAME. This is its whole main function, here with the methods
// of the packages that it imports; it can also pass its own drivers.
func ExampleServe() {
	main := func() { plugins.Serve(bmi.Drivers()...) } // does not return
	_ = main
}
