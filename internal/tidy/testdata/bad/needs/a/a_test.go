package a

import (
	"net"
	"os/exec"
	"testing"

	"github.com/viaduct-hpc/viaduct/internal/need"
)

func TestPrograms(t *testing.T) {
	if _, err := exec.LookPath("ip"); err != nil { // bad
		t.Skip("no ip")
	}
	_ = exec.Command("tshark")                           // bad
	_ = exec.CommandContext(t.Context(), "mpirun", "-n") // bad
	_ = exec.Command("/bin/sh")
	_ = exec.Command(need.Program(t, "fio"))
	_ = exec.Command("go", "build", "-o", "x", "./a") // bad
	_ = exec.Command("go", "build", "-o", "x", ".")
	_ = exec.Command("go", "env", "GOCACHE")
}

func TestOrder(t *testing.T) {
	waited := make(chan int)
	go func() { waited <- 1 }()
	t.Skip("after a goroutine") // bad
}

func TestOrderOfHelpers(t *testing.T) {
	l, _ := net.Listen("tcp", ":0")
	helper(t) // bad
	l.Close()
	cmd := exec.Command("sleep", "1")
	cmd.Start()
	need.Program(t, "fio") // bad
}

func helper(t *testing.T) { inner(t) }

func inner(t *testing.T) { need.Program(t, "fio") }

func TestOthers(t *testing.T) {
	l, _ := net.Listen("tcp", ":0")
	t.Cleanup(func() { l.Close() })
	helper(t)
	l, _ = net.Listen("tcp", ":0")
	defer l.Close()
	t.Run("it is a test of its own", func(t *testing.T) {
		helper(t)
		go func() {}()
	})
}
