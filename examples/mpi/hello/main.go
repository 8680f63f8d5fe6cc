// Command hello prints a greeting from every process of a job, in rank order:
//
//	go build -o bin/ ./cmd/mpiexec ./examples/mpi/...
//	bin/mpiexec -n 4 bin/hello
package main

import (
	"context"
	"fmt"
	"log"

	_ "github.com/viaduct-hpc/viaduct/methods/tcp" // tcp, tcps
	_ "github.com/viaduct-hpc/viaduct/methods/via" // via+shm, via+udp
	"github.com/viaduct-hpc/viaduct/mpi"
	_ "github.com/viaduct-hpc/viaduct/plugins" // what BMI_PLUGINS names
	_ "github.com/viaduct-hpc/viaduct/watch"   // VIADUCT_METRICS
)

func main() {
	log.SetFlags(0)
	if err := mpi.Run(context.Background(), mpi.Options{}, hello); err != nil {
		log.Fatal(err)
	}
}

// greetingTag is the tag of this program's messages.
const greetingTag = 1

// hello sends a greeting to rank 0, which prints all of them. If every process printed its own, the
// order would be arbitrary.
func hello(ctx context.Context, p *mpi.Process) error {
	w := p.World()
	host, err := p.ProcessorName()
	if err != nil {
		return err
	}
	greeting := fmt.Sprintf("hello from rank %d of %d on %s", w.Rank(), w.Size(), host)
	if w.Rank() != 0 {
		return w.Send(ctx, mpi.Slice([]byte(greeting)), 0, greetingTag)
	}
	fmt.Println(greeting)
	for rank := 1; rank < w.Size(); rank++ {
		m, st, err := w.Mprobe(ctx, rank, greetingTag) // to learn its length
		if err != nil {
			return err
		}
		text := make([]byte, st.Bytes)
		if _, err := m.Recv(ctx, mpi.Slice(text)); err != nil {
			return err
		}
		fmt.Printf("%s\n", text)
	}
	return nil
}
