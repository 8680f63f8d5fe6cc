package bmi_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/viaduct-hpc/viaduct/bmi"
	_ "github.com/viaduct-hpc/viaduct/bmi/bmitest" // the method "mem"
)

// twoEndpoints opens a server and a client in one process, with a context and
// the other's address for each. A real program opens one endpoint.
func twoEndpoints() (server, client *bmi.Endpoint, sctx, cctx *bmi.Context, toClient, toServer bmi.Addr) {
	open := func(listen, other string) (*bmi.Endpoint, *bmi.Context, bmi.Addr) {
		e, err := bmi.Open(context.Background(), bmi.Config{Listen: []string{listen}})
		if err != nil {
			panic(err)
		}
		c, err := e.OpenContext()
		if err != nil {
			panic(err)
		}
		a, err := e.Lookup(other)
		if err != nil {
			panic(err)
		}
		return e, c, a
	}
	server, sctx, toClient = open("mem://server", "mem://client")
	client, cctx, toServer = open("mem://client", "mem://server")
	return
}

// Post, do something else, and poll until the operation is complete.
func Example_polling() {
	server, client, sctx, cctx, toClient, toServer := twoEndpoints()
	defer server.Close()
	defer client.Close()

	buf := make([]byte, 64)
	if _, err := sctx.PostRecv(toClient, 1, buf, "the request"); err != nil {
		panic(err)
	}
	if p, err := cctx.PostSend(toServer, 1, []byte("hello"), nil); err != nil || !p.Done {
		panic("a short message to a willing receiver is done at once")
	}

	done := make([]bmi.Completion, 8)
	for {
		n, err := sctx.TestContext(done, 0) // 0: poll, do not wait
		if err != nil {
			panic(err)
		}
		for _, c := range done[:n] {
			fmt.Printf("%v: %q, error %v\n", c.User, buf[:c.Size], c.Err)
		}
		if n > 0 {
			break
		}
	}
	// Output: the request: "hello", error <nil>
}

// Plain Go: calls that wait, with a context.Context each.
func Example_blocking() {
	server, client, sctx, cctx, toClient, toServer := twoEndpoints()
	defer server.Close()
	defer client.Close()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()

	go func() {
		buf := make([]byte, 64)
		n, err := sctx.Recv(ctx, toClient, 1, buf)
		if err == nil {
			err = sctx.Send(ctx, toClient, 1, append([]byte("you said "), buf[:n]...))
		}
		if err != nil {
			panic(err)
		}
	}()
	if err := cctx.Send(ctx, toServer, 1, []byte("hello")); err != nil {
		panic(err)
	}
	buf := make([]byte, 64)
	n, err := cctx.Recv(ctx, toServer, 1, buf)
	fmt.Printf("%q, error %v\n", buf[:n], err)
	// Output: "you said hello", error <nil>
}

// A server in a handler: it never tests, and answers from within progress.
func Example_handler() {
	server, client, sctx, cctx, _, toServer := twoEndpoints()
	defer server.Close()
	defer client.Close()

	const timeService bmi.Class = 7
	err := server.Handle(timeService, func(m bmi.Message) {
		// m.Data is valid only here. A handler posts, but does not wait.
		if _, err := sctx.PostSend(m.From, m.Tag, []byte("half past "+string(m.Data)), nil); err != nil {
			panic(err)
		}
	})
	if err != nil {
		panic(err)
	}
	reply := make([]byte, 64)
	n, err := cctx.Call(context.Background(), toServer, timeService, 1, []byte("four"), reply)
	fmt.Printf("%q, error %v\n", reply[:n], err)
	// Output: "half past four", error <nil>
}

// A server in a loop of its own: it takes unexpected messages from the queue.
func ExampleEndpoint_TestUnexpected() {
	server, client, _, cctx, _, toServer := twoEndpoints()
	defer server.Close()
	defer client.Close()

	if _, err := cctx.PostSendUnexpected(toServer, 0, 42, []byte("anybody there?"), nil); err != nil {
		panic(err)
	}
	requests := make([]bmi.Unexpected, 4)
	n, err := server.TestUnexpected(requests, bmi.Forever)
	if err != nil {
		panic(err)
	}
	for i := range requests[:n] {
		r := &requests[i]
		fmt.Printf("%s, tag %d: %q\n", r.From, r.Tag, r.Data)
		r.Release()
	}
	// Output: mem://client, tag 42: "anybody there?"
}

// One message gathered from pieces, and scattered over others.
func ExampleContext_PostSendList() {
	server, client, sctx, cctx, toClient, toServer := twoEndpoints()
	defer server.Close()
	defer client.Close()

	header, body := make([]byte, 4), make([]byte, 16)
	recv, err := sctx.PostRecvList(toClient, 1, [][]byte{header, body}, nil)
	if err != nil {
		panic(err)
	}
	pieces := [][]byte{[]byte("HE"), []byte("ADbo"), []byte("dy")}
	if _, err := cctx.PostSendList(toServer, 1, pieces, nil); err != nil {
		panic(err)
	}
	c, _, err := sctx.Test(recv.Op, bmi.Forever)
	fmt.Printf("%q %q, error %v\n", header, body[:c.Size-len(header)], err)
	// Output: "HEAD" "body", error <nil>
}

// Many operations in flight. They are handled in the order of their completion.
func ExampleContext_TestSome() {
	server, client, sctx, cctx, toClient, toServer := twoEndpoints()
	defer server.Close()
	defer client.Close()

	ops := make([]bmi.OpID, 3)
	for i := range ops {
		p, err := sctx.PostRecv(toClient, bmi.Tag(i), nil, i)
		if err != nil {
			panic(err)
		}
		ops[i] = p.Op
	}
	done := make([]bmi.Completion, 1)
	for _, tag := range []bmi.Tag{2, 0, 1} {
		if _, err := cctx.PostSend(toServer, tag, nil, nil); err != nil {
			panic(err)
		}
		if _, err := sctx.TestSome(ops, done, bmi.Forever); err != nil {
			panic(err)
		}
		i := done[0].User.(int)
		ops[i] = 0 // skipped from now on
		fmt.Println("operation", i)
	}
	// Output:
	// operation 2
	// operation 0
	// operation 1
}

// A cancelled operation completes like any other, and then its buffer is free.
func ExampleContext_Cancel() {
	server, client, sctx, _, toClient, _ := twoEndpoints()
	defer server.Close()
	defer client.Close()

	p, err := sctx.PostRecv(toClient, 1, make([]byte, 64), nil)
	if err != nil {
		panic(err)
	}
	if err := sctx.Cancel(p.Op); err != nil {
		panic(err)
	}
	c, _, err := sctx.Test(p.Op, bmi.Forever)
	fmt.Println(errors.Is(c.Err, bmi.ErrCancelled), err)
	// Output: true <nil>
}

// Memory that the method moves more cheaply than any other.
func ExampleEndpoint_Alloc() {
	server, client, sctx, cctx, toClient, toServer := twoEndpoints()
	defer server.Close()
	defer client.Close()
	ctx := context.Background()

	mem, err := server.Alloc(toClient, 1<<20)
	if err != nil {
		panic(err)
	}
	go func() {
		if err := cctx.Send(ctx, toServer, 1, make([]byte, 1<<20)); err != nil {
			panic(err)
		}
	}()
	n, err := sctx.Recv(ctx, toClient, 1, mem)
	fmt.Println(n, "bytes, error", err)
	if err := server.Free(toClient, mem); err != nil {
		panic(err)
	}
	// Output: 1048576 bytes, error <nil>
}
