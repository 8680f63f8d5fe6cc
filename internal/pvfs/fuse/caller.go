package fuse

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	gofuse "github.com/hanwen/go-fuse/v2/fuse"

	"github.com/viaduct-hpc/viaduct/pvfs/client"
)

// patience is how long an operation may go on after its caller was interrupted. Most operations complete in that time. Some
// programs get many signals, and half an operation is worse than a late signal.
const patience = 2 * time.Second

// view is the file system for the caller of a request.
func (m *Mount) view(ctx context.Context) *client.FS {
	if !m.opt.Callers {
		return m.fsys
	}
	c, ok := gofuse.FromContext(ctx)
	if !ok || c.Pid == 0 && c.Uid == 0 {
		return m.fsys // the caller is the kernel itself
	}
	return m.fsys.As(identity(c))
}

// identity is a caller's identity for the servers.
func identity(c *gofuse.Caller) client.Identity {
	groups := []uint32{c.Gid}
	if c.Uid == 0 {
		return client.Identity{UID: 0, Groups: groups}
	}
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", c.Pid))
	if err == nil {
		for _, g := range groupsIn(string(status)) {
			if !slices.Contains(groups, g) {
				groups = append(groups, g)
			}
		}
	}
	return client.Identity{UID: c.Uid, Groups: groups}
}

// groupsIn parses the supplementary groups in a process's status.
func groupsIn(status string) []uint32 {
	for line := range strings.Lines(status) {
		list, ok := strings.CutPrefix(line, "Groups:")
		if !ok {
			continue
		}
		var groups []uint32
		for field := range strings.FieldsSeq(list) {
			if g, err := strconv.ParseUint(field, 10, 32); err == nil {
				groups = append(groups, uint32(g))
			}
		}
		return groups
	}
	return nil
}

// patient returns a context that ends some time after the caller was interrupted. Call done.
func patient(request context.Context) (ctx context.Context, done func()) {
	ctx, cancel := context.WithCancel(context.Background())
	stop := context.AfterFunc(request, func() {
		timer := time.AfterFunc(patience, cancel)
		context.AfterFunc(ctx, func() { timer.Stop() })
	})
	return ctx, func() { stop(); cancel() }
}
