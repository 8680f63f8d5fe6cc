package replay_test

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/viaduct-hpc/viaduct/internal/pvfs/replay"
	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// A deviation is a deliberate difference between the requests of our client and of stock clients.
type deviation struct {
	field string // "GETATTR Mask"; or "- GETATTR", which only stock clients send, or "+ GETATTR", which only ours sends
	where string // patterns of scenes
	why   string
	// when limits it to certain requests that only one side has. nil: all.
	when func(x *replay.Exchange, pairs []replay.Pair) bool
}

// deviations are all deviations.
var deviations = []deviation{
	// Fields with other values.
	{"GETATTR Mask", "*", "ours asks at once for all attributes that it keeps, stock clients for those that the next step needs", nil},
	{"LOOKUP_PATH Mask", "*", "the same; only servers of ours tell more than the common attributes there", nil},
	{"LISTATTR Mask", "08-ls", "pvfs2-ls without -l wants no sizes, the scene does", nil},
	{"LOOKUP_PATH Path", "0?-cp-* 1?-cp-* 25-* 3?-* 4?-* session/*", "ours asks for the rest of a path at once, these tools for its directory first", nil},
	{"CREATE server", "*", "where a new object goes is each client's choice", nil},
	{"MKDIR server", "*", "the same", nil},
	{"MKDIR Extents.First", "*", "these are the handles of that server", nil},
	{"MKDIR Extents.Last", "*", "the same", nil},
	{"BATCH_CREATE server", "*", "where a new object goes is each client's choice", nil},
	{"BATCH_CREATE Extents.First", "*", "these are the handles of that server", nil},
	{"BATCH_CREATE Extents.Last", "*", "the same", nil},
	{"SETATTR Attr.Mask", "0?-cp-* session/3", "pvfs2-cp sets all common attributes at the end, ours those that were asked for", nil},
	{"SETATTR Attr.Mask", "31-* 32-*", "ours sets what was asked for and lets the server set the time of change, stock clients add the type, which cannot change", nil},
	{"READDIR Count", "*", "ours asks for as many entries as an answer holds, stock clients for as many as there were when they asked", nil},
	{"FLUSH Capability.Issuer", "24-*", "ours shows a capability, which strict servers of ours want; stock clients show none", nil},
	{"FLUSH Capability.FS", "24-*", "the same", nil},
	{"FLUSH Capability.Mask", "24-*", "the same", nil},
	{"FLUSH Capability.Handles", "24-*", "the same", nil},
	{"LISTEATTR Capability.Issuer", "35-*", "the same", nil},
	{"LISTEATTR Capability.FS", "35-*", "the same", nil},
	{"LISTEATTR Capability.Mask", "35-*", "the same", nil},
	{"LISTEATTR Capability.Handles", "35-*", "the same", nil},
	{"LISTEATTR Sizes", "35-*", "ours has room for more keys and longer ones", nil},

	// Requests only of stock clients.
	{"- MGMT_NOOP", "00-* 01-*", "pvfs2-ping asks a server once as one of metadata and once as one of data", seldom},
	{"- STATFS", "37-*", "pvfs2-statfs asks a server once as one of metadata and once as one of data", seldom},
	{"- MGMT_SETPARAM", "00-* 01-*", "pvfs2-ping asks servers whether they know file system and root; the configuration says so", nil},
	{"- GETATTR", "00-* 01-*", "pvfs2-ping looks at the root directory", nil},
	{"- GETATTR", "*", "ours asks for a dirdata object only if somebody wants to know when entries were changed", ofDirdata},
	{"- GETATTR", "*", "ours keeps what it was told, stock clients ask again at the next step", seldom},
	{"- GETATTR", "15-*", "before each read that may go beyond the first strip they ask whether a file is still stuffed; ours does so without a capability, and once", nil},
	{"- GETEATTR", "13-*", "pvfs2-viewdist reads distribution and datafiles as extended attributes; they are in the attributes, too", nil},
	{"- TREE_GET_FILE_SIZE", "14-* 33-* session/6", "stock clients ask for the size beforehand, ours does where a read falls short or somebody asks for it", nil},
	{"- IO", "14-* 15-* session/6", "pvfs2-cp reads until it gets nothing, ours knows from a short answer where the file ends", beyondTheEnd},
	{"- READDIR", "27-*", "the tool wanted two entries at a time, ours gets all at once", nil},
	{"- RMDIRENT", "44-*", "ours looks first whether a directory is empty, so that its name is not missing in between", nil},
	{"- REMOVE", "44-*", "the same", nil},
	{"- CRDIRENT", "44-*", "nothing has to be put back", nil},

	{"- CREATE", "47-*", "the directory's capability says already that nothing may be made there", nil},

	// Requests only of ours.
	{"+ GETATTR", "47-*", "ours asks once more before it believes that a capability does not allow something", nil},
	{"+ SETATTR", "0?-cp-* 16-* 19-* 2?-truncate* session/3", "ours lets the server set the time of modification of a file whose bytes were changed", onlyTimes},
	{"+ LOOKUP_PATH", "44-* 48-* 49-* 51-* session/[789]", "ours looks first what it is to remove, as a directory must be empty", nil},
	{"+ LOOKUP_PATH", "47-*", "after a refusal ours looks whether the name was there, which matters more", nil},
	{"+ READDIR", "44-* 51-* session/9", "ours looks first whether a directory is empty", nil},
	{"+ GETATTR", "0?-cp-* session/3", "the mode was changed, so ours asks for a capability that fits it", nil},
	{"+ GETATTR", "44-* 49-* 51-* session/[789]", "ours asks again right before it removes, as another client may have unstuffed the file or spread the directory", nil},
	{"+ GETATTR", "35-*", "ours asks for the capability that it shows", nil},
	{"+ GETATTR", "25-*", "ours looks whether it is a directory that is renamed", nil},
	{"+ GETEATTR", "36-*", "ours looks first whether there is such an attribute, or it could not tell later whether a removal whose answer was lost took place", nil},
	{"+ SMALL_IO", "15-*", "the end of a stuffed file is known, so that its bytes fit into the answer", nil},
}

