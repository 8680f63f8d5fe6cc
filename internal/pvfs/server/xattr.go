package server

import (
	"bytes"
	"encoding/binary"
	"slices"
	"strconv"
	"strings"

	"github.com/viaduct-hpc/viaduct/internal/pvfs/rights"
	"github.com/viaduct-hpc/viaduct/internal/pvfs/store"
	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// Each extended attribute is in a name space. The server's own records of an object appear in a space of their own, and cannot be
// set there.
const systemSpace = "system.pvfs2."

var spaces = []string{"system.", "user.", "trusted.", "security."}

// inSpace reports whether a name is in a known space.
func inSpace(name string) bool {
	return slices.ContainsFunc(spaces, func(space string) bool {
		return strings.HasPrefix(name, space) && len(name) > len(space)
	})
}

// readable checks a name to be read. ENOENT: there cannot be such an attribute.
func readable(name string) error {
	switch {
	case len(name) > proto.MaxName:
		return proto.EINVAL
	case !inSpace(name):
		return proto.ENOENT
	}
	return nil
}

// writable checks a name and a value to be set.
func writable(name string, value []byte) error {
	switch {
	case len(name) > proto.MaxName, len(value) > proto.MaxXattrValue, strings.HasPrefix(name, systemSpace):
		return proto.EINVAL
	case !inSpace(name), strings.ContainsRune(name, 0):
		return proto.EOPNOTSUPP
	case (name == rights.ACLName || name == rights.ACLDefault) && !rights.ValidACL(value):
		return proto.EINVAL
	case name == flagsName && len(value) != flagsLen:
		return proto.EINVAL
	case name == mirrorName && !bytes.Equal(value, noMirrors):
		return proto.EOPNOTSUPP
	}
	return hintable(name, value)
}

// hintable checks the value of an attribute of a directory that says how the files in it are made: with another, nobody could make
// any. EINVAL.
func hintable(name string, value []byte) error {
	key, hint := strings.CutPrefix(name, hintSpace)
	if !hint {
		return nil
	}
	text := strings.TrimRight(string(value), "\x00") // as stock programs set it
	ok := true
	switch key {
	case "num_dfiles":
		n, err := strconv.ParseUint(text, 10, 31)
		ok = err == nil && 0 < n && n <= proto.MaxDatafiles
	case "layout":
		n, err := strconv.ParseUint(text, 10, 31)
		ok = err == nil && n <= uint64(proto.LayoutLocal)
	case "dist_name":
		ok = slices.Contains([]string{proto.DistStripe, proto.DistBasic, proto.DistVar, proto.DistTwoD}, text)
	case "dist_params":
		ok = !strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r > '~' })
	}
	if !ok {
		return proto.EINVAL
	}
	return nil
}

// Extended attributes that users set and that have a meaning: the flags of a file, which are also attributes of it, and when to
// copy it to mirrors, which this server does not do.
const (
	hintSpace  = "user.pvfs2."
	flagsName  = "user.pvfs2.meta_hint"
	flagsLen   = 8
	mirrorName = "user.pvfs2.mirror.mode"
)

// noMirrors is the only value that mirrorName accepts.
var noMirrors = []byte{100, 0, 0, 0}

// What extended attributes need.
const xattrText = "set attributes; for trusted. and security. administer"

// xattrRights are the rights that a change of extended attributes needs.
func xattrRights(req proto.Request) proto.OpMask {
	var names []string
	switch r := req.(type) {
	case *proto.SetEattrReq:
		names = r.Keys
	case *proto.DelEattrReq:
		names = []string{r.Key}
	case *proto.AtomicEattrReq:
		names = r.Keys
	}
	return rights.ToSetXattrs(names)
}

// xattrsSet is what SETEATTR needs. One with an order for a scrub is for administrators.
func xattrsSet() need {
	n := object(objectName, func(r *proto.SetEattrReq) proto.Handle { return r.Handle }).byRequest(xattrText+"; for a new directory's hints create in its parent", xattrRights)
	shown := n.shown
	n.shown = func(s *Server, q *query, objects []proto.Handle) error {
		req := q.req.(*proto.SetEattrReq)
		if isScrubOrder(req) {
			return s.mayAdminister(q)
		}
		err := shown(s, q, objects)
		if err != nil && s.inherits(q, req) {
			q.inherits, err = true, nil
		}
		return err
	}
	return n
}

