//go:build linux

package process

import (
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/go-plugin"
	"github.com/hashicorp/go-plugin/runner"
)

// Start starts a plugin and returns when it answers. An error is one of the Err values above, or
// comes from the context or the operating system.
func Start(ctx context.Context, cfg Config) (*Process, error) {
	cfg = cfg.withDefaults()
	p, err := start(ctx, cfg)
	if err != nil {
		return nil, fmt.Errorf("plugin %s (%s): %w", cfg.Name, cfg.Path, err)
	}
	cfg.Log.Info("plugin started", "path", cfg.Path, "pid", p.PID())
	return p, nil
}

func start(ctx context.Context, cfg Config) (*Process, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	path, err := filepath.Abs(cfg.Path)
	if err != nil {
		return nil, err
	}
	cfg.Path = path
	socket, theirs, err := socketPair()
	if err != nil {
		return nil, err
	}
	defer theirs.Close()
	p := &Process{cfg: cfg, socket: socket, child: newChild(cfg, theirs), done: make(chan struct{})}
	within, cancel := context.WithTimeout(ctx, cfg.StartTimeout)
	defer cancel()
	if err := p.begin(within); err != nil {
		return nil, p.abandon(ctx, within, err)
	}
	go p.watch()
	return p, nil
}

// begin starts the process, runs go-plugin's handshake and connects.
func (p *Process) begin(ctx context.Context) error {
	c := &plugin.ClientConfig{
		HandshakeConfig:  handshake(),
		Plugins:          plugin.PluginSet{setName: servicePlugin{}},
		AllowedProtocols: []plugin.Protocol{plugin.ProtocolGRPC},
		AutoMTLS:         !p.cfg.Plaintext,
		SkipHostEnv:      true,
		UnixSocketConfig: &plugin.UnixSocketConfig{TempDir: socketRoot()},
		StartTimeout:     p.cfg.StartTimeout + time.Second, // our own timeout comes first
		Logger:           goPluginLogger(p.cfg.Log),
		RunnerFunc: func(_ hclog.Logger, cmd *exec.Cmd, dir string) (runner.Runner, error) {
			p.child.env, p.child.socketDir = cmd.Env, dir
			return p.child, checksum(p.cfg)
		},
	}
	// When ctx ends, the process is killed, which ends the handshake.
	stop := context.AfterFunc(ctx, p.child.kill)
	address, err := plugin.NewClient(c).Start()
	if err == nil {
		err = p.connect(ctx, c, address)
	}
	if !stop() && err == nil {
		err = context.Cause(ctx)
	}
	return err
}

// checksum checks the file's checksum as go-plugin does, which skips the check when another runner
// starts the process.
func checksum(cfg Config) error {
	if cfg.SHA256 == nil {
		return nil
	}
	ok, err := (&plugin.SecureConfig{Checksum: cfg.SHA256, Hash: sha256.New()}).Check(cfg.Path)
	if err != nil {
		return fmt.Errorf("its checksum: %w", err)
	}
	if !ok {
		return fmt.Errorf("%w: the file is not the one that was meant; if it was replaced on purpose, give the new checksum (sha256sum %s)", ErrChecksum, cfg.Path)
	}
	return nil
}

// socketRoot returns the folder in which go-plugin makes a private folder for the socket. The
// socket's path must be short enough for an address.
func socketRoot() string {
	const addressBytesMax, ours = 107, 48
	if root := os.TempDir(); len(root)+ours <= addressBytesMax {
		return root
	}
	return "/tmp"
}
