package tcp

import (
	"errors"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/internal/tcp/stack"
	"github.com/viaduct-hpc/viaduct/internal/tcp/stack/kernel"
	"github.com/viaduct-hpc/viaduct/internal/tcp/stack/secure"
)

// Every program that imports this package has the method over the kernel's
// sockets, plain and inside TLS.
func init() {
	bmi.Register(DriverOver("tcp", plain))
	bmi.Register(privateDriver{driver{"tcps", private}})
}

// plain opens the kernel's sockets.
func plain(opts Options) (stack.Stack, error) {
	if opts.TLS != (TLS{}) {
		return nil, errors.New("the option TLS is for tcps, plain tcp proves and hides nothing")
	}
	return sockets(opts)
}

// private opens the kernel's sockets and puts TLS over them.
func private(opts Options) (stack.Stack, error) {
	load := opts.TLS.Load
	if opts.TLS == (TLS{}) {
		load = secure.FromEnv
	}
	cfg, err := load()
	if err != nil {
		return nil, err
	}
	inner, err := sockets(opts)
	if err != nil {
		return nil, err
	}
	s, err := secure.Over(inner, cfg)
	if err != nil {
		return nil, errors.Join(err, inner.Close())
	}
	return s, nil
}

func sockets(opts Options) (stack.Stack, error) {
	return kernel.Open(kernel.Options{
		KeepIdle: opts.KeepAlive, KeepInterval: opts.KeepAlive, UserTimeout: opts.UserTimeout,
		SendBuffer: opts.SocketBytes, RecvBuffer: opts.SocketBytes,
	})
}