// xattrsRead is what GETEATTR needs. Some keys are no attributes: the state of a scrub, for administrators; damage in
// a file's bytes, for whoever may read it; and facts, for servers.
func xattrsRead() need {
	n := object(objectName, func(r *proto.GetEattrReq) proto.Handle { return r.Handle }).known()
	n.rights = "on a strict server: read for user., administer for trusted."
	n.shown = func(s *Server, q *query, objects []proto.Handle) error {
		req := q.req.(*proto.GetEattrReq)
		if len(req.Keys) == 1 {
			if _, scrub := proto.ParseScrubKey(req.Keys[0]); scrub {
				return s.mayAdminister(q)
			}
			switch req.Keys[0] {
			case proto.DamageKey:
				return q.mayIO(objects, proto.MayRead)
			case proto.FactsKey:
				return s.maySend(q, servers)
			}
		}
		if !s.cfg.Strict {
			return nil
		}
		if q.Shows.Proof == rights.Nothing {
			return proto.EACCES
		}
		for _, name := range req.Keys {
			if err := q.may(rights.ToReadXattr(name), objects...); err != nil {
				return err
			}
		}
		return nil
	}
	return n
}

// missing is the status of an attribute that does not exist, as stock servers return it.
func missing(err error) error {
	if proto.StatusOf(err) == proto.ENODATA {
		return proto.ENOENT
	}
	return err
}

// xattrOf reads an extended attribute, a user's or a server's.
func xattrOf(tx *store.Tx, h proto.Handle, o *store.Object, name string) ([]byte, error) {
	if key, ok := strings.CutPrefix(name, systemSpace); ok {
		for _, v := range visible(o) {
			if v.key == key {
				return v.value(), nil
			}
		}
		return nil, proto.ENOENT
	}
	v, err := tx.Xattr(h, name)
	return v, missing(err)
}