// seldom: the same was requested, except for the mask of attributes, but less often.
func seldom(x *replay.Exchange, pairs []replay.Pair) bool {
	for _, p := range pairs {
		if p.Captured == nil || p.Live == nil {
			continue
		}
		same, err := replay.Pairs([]*replay.Exchange{p.Captured}, []*replay.Exchange{x})
		if err != nil || len(same) != 1 {
			continue
		}
		if !slices.ContainsFunc(same[0].Differences, func(d replay.Difference) bool { return d.Field != "GETATTR Mask" }) {
			return true
		}
	}
	return false
}

// beyondTheEnd: a read beyond the data of the file, or of a file whose data was moved in another way.
func beyondTheEnd(x *replay.Exchange, pairs []replay.Pair) bool {
	for _, p := range pairs {
		if p.Captured == nil && opOf(p.Live) == proto.OpSmallIO {
			return true
		}
	}
	_, req, _ := proto.ParseRequest(x.Request)
	return req.(*proto.IOReq).FileOffset > 0
}

// ofDirdata: a request for attributes of a dirdata object.
func ofDirdata(x *replay.Exchange, _ []replay.Pair) bool {
	_, req, _ := proto.ParseRequest(x.Request)
	return req.(*proto.GetAttrReq).Mask == proto.AttrOfDirdata
}

// onlyTimes: a request that sets only mtime.
func onlyTimes(x *replay.Exchange, _ []replay.Pair) bool {
	_, req, _ := proto.ParseRequest(x.Request)
	return req.(*proto.SetAttrReq).Attr.Mask == proto.AttrMTime|proto.AttrCTime
}

func opOf(x *replay.Exchange) proto.Op {
	op, _ := proto.OpOf(x.Request)
	return op
}

// judge returns the differences that no deviation explains, one line each, and marks the deviations that explain one.
func judge(scene string, pairs []replay.Pair, used map[*deviation]bool) (problems []string) {
	alike := 0
	alone := func(x *replay.Exchange, field, what string) {
		if !allowed(scene, field+opOf(x).String(), x, pairs, used) {
			_, req, _ := proto.ParseRequest(x.Request)
			problems = append(problems, fmt.Sprintf("%s: %s", what, req))
		}
	}
	for _, p := range pairs {
		switch {
		case p.Live == nil:
			alone(p.Captured, "- ", "not asked")
			continue
		case p.Captured == nil:
			alone(p.Live, "+ ", "only ours asks")
			continue
		}
		for _, d := range p.Differences {
			if !allowed(scene, d.Field, nil, pairs, used) {
				problems = append(problems, d.String())
			}
		}
		alike++
	}
	if alike == 0 {
		problems = append(problems, "nothing was asked alike")
	}
	return problems
}

// allowed reports whether a deviation explains a field, or a request that only one side has.
func allowed(scene, field string, x *replay.Exchange, pairs []replay.Pair, used map[*deviation]bool) bool {
	for i := range deviations {
		d := &deviations[i]
		if d.field == field && d.covers(scene) && (d.when == nil || d.when(x, pairs)) {
			used[d] = true
			return true
		}
	}
	return false
}

func (d *deviation) covers(scene string) bool {
	for _, pattern := range strings.Fields(d.where) {
		if ok, _ := path.Match(pattern, scene); ok || pattern == "*" {
			return true
		}
	}
	return false
}

// invent answers requests that only our client sends.
func invent(scene string, req proto.Request) []byte {
	switch req := req.(type) {
	case *proto.LookupPathReq:
		if scene == "session/8" { // the session listed it, but did not look it up
			return (&proto.LookupPathResp{Handles: []proto.Handle{4611686018427384793}}).Append(nil)
		}
		return proto.AppendStatus(nil, req.Op(), proto.ENOENT)
	case *proto.SetAttrReq:
		return (&proto.SetAttrResp{}).Append(nil)
	case *proto.GetEattrReq:
		return (&proto.GetEattrResp{Values: [][]byte{[]byte("bar\x00")}, Errors: []proto.Status{proto.OK}}).Append(nil)
	case *proto.ReadDirReq:
		resp := &proto.ReadDirResp{Token: proto.TokenEnd}
		if strings.HasPrefix(scene, "44-") {
			resp.Entries = []proto.DirEntry{{Name: "f", Handle: 4611686018427384787}}
		}
		return resp.Append(nil)
	case *proto.SmallIOReq:
		return (&proto.SmallIOResp{Type: proto.IORead, Size: req.Aggregate, Result: req.Aggregate, Data: lines(int(req.Aggregate))}).Append(nil)
	}
	return nil
}
