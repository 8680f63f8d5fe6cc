// Command samplesort sorts a file of records on several processes:
//
//	go build -o bin/ ./cmd/mpiexec ./examples/mpi/...
//	bin/mpiexec -n 4 bin/samplesort -generate 10000000 records sorted
//
// With -generate, the first file is made. All processes read parts of it, write their parts of the
// second one, read that again and verify that it is the first one sorted. All processes must see
// the same files. exchange.go has the messages, and examples/mpi/internal/samplesort the work of
// one process.
//
// bench/peers/samplesort.c is the same program in C, for other MPIs.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"os"
	"time"

	"github.com/viaduct-hpc/viaduct/examples/mpi/internal/samplesort"
	_ "github.com/viaduct-hpc/viaduct/methods/tcp" // tcp, tcps
	_ "github.com/viaduct-hpc/viaduct/methods/via" // via+shm, via+udp
	"github.com/viaduct-hpc/viaduct/mpi"
	_ "github.com/viaduct-hpc/viaduct/plugins" // what BMI_PLUGINS names
	_ "github.com/viaduct-hpc/viaduct/watch"   // VIADUCT_METRICS
)

// options are the command line's options.
type options struct {
	generate, seed uint64
	kind           string
	in, out        string
}

func main() {
	log.SetFlags(0)
	var o options
	flag.Uint64Var(&o.generate, "generate", 0, "make an input of this many records")
	flag.StringVar(&o.kind, "kind", "uniform", "keys to make: uniform, sorted, reverse, few, constant or skewed")
	flag.Uint64Var(&o.seed, "seed", 1, "seed of the random keys")
	flag.Usage = func() {
		fmt.Fprintln(flag.CommandLine.Output(), "usage: samplesort [options] INPUT OUTPUT")
		flag.PrintDefaults()
	}
	flag.Parse()
	if flag.NArg() != 2 {
		log.Fatalf("samplesort: give two files, of which the second is written, not %q", flag.Args())
	}
	o.in, o.out = flag.Arg(0), flag.Arg(1)
	err := mpi.Run(context.Background(), mpi.Options{}, func(ctx context.Context, p *mpi.Process) error {
		return run(ctx, p.World(), &o)
	})
	if err != nil {
		log.Fatal(err)
	}
}

// run is the whole job.
func run(ctx context.Context, w *mpi.Comm, o *options) error {
	if o.generate > 0 {
		if err := generate(ctx, w, o); err != nil {
			return err
		}
	}
	in, err := os.Open(o.in)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }() // it was only read
	info, err := in.Stat()
	if err != nil {
		return err
	}
	header, err := samplesort.ReadHeader(in, info.Size())
	if err != nil {
		return fmt.Errorf("%s: %w", o.in, err)
	}
	if os.SameFile(info, stat(o.out)) {
		return fmt.Errorf("samplesort: %s is the input, too: give another file for the output", o.out)
	}
	if err := w.Barrier(ctx); err != nil { // measure from when all have arrived
		return err
	}

	begin := time.Now()
	first, n := share(header.Count, w.Size(), w.Rank())
	records := make([]samplesort.Record, n)
	if err := samplesort.ReadRecords(in, first, records); err != nil {
		return err
	}
	sorted, err := sort(ctx, w, records)
	if err != nil {
		return err
	}
	if err := write(ctx, w, o.out, header, sorted); err != nil {
		return err
	}
	took := time.Since(begin).Seconds()
	if err := verify(ctx, w, o.out, header); err != nil {
		return err
	}
	if w.Rank() == 0 {
		fmt.Printf("samplesort: %d records on %d processes in %.3f s, verified\n", header.Count, w.Size(), took)
	}
	return nil
}

// stat returns nil for a file that does not exist.
func stat(name string) os.FileInfo {
	info, err := os.Stat(name)
	if err != nil {
		return nil
	}
	return info
}

// share returns a process's share of count records: the first one, and the number.
func share(count uint64, size, rank int) (first, n uint64) {
	each, more := count/uint64(size), count%uint64(size)
	first = uint64(rank)*each + min(uint64(rank), more)
	if uint64(rank) < more {
		each++
	}
	return first, each
}
