package client

import (
	"strings"
	"sync"

	"github.com/viaduct-hpc/viaduct/bmi"
)

// A lender keeps memory that servers put bytes of their files into by one copy.
type lender struct {
	mu   sync.Mutex
	kept map[int][][]byte // by length
	over bool             // the file system is closed
}

// ReadMemory lends memory that bytes of the file are read into with less copying than into any other. nil
// says that there is none such for the method of its servers. It must be given back with ReturnMemory when
// nothing uses it any more, before the file system is closed.
func (f *File) ReadMemory(size int) []byte {
	c := f.fsys.core
	to := c.servers[c.data[0]].addr
	if !c.lends(to) {
		return nil
	}
	c.lender.mu.Lock()
	defer c.lender.mu.Unlock()
	if c.lender.over {
		return nil
	}
	if kept := c.lender.kept[size]; len(kept) > 0 {
		mem := kept[len(kept)-1]
		c.lender.kept[size] = kept[:len(kept)-1]
		return mem
	}
	mem, err := c.ep.AllocShared(to, size)
	if err != nil {
		return nil // other memory does, too
	}
	return mem
}

// ReturnMemory gives back what ReadMemory lent. It is kept for the next file.
func (f *File) ReturnMemory(mem []byte) {
	l := &f.fsys.lender
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.over {
		f.fsys.free(mem)
		return
	}
	if l.kept == nil {
		l.kept = make(map[int][][]byte)
	}
	l.kept[len(mem)] = append(l.kept[len(mem)], mem)
}

// lends tells whether a method has memory of its own, and servers send files over it as they are.
func (c *core) lends(a bmi.Addr) bool {
	method, _, _ := strings.Cut(a.String(), "://")
	for _, info := range c.ep.Info() {
		if info.Name == method {
			return info.RegisteredMemory && info.FileSends
		}
	}
	return false
}

// freeLent gives back to the endpoint what nobody has. An endpoint of the mount's own frees all that it has
// when it is closed.
func (c *core) freeLent() {
	c.lender.mu.Lock()
	defer c.lender.mu.Unlock()
	c.lender.over = true
	if c.ownEP {
		return
	}
	for _, kept := range c.lender.kept {
		for _, mem := range kept {
			c.free(mem)
		}
	}
	c.lender.kept = nil
}

func (c *core) free(mem []byte) {
	_ = c.ep.Free(c.servers[c.data[0]].addr, mem) // an endpoint that is closed freed it
}
