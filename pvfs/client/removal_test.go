package client

import (
	"errors"
	"io/fs"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/pvfs/rpc"
	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// fileAt makes a file on one of the fake's servers.
func fileAt(t *testing.T, k *fake, f *FS, name string, server int) proto.Handle {
	for {
		makeTree(t, f, name)
		i, err := f.StatCtx(ctx, name)
		require.NoError(t, err)
		if k.server(i.Handle) == server {
			k.take()
			return i.Handle
		}
		require.NoError(t, f.Remove(ctx, name))
	}
}

// TestRemoveRequests counts the requests of a removal.
func TestRemoveRequests(t *testing.T) {
	k, f := newFake(t, Options{})
	k.ours = true
	before := k.count()
	fileAt(t, k, f, "f", 0)
	require.NoError(t, f.Remove(ctx, "f"))
	assert.Equal(t, "RMDIRENT", k.take(), "directory and file have the same server")
	_, err := f.StatCtx(ctx, "f")
	require.ErrorIs(t, err, fs.ErrNotExist)
	k.take()

	fileAt(t, k, f, "f", 1)
	f.kinds[1].Store(kindUnknown)
	require.NoError(t, f.Remove(ctx, "f"))
	assert.Equal(t, "GETATTR REMOVE RMDIRENT", inAnyOrder(k.take()), "the file's server is not known yet: two at once")
	fileAt(t, k, f, "f", 1)
	require.NoError(t, f.Remove(ctx, "f"))
	assert.Equal(t, "RMDIRENT REMOVE", k.take())

	k.leaves = true
	fileAt(t, k, f, "f", 1)
	f.kinds[1].Store(kindUnknown)
	require.NoError(t, f.Remove(ctx, "f"))
	assert.Equal(t, "GETATTR RMDIRENT", k.take(), "the name's server knows the file's")
	fileAt(t, k, f, "f", 1)
	require.NoError(t, f.Remove(ctx, "f"))
	assert.Equal(t, "RMDIRENT", k.take(), "so the client does now")
	k.leaves = false

	fileAt(t, k, f, "f", 1)
	makeTree(t, f, "g")
	k.take()
	require.NoError(t, f.Rename(ctx, "g", "f"))
	assert.Equal(t, "CHDIRENT RMDIRENT REMOVE", k.take(), "what is renamed over")
	require.NoError(t, f.Remove(ctx, "f"))
	assert.Equal(t, before, k.count(), "nothing is left over")

	k.ours = false
	f.kinds[0].Store(kindUnknown)
	f.kinds[1].Store(kindUnknown)
	fileAt(t, k, f, "f", 0)
	require.NoError(t, f.Remove(ctx, "f"))
	assert.Equal(t, "GETATTR RMDIRENT TREE_REMOVE", k.take(), "servers that do not know the hint: two trips")
	assert.Equal(t, before, k.count())

	h := fileAt(t, k, f, "f", 0)
	o, elsewhere := k.objects[h], k.alloc(1)+20000
	k.objects[elsewhere] = k.objects[o.attr.Datafiles[0]]
	delete(k.objects, o.attr.Datafiles[0])
	o.attr.Datafiles = []proto.Handle{elsewhere}
	require.NoError(t, f.Remove(ctx, "f"))
	assert.Equal(t, "GETATTR RMDIRENT TREE_REMOVE REMOVE", k.take(), "file and datafiles on two servers: the last two at once")
	assert.Equal(t, before, k.count())
}

func inAnyOrder(requests string) string {
	all := strings.Fields(requests)
	slices.Sort(all)
	return strings.Join(all, " ")
}

// TestAnotherServer: no datafiles remain if another kind of server has replaced a server of ours.
func TestAnotherServer(t *testing.T) {
	k, f := newFake(t, Options{})
	k.ours = true
	before := k.count()
	fileAt(t, k, f, "f", 1)
	f.kinds[1].Store(kindOurs)
	k.ours = false
	require.NoError(t, f.Remove(ctx, "f"))
	assert.Equal(t, "RMDIRENT REMOVE TREE_REMOVE", k.take())
	assert.Equal(t, before, k.count())

	k.ours = true
	fileAt(t, k, f, "f", 1)
	f.kinds[1].Store(kindOurs)
	f.table.init(0) // nothing about the file is cached
	require.NoError(t, f.Remove(ctx, "f"))
	k.take()
	assert.Equal(t, before, k.count())

	f.kinds[1].Store(kindOurs)
	fileAt(t, k, f, "f", 1)
	tries := 0
	k.fail = func(req proto.Request, _ *proto.Header) (bool, error) {
		if req.Op() == proto.OpRemove {
			if tries++; tries == 1 {
				k.ours = false
				return false, &rpc.CallError{Op: req.Op(), Kind: rpc.ErrNoAnswer, Err: errors.New("gone")}
			}
		}
		return false, nil
	}
	require.NoError(t, f.Remove(ctx, "f"))
	assert.Equal(t, before, k.count(), "it came back as another while the request was under way")
	assert.Equal(t, kindOther, f.kinds[1].Load())
}

// TestLostRemoval: the answer to the request that removed the name and the file is lost.
func TestLostRemoval(t *testing.T) {
	k, f := newFake(t, Options{})
	k.ours = true
	before := k.count()
	fileAt(t, k, f, "f", 0)
	lost := 0
	k.fail = func(req proto.Request, _ *proto.Header) (bool, error) {
		if req.Op() == proto.OpRmDirent && lost == 0 {
			lost++
			return true, &rpc.CallError{Op: req.Op(), Kind: rpc.ErrNoAnswer, Err: errors.New("lost")}
		}
		return false, nil
	}
	require.NoError(t, f.Remove(ctx, "f"))
	assert.Equal(t, 1, lost)
	assert.Equal(t, before, k.count())
}

// TestRemoveOpenOurs: servers of ours also keep open files, and do not remove another object that has the name instead of the
// expected one.
func TestRemoveOpenOurs(t *testing.T) {
	k, f := newFake(t, Options{})
	k.ours = true
	before := k.count()
	h := fileAt(t, k, f, "f", 0)
	file, err := f.OpenFile(ctx, "f", os.O_RDWR, 0)
	require.NoError(t, err)
	require.NoError(t, f.Remove(ctx, "f"))
	assert.NotNil(t, k.objects[h])
	require.NoError(t, file.Close())
	assert.Equal(t, before, k.count())

	fileAt(t, k, f, "f", 0)
	fileAt(t, k, f, "open", 0)
	file, err = f.OpenFile(ctx, "open", os.O_RDWR, 0)
	require.NoError(t, err)
	other := &FS{core: f.core, user: f.user, ctx: ctx}
	entries := k.objects[k.objects[10].attr.DistDir.Dirdata[0]].entries
	gone := entries["f"]
	entries["f"] = file.node.handle // another client renamed it
	delete(entries, "open")
	require.NoError(t, other.Remove(ctx, "f"))
	assert.NotNil(t, k.objects[file.node.handle], "it is open")
	require.NoError(t, file.Close())
	k.drop(gone)
	assert.Equal(t, before, k.count())
}

// TestOpenWhileRemoved: an open during a removal either comes first, and can use the file, or comes after it.
func TestOpenWhileRemoved(t *testing.T) {
	k, f := newFake(t, Options{})
	k.ours = true
	fileAt(t, k, f, "f", 0)
	opened := make(chan error, 1)
	began := make(chan struct{})
	k.fail = func(req proto.Request, _ *proto.Header) (bool, error) {
		if req.Op() == proto.OpRmDirent {
			go func() {
				p, err := f.walk(ctx, "f", noFollow) // name and attributes are cached
				close(began)
				if err == nil {
					defer p.release()
					_, err = f.openThere(ctx, p, os.O_RDONLY)
				}
				opened <- err
			}()
			<-began
		}
		return false, nil
	}
	require.NoError(t, f.Remove(ctx, "f"))
	assert.ErrorIs(t, <-opened, fs.ErrNotExist)
}

// TestRefusedRemoval: a user without the right to remove a name gets that error even if the file's server is down.
func TestRefusedRemoval(t *testing.T) {
	k, f := newFake(t, Options{RetryLimit: 10, RetryDelay: time.Hour})
	h := fileAt(t, k, f, "f", 1)
	k.fail = func(req proto.Request, _ *proto.Header) (bool, error) {
		switch req := req.(type) {
		case *proto.RmDirentReq:
			return false, proto.EACCES
		case *proto.GetAttrReq:
			if req.Handle == h {
				return false, &rpc.CallError{Op: req.Op(), Kind: rpc.ErrNotSent, Err: errors.New("away")}
			}
		}
		return false, nil
	}
	require.ErrorIs(t, f.Remove(ctx, "f"), proto.EACCES)
}

// TestRemoveOpenWhileAway: the removal of an open file's name does not wait for the file's server if that is down.
func TestRemoveOpenWhileAway(t *testing.T) {
	k, f := newFake(t, Options{RetryLimit: 10, RetryDelay: time.Hour})
	before := k.count()
	h := fileAt(t, k, f, "f", 1)
	file, err := f.OpenFile(ctx, "f", os.O_RDWR, 0)
	require.NoError(t, err)
	k.fail = func(req proto.Request, _ *proto.Header) (bool, error) {
		if req, ok := req.(*proto.GetAttrReq); ok && req.Handle == h {
			return false, &rpc.CallError{Op: req.Op(), Kind: rpc.ErrNotSent, Err: errors.New("away")}
		}
		return false, nil
	}
	require.NoError(t, f.Remove(ctx, "f"))
	k.fail = nil
	require.NoError(t, file.Close())
	require.Equal(t, before, k.count())
}
