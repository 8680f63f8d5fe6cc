package main

import (
	"bytes"
	"context"
	"encoding/csv"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/viaduct-hpc/viaduct/internal/perf"
)

// ucxEnv keeps UCX to shared memory and a single copy by the kernel.
var ucxEnv = []string{"UCX_TLS=posix,cma,sysv,self", "UCX_WARN_UNUSED_ENV_VARS=n"}

// ucxContender runs ucx_perftest, once per point: it has no other way that works.
// Active messages are measured for 8 bytes only; the better of the two counts.
func ucxContender(cfg config) contender {
	if !find("ucx_perftest") {
		return absent(ucx, notInstalled)
	}
	return contender{name: ucx, run: func(ctx context.Context) ([]perf.Result, error) {
		var all []perf.Result
		for _, size := range latencySizes {
			r, err := ucxPoint(ctx, cfg, perf.Latency, "tag_lat", size)
			if err != nil {
				return nil, err
			}
			if size == rateSize {
				am, err := ucxPoint(ctx, cfg, perf.Latency, "ucp_am_lat", size)
				if err != nil {
					return nil, err
				}
				r.Median, r.P99 = min(r.Median, am.Median), min(r.P99, am.P99)
			}
			all = append(all, r)
		}
		r, err := ucxPoint(ctx, cfg, perf.Rate, "tag_bw", rateSize)
		if err != nil {
			return nil, err
		}
		all = append(all, r)
		for _, size := range bandwidthSizes {
			r, err := ucxPoint(ctx, cfg, perf.Bandwidth, "tag_bw", size)
			if err != nil {
				return nil, err
			}
			all = append(all, r)
		}
		return all, nil
	}}
}

// ucxPoint runs a server and a client for one point. The number of iterations
// must be given; it is what fits the time at a guessed 0.3 us and 10 GB/s.
func ucxPoint(ctx context.Context, cfg config, test perf.Test, name string, size int) (perf.Result, error) {
	guess := 0.6e-6 + float64(2*size)/10e9
	n := max(20, int(cfg.point.Seconds()/guess))
	common := []string{"-t", name, "-s", strconv.Itoa(size), "-n", strconv.Itoa(n), "-w", strconv.Itoa(max(10, n/5))}
	out, err := pairOfPrograms(ctx, cfg, "ucx_perftest", func(port int) (server, client []string) {
		at := []string{"-p", strconv.Itoa(port)}
		return at, append(append([]string{"127.0.0.1"}, at...), append(common, "-f", "-v")...)
	})
	if err != nil {
		return perf.Result{}, err
	}
	return parseUCX(out, test, size)
}

// parseUCX reads the last line of CSV: iterations, then half round trip or time
// per message in microseconds (median, average, overall), then MB/s (of 2^20
// bytes) and messages a second (average, overall each).
func parseUCX(out []byte, test perf.Test, size int) (perf.Result, error) {
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	fields, err := csv.NewReader(strings.NewReader(lines[len(lines)-1])).Read()
	if err != nil || len(fields) != 8 {
		return perf.Result{}, fmt.Errorf("ucx_perftest: cannot read %q", lines[len(lines)-1])
	}
	var v [8]float64
	for i, f := range fields {
		if v[i], err = strconv.ParseFloat(strings.TrimSpace(f), 64); err != nil {
			return perf.Result{}, fmt.Errorf("ucx_perftest: cannot read %q: %w", f, err)
		}
	}
	r := perf.Result{Test: test, Method: ucx, Size: size, Window: 1}
	switch test {
	case perf.Latency:
		// Its median is of single iterations, its average of all: the
		// better one counts.
		r.Unit, r.Median, r.P99 = perf.UnitMicros, min(v[1], v[3]), v[3]
	case perf.Rate:
		r.Unit, r.Median, r.P99 = perf.UnitMessages, v[7], v[7]
	default:
		r.Unit, r.Median = perf.UnitMB, v[7]*float64(size)/1e6
		r.P99 = r.Median
	}
	return r, nil
}

// pairOfPrograms runs a program twice, as a server on the far core and as a client
// on the near one, and gives what the client printed. The client is started again
// while the server does not listen yet.
func pairOfPrograms(ctx context.Context, cfg config, name string, args func(port int) (server, client []string)) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, runMax)
	defer cancel()
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	serverArgs, clientArgs := args(port)
	server := exec.CommandContext(ctx, name, serverArgs...)
	server.Env = append(os.Environ(), ucxEnv...)
	if err := startPinned(server, cfg.cores.Far); err != nil {
		return nil, err
	}
	defer func() {
		_ = server.Process.Kill()
		_ = server.Wait()
	}()
	const tries, pause = 40, 25 * time.Millisecond
	var last error
	for range tries {
		time.Sleep(pause)
		client := exec.CommandContext(ctx, name, clientArgs...)
		client.Env = append(os.Environ(), ucxEnv...)
		var out, errs bytes.Buffer
		client.Stdout, client.Stderr = &out, &errs
		if last = startPinned(client, cfg.cores.Near); last != nil {
			return nil, last
		}
		if last = client.Wait(); last == nil {
			return out.Bytes(), nil
		}
		last = fmt.Errorf("%s: %w: %s", name, last, lastLine(errs.String()))
		if ctx.Err() != nil {
			return nil, last
		}
	}
	return nil, last
}

func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer func() { _ = l.Close() }()
	return l.Addr().(*net.TCPAddr).Port, nil
}
