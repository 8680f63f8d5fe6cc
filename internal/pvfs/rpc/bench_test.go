package rpc

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/bmi"
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

// BenchmarkFlow moves 16 MiB from memory to memory.
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

// BenchmarkBare is BenchmarkNoop without this package: bmi alone, an echo.
func BenchmarkBare(b *testing.B) {
	for _, method := range []string{"mem", "tcp", "via+shm"} {
		b.Run(method, func(b *testing.B) {
			w := newWorld(b, method)
			ep := w.open(true)
			answers, err := ep.OpenContext()
			require.NoError(b, err)
			request := proto.AppendRequest(nil, nil, &proto.NoopReq{})
			go func() {
				var in [1]bmi.Unexpected
				for {
					n, err := ep.TestUnexpected(in[:], bmi.Forever)
					if err != nil {
						return
					}
					if n == 1 {
						_ = answers.Send(context.Background(), in[0].From, in[0].Tag, in[0].Data[:16])
						in[0].Release()
					}
				}
			}()
			_, c, to := w.raw(ep.Addresses()[0])
			answer := make([]byte, 16)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := c.Call(context.Background(), to, 0, 1, request, answer); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