// getEattr reads extended attributes. It succeeds if at least one exists.
func (s *Server) getEattr(q *query, req *proto.GetEattrReq) (*proto.GetEattrResp, error) {
	n := len(req.Keys)
	if n < 1 || n > proto.MaxXattrs || len(req.Sizes) != n {
		return nil, proto.EINVAL
	}
	if from, ok := proto.ParseScrubKey(req.Keys[0]); ok && n == 1 {
		return s.reportScrub(from)
	}
	if n == 1 {
		switch req.Keys[0] {
		case proto.DamageKey:
			return s.damageOf(req.Handle)
		case proto.FactsKey:
			return s.tellFacts(q, req.Handle)
		}
	}
	for _, name := range req.Keys {
		if err := readable(name); err != nil {
			return nil, err
		}
	}
	resp := &proto.GetEattrResp{}
	err := s.view(q, func(tx *store.Tx) error {
		o, err := tx.Get(req.Handle)
		if err == nil {
			resp.Values, resp.Errors, err = readXattrs(tx, req.Handle, &o, req.Keys, req.Sizes)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return resp, nil
}

// readXattrs reads several attributes. If none can be read, the error is that of the first. ERANGE: the value does not fit; that
// counts as success, because the attribute exists.
func readXattrs(tx *store.Tx, h proto.Handle, o *store.Object, names []string, sizes []int64) ([][]byte, []proto.Status, error) {
	values, status := make([][]byte, len(names)), make([]proto.Status, len(names))
	found := false
	for i, name := range names {
		v, err := xattrOf(tx, h, o, name)
		switch {
		case err != nil:
			status[i] = proto.StatusOf(err)
			continue
		case int64(len(v)) > sizes[i]:
			status[i] = proto.ERANGE
		default:
			values[i] = v
		}
		found = true
	}
	if !found {
		return nil, nil, status[0]
	}
	return values, status, nil
}

// setEattr sets extended attributes, all or none.
func (s *Server) setEattr(q *query, req *proto.SetEattrReq) (*proto.SetEattrResp, error) {
	if isScrubOrder(req) {
		return s.orderScrub(req.Values[0])
	}
	mode := store.XattrMode(req.Flags)
	if q.inherits {
		mode = store.XattrCreate
	}
	n := len(req.Keys)
	if n < 1 || n > proto.MaxXattrs || len(req.Values) != n || req.Flags < 0 || req.Flags > 2 {
		return nil, proto.EINVAL
	}
	for i, name := range req.Keys {
		if err := writable(name, req.Values[i]); err != nil {
			return nil, err
		}
	}
	err := s.update(q, func(tx *store.Tx) error {
		for i, name := range req.Keys {
			if err := tx.SetXattr(req.Handle, name, req.Values[i], mode); err != nil {
				return missing(err)
			}
		}
		return s.changed(tx, q, req.Handle, req.Keys...)
	})
	if err != nil {
		return nil, err
	}
	return &proto.SetEattrResp{}, nil
}

// changed is called after extended attributes of these names were set or removed. It sets the ctime to now, and updates the flags
// of a file. If the access control list changed, it withdraws earlier capabilities.
func (s *Server) changed(tx *store.Tx, q *query, h proto.Handle, names ...string) error {
	o, err := tx.Get(h)
	if err != nil {
		return err
	}
	if slices.Contains(names, rights.ACLName) {
		if err := s.noteNarrowed(tx, q, &o, false); err != nil {
			return err
		}
	}
	put := false
	if now := s.clock().Unix(); o.CTime < now {
		o.CTime, put = now, true
	}
	if o.Type == proto.TypeMetafile && slices.Contains(names, flagsName) {
		v, err := tx.Xattr(h, flagsName)
		if err != nil && proto.StatusOf(err) != proto.ENODATA {
			return err
		}
		o.Flags, put = 0, true
		if len(v) == flagsLen {
			o.Flags = binary.LittleEndian.Uint64(v)
		}
	}
	if !put {
		return nil
	}
	return tx.Put(h, o)
}

// inherits reports whether a query gives a new directory of its sender the hints of its parent. Stock clients show the parent's
// capability for that.
func (s *Server) inherits(q *query, req *proto.SetEattrReq) bool {
	if len(req.Keys) == 0 {
		return false
	}
	for _, name := range req.Keys {
		switch name {
		case "user.pvfs2.num_dfiles", "user.pvfs2.dist_name", "user.pvfs2.dist_params":
		default:
			return false
		}
	}
	near := q.near()
	if near == 0 || q.may(proto.MaySetAttr|proto.MayCreate, near) != nil {
		return false
	}
	o, err := s.object(req.Handle)
	return err == nil && o.Type == proto.TypeDirectory && o.Parent == near && (!s.signs() || q.Shows.Issue.Of(o.Owner))
}

// delEattr removes an extended attribute.
func (s *Server) delEattr(q *query, req *proto.DelEattrReq) (*proto.DelEattrResp, error) {
	if len(req.Key) > proto.MaxName || strings.HasPrefix(req.Key, systemSpace) {
		return nil, proto.EINVAL
	}
	err := s.update(q, func(tx *store.Tx) error {
		if t, err := tx.Type(req.Handle); err != nil || t == proto.TypeNone {
			return orENOENT(err)
		}
		if err := tx.DelXattr(req.Handle, req.Key); err != nil {
			return missing(err)
		}
		return s.changed(tx, q, req.Handle, req.Key)
	})
	if err != nil {
		return nil, err
	}
	return &proto.DelEattrResp{}, nil
}

func orENOENT(err error) error {
	if err == nil {
		return proto.ENOENT
	}
	return err
}

// listEattr lists names of extended attributes, the server's own first. tokenSystem marks a token among these.
func (s *Server) listEattr(q *query, req *proto.ListEattrReq) (*proto.ListEattrResp, error) {
	if len(req.Sizes) > proto.MaxXattrs {
		return nil, proto.EINVAL
	}
	resp := &proto.ListEattrResp{}
	err := s.view(q, func(tx *store.Tx) error {
		o, err := tx.Get(req.Handle)
		if err != nil {
			return err
		}
		if len(req.Sizes) == 0 {
			resp.Token, err = countXattrs(tx, req.Handle, &o)
			return err
		}
		resp.Keys, resp.Token, err = listXattrs(tx, req.Handle, &o, req.Token, len(req.Sizes))
		return err
	})
	if err != nil {
		return nil, err
	}
	for i, key := range resp.Keys {
		if size := req.Sizes[i]; size < int64(len(key)+1) {
			return nil, proto.EMSGSIZE
		}
	}
	return resp, nil
}

// tokenSystem marks the tokens of a list that ended among the server's own attributes. Its last bits count those already listed.
// The store's tokens do not have this bit: they fit in 48 bits.
const tokenSystem = 1 << 60

// listXattrs lists up to n names after a token.
func listXattrs(tx *store.Tx, h proto.Handle, o *store.Object, token uint64, n int) ([]string, uint64, error) {
	var names []string
	if token == proto.TokenStart || token == 0 || token&tokenSystem != 0 {
		own := visible(o)
		told := 0
		if token&tokenSystem != 0 {
			told = int(min(token&^tokenSystem, uint64(len(own))))
		}
		for ; told < len(own) && len(names) < n; told++ {
			names = append(names, systemSpace+own[told].key)
		}
		if len(names) == n {
			return names, tokenSystem | uint64(told), nil
		}
		token = proto.TokenStart
	}
	more, next, err := tx.Xattrs(h, token, n-len(names))
	return append(names, more...), next, err
}

// countXattrs counts all names.
func countXattrs(tx *store.Tx, h proto.Handle, o *store.Object) (uint64, error) {
	n := uint64(len(visible(o)))
	for token := uint64(proto.TokenStart); token != proto.TokenEnd; {
		names, next, err := tx.Xattrs(h, token, 64)
		if err != nil {
			return 0, err
		}
		n += uint64(len(names))
		if len(names) == 0 {
			break
		}
		token = next
	}
	return n, nil
}

// Operations of ATOMICEATTR.
const (
	atomicTestAndSet  = 1
	atomicSwap        = 2
	atomicFetchAndAdd = 0xADD
)

// atomicEattr changes extended attributes in one step, and returns their previous values. It leaves an attribute unchanged that
// does not exist, or that is not a number where one is needed.
func (s *Server) atomicEattr(q *query, req *proto.AtomicEattrReq) (*proto.AtomicEattrResp, error) {
	n := len(req.Keys)
	if n < 1 || n > proto.MaxXattrs || len(req.Values) != n || len(req.Sizes) != n {
		return nil, proto.EINVAL
	}
	switch req.Opcode {
	case atomicTestAndSet, atomicSwap, atomicFetchAndAdd:
	default:
		return nil, proto.ENOSYS
	}
	for i, name := range req.Keys {
		if err := readable(name); err != nil {
			return nil, err
		}
		if err := writable(name, req.Values[i]); err != nil {
			return nil, err
		}
	}
	resp := &proto.AtomicEattrResp{}
	err := s.update(q, func(tx *store.Tx) error {
		o, err := tx.Get(req.Handle)
		if err != nil {
			return err
		}
		if resp.Values, resp.Errors, err = readXattrs(tx, req.Handle, &o, req.Keys, req.Sizes); err != nil {
			return err
		}
		for i, name := range req.Keys {
			next, ok := atomicNext(req.Opcode, resp.Values[i], req.Values[i])
			if !ok || resp.Errors[i] != proto.OK {
				continue
			}
			if err := tx.SetXattr(req.Handle, name, next, store.XattrAny); err != nil {
				return err
			}
		}
		return s.changed(tx, q, req.Handle, req.Keys...)
	})
	if err != nil {
		return nil, err
	}
	return resp, nil
}

// atomicNext is the value after one operation.
func atomicNext(op int32, old, given []byte) ([]byte, bool) {
	if op == atomicSwap {
		return given, true
	}
	if len(old) != 4 || len(given) != 4 {
		return nil, false
	}
	is := binary.LittleEndian.Uint32(old)
	if op == atomicFetchAndAdd {
		return binary.LittleEndian.AppendUint32(nil, is+binary.LittleEndian.Uint32(given)), true
	}
	return binary.LittleEndian.AppendUint32(nil, 1), is == 0
}
