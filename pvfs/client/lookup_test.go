package client

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// TestStatIsOneRequest: servers of ours return all attributes of a file or symlink with its handle.
func TestStatIsOneRequest(t *testing.T) {
	k, f := newFake(t, Options{NameTime: -1})
	k.ours = true
	h := fileAt(t, k, f, "f", 0)
	k.objects[k.objects[h].attr.Datafiles[0]].size = 5
	require.NoError(t, f.Symlink(ctx, "f", "l"))
	for i := range 3 {
		makeTree(t, f, fmt.Sprint("d", i, "/"))
	}
	_, err := f.StatCtx(ctx, "/")
	require.NoError(t, err)
	for h := range k.objects {
		if h != 10 {
			n := f.table.get(h)
			n.changed()
			f.put(n)
		}
	}
	k.take()
	i, err := f.StatCtx(ctx, "f")
	require.NoError(t, err)
	assert.EqualValues(t, 5, i.Size())
	assert.Equal(t, "LOOKUP_PATH", k.take())
	target, err := f.ReadLinkCtx(ctx, "l")
	require.NoError(t, err)
	assert.Equal(t, "f", target)
	want := "LOOKUP_PATH"
	if k.server(k.objects[k.objects[10].attr.DistDir.Dirdata[0]].entries["l"]) != 0 {
		want += " GETATTR"
	}
	assert.Equal(t, want, k.take())

	k.ours = false
	n := f.table.get(h)
	n.changed()
	f.put(n)
	_, err = f.StatCtx(ctx, "f")
	require.NoError(t, err)
	assert.Equal(t, "LOOKUP_PATH GETATTR", k.take(), "others tell the common attributes only")
}

// TestFoundAndChanged: the answer to a lookup is not cached if this client changed the object after the request was sent. The
// object was not known at that time.
func TestFoundAndChanged(t *testing.T) {
	for _, forgotten := range []bool{false, true} {
		opt := Options{NameTime: -1}
		if forgotten {
			opt.Objects = -1
		}
		k, f := newFake(t, opt)
		k.ours = true
		h := fileAt(t, k, f, "f", 0)
		data := k.objects[k.objects[h].attr.Datafiles[0]]
		n := f.table.get(h)
		n.changed()
		f.put(n)
		var asked proto.Attr
		k.fail = func(req proto.Request, _ *proto.Header) (bool, error) {
			if req.Op() != proto.OpLookupPath {
				return false, nil
			}
			asked = k.attrOf(h, k.objects[h], nil)
			n := f.table.get(h)
			n.resized()
			f.put(n)
			f.table.max = objectsMax // whether or not it was dropped, from now on it is cached
			return false, nil
		}
		data.size = 7
		_, err := f.lookup(ctx, f.table.get(10), []string{"f"})
		require.NoError(t, err)
		n = f.table.get(h)
		_, kept := n.keptSize(f.opt.Clock(), time.Hour)
		f.put(n)
		assert.EqualValues(t, 7, asked.StuffedSize)
		assert.False(t, kept, "the answer may be from before the change")
	}
}
