package rpc

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// BenchmarkNoop is the round trip of the smallest request, client and server in one process.
func BenchmarkNoop(b *testing.B) {
	for _, method := range []string{"mem", "tcp", "via+shm"} {
		b.Run(method, func(b *testing.B) {
			w := newWorld(b, method)
			var d disk
			_, address, _ := w.serve(d.handle, ServerOptions{})
			c, to := w.caller(address, Options{})
			req, resp := &proto.NoopReq{}, &proto.NoopResp{}
			b.ReportAllocs()
			for b.Loop() {
				if err := c.Call(context.Background(), to, nil, req, resp); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkFlow moves 16 MiB between memory and memory.
func BenchmarkFlow(b *testing.B) {
	const n = 16 << 20
	for _, method := range []string{"mem", "tcp", "via+shm"} {
		for _, direction := range []proto.IOType{proto.IOWrite, proto.IORead} {
			b.Run(fmt.Sprintf("%s/%s", method, map[proto.IOType]string{proto.IOWrite: "write", proto.IORead: "read"}[direction]), func(b *testing.B) {
				w := newWorld(b, method)
				d := disk{bytes: make([]byte, n)}
				_, address, _ := w.serve(d.handle, ServerOptions{})
				c, to := w.caller(address, Options{})
				data := make([]byte, n)
				b.SetBytes(n)
				b.ReportAllocs()
				for b.Loop() {
					f := &Flow{To: to, Request: ioReq(0, n), Total: n, Memory: Bytes(data)}
					_, err := c.flow(context.Background(), f, direction)
					require.NoError(b, err)
				}
			})
		}
	}
}
