package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/viaduct-hpc/viaduct/internal/perf"
	pvfsconfig "github.com/viaduct-hpc/viaduct/pvfs/config"
)

const (
	pvfsServerCount = 2
	// pvfsReadyMax is how long servers may take until they answer, and pvfsStopMax until they end.
	pvfsReadyMax = time.Minute
	pvfsStopMax  = 5 * time.Second
)

// A fileSystem is a running file system; its servers keep everything in one folder.
type fileSystem struct {
	dir     string
	name    string
	servers []*perf.Child
	tcp     []string // their addresses
	shm     []string // the same; none for stock's
}

// startServers writes a configuration, for our own servers or stock's, and starts the command returned by command
// for each server.
func startServers(cfg config, own bool, command func(fs *fileSystem, conf, alias string) ([]string, error)) (fs *fileSystem, err error) {
	fs = &fileSystem{}
	if fs.dir, err = os.MkdirTemp(memoryFolder, memoryName("pvfs-")); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			fs.stop()
		}
	}()
	var gen pvfsconfig.GenOptions
	if own {
		gen.FlowBufferSize, gen.FlowBuffers = pvfsconfig.GoodFlowBufferSize, pvfsconfig.GoodFlowBuffers // as pvfsd genconfig does
	}
	for i := range pvfsServerCount {
		port, err := freePort()
		if err != nil {
			return nil, err
		}
		fs.tcp = append(fs.tcp, fmt.Sprintf("127.0.0.1:%d", port))
		address := "tcp://" + fs.tcp[i]
		if own {
			fs.shm = append(fs.shm, fmt.Sprintf("%s://bench-%d-%d", ours, os.Getpid(), port))
			address += "," + fs.shm[i]
		}
		at := func(what string) string { return filepath.Join(fs.dir, fmt.Sprint(what, i)) }
		gen.Servers = append(gen.Servers, pvfsconfig.GenServer{
			Alias: fmt.Sprint("server", i), Address: address, DataDir: at("data"), MetaDir: at("meta"), LogFile: at("log"),
		})
	}
	text, err := pvfsconfig.Generate(gen)
	if err != nil {
		return nil, err
	}
	parsed, err := pvfsconfig.Parse(text)
	if err != nil {
		return nil, err
	}
	fs.name = parsed.Name
	conf := filepath.Join(fs.dir, "fs.conf")
	table := fmt.Sprintf("tcp://%s/%s %s pvfs2 defaults,noauto 0 0\n", fs.tcp[0], fs.name, stockMount)
	if err := errors.Join(os.WriteFile(conf, []byte(text+"\n"), 0o600), os.WriteFile(fs.table(), []byte(table), 0o600)); err != nil {
		return nil, err
	}
	for _, s := range gen.Servers {
		line, err := command(fs, conf, s.Alias)
		if err != nil {
			return nil, err
		}
		// A server's output is too long to mix with ours.
		line = append([]string{"sh", "-c", `exec "$@" 2>>"$0"`, fs.log()}, onCores(cfg, line...)...)
		child, err := perf.StartChild("server", line)
		if err != nil {
			return nil, err
		}
		fs.servers = append(fs.servers, child)
	}
	if own {
		return fs, fs.await(fs.serve)
	}
	return fs, fs.await(fs.listen)
}

func (fs *fileSystem) log() string   { return filepath.Join(fs.dir, "log") }
func (fs *fileSystem) table() string { return filepath.Join(fs.dir, "pvfs2tab") }

// await waits until all servers are ready.
func (fs *fileSystem) await(ready func() error) error {
	until := time.Now().Add(pvfsReadyMax)
	for {
		err := ready()
		if err == nil {
			return nil
		}
		if slices.ContainsFunc(fs.servers, func(s *perf.Child) bool { return s.Dead.Load() }) || time.Now().After(until) {
			return fs.explain(fmt.Errorf("a server is not ready: %w", err))
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// listen returns nil if all servers accept connections over TCP.
func (fs *fileSystem) listen() error {
	for _, address := range fs.tcp {
		c, err := net.Dial("tcp", address)
		if err != nil {
			return err
		}
		_ = c.Close()
	}
	return nil
}

// serve returns nil if all of our servers have said that they serve: then they listen at all their addresses.
func (fs *fileSystem) serve() error {
	text, err := os.ReadFile(fs.log())
	if n := strings.Count(string(text), " serves "+fs.name+" at "); err == nil && n < len(fs.servers) {
		err = fmt.Errorf("%d of %d serve", n, len(fs.servers))
	}
	return err
}

// explain adds the last output of the servers.
func (fs *fileSystem) explain(err error) error {
	if text, no := os.ReadFile(fs.log()); no == nil && len(text) > 0 {
		return fmt.Errorf("%w; a server's last words: %s", err, lastLine(string(text)))
	}
	return err
}

// stop ends the servers and removes their files.
func (fs *fileSystem) stop() {
	for _, s := range fs.servers {
		_ = syscall.Kill(s.PID(), syscall.SIGTERM) // it may have ended
	}
	until := time.Now().Add(pvfsStopMax)
	for _, s := range fs.servers {
		for !s.Dead.Load() && time.Now().Before(until) {
			time.Sleep(2 * time.Millisecond)
		}
		s.Kill()
	}
	_ = os.RemoveAll(fs.dir) // leftover files are no reason to stop
}

// startOurs starts our servers.
func startOurs(_ context.Context, cfg config) (*fileSystem, error) {
	return startServers(cfg, true, func(_ *fileSystem, conf, alias string) ([]string, error) {
		return []string{cfg.pvfsd, "serve", "--config", conf, "--alias", alias, "--create"}, nil
	})
}

// ourClient is our client over a method.
func ourClient(cfg config, method string) clientKind {
	cp := func(fs *fileSystem, from, to string) []string {
		return []string{cfg.pvfs, "--fs", ourSource(fs, method), "cp", "--quiet", from, to}
	}
	return clientKind{
		in:  func(fs *fileSystem, local, name string) []string { return cp(fs, local, ":/"+name) },
		out: func(fs *fileSystem, local, name string) []string { return cp(fs, ":/"+name, local) },
		names: func(fs *fileSystem, prefix string) []string {
			return perf.SelfCommand(roleNames, ourSource(fs, method), prefix)
		},
		env: func(*fileSystem) []string { return nil },
	}
}

// ourSource is the source that our client mounts to reach servers over a method.
func ourSource(fs *fileSystem, method string) string {
	if method == ours {
		return fs.shm[0] + "/" + fs.name
	}
	return "tcp://" + fs.tcp[0] + "/" + fs.name
}
