package server

import "github.com/viaduct-hpc/viaduct/pvfs/proto"

// fields are the fields that many requests have in common.
type fields struct {
	hasFS bool
	fs    proto.FSID
	cred  *proto.Credential
}

// fieldsOf finds them in a request.
func fieldsOf(req proto.Request) fields {
	with := func(id proto.FSID, c *proto.Credential) fields { return fields{true, id, c} }
	switch r := req.(type) {
	case *proto.LookupPathReq:
		return with(r.FS, &r.Cred)
	case *proto.GetAttrReq:
		return with(r.FS, &r.Cred)
	case *proto.SetAttrReq:
		return with(r.FS, &r.Cred)
	case *proto.CreateReq:
		return with(r.FS, &r.Cred)
	case *proto.MkdirReq:
		return with(r.FS, &r.Cred)
	case *proto.RemoveReq:
		return with(r.FS, &r.Cred)
	case *proto.TreeRemoveReq:
		return with(r.FS, &r.Cred)
	case *proto.TreeGetFileSizeReq:
		return with(r.FS, &r.Cred)
	case *proto.TreeGetAttrReq:
		return with(r.FS, &r.Cred)
	case *proto.TreeSetAttrReq:
		return with(r.FS, &r.Cred)
	case *proto.CrDirentReq:
		return with(r.FS, &r.Cred)
	case *proto.UnstuffReq:
		return with(r.FS, &r.Cred)
	}
	if id, ok := fsOf(req); ok {
		return with(id, nil)
	}
	return fields{}
}

// fsOf is the file system of a request without a credential.
func fsOf(req proto.Request) (proto.FSID, bool) {
	switch r := req.(type) {
	case *proto.ListAttrReq:
		return r.FS, true
	case *proto.BatchCreateReq:
		return r.FS, true
	case *proto.BatchRemoveReq:
		return r.FS, true
	case *proto.RmDirentReq:
		return r.FS, true
	case *proto.ChDirentReq:
		return r.FS, true
	case *proto.ReadDirReq:
		return r.FS, true
	case *proto.TruncateReq:
		return r.FS, true
	case *proto.FlushReq:
		return r.FS, true
	case *proto.StatFSReq:
		return r.FS, true
	case *proto.IOReq:
		return r.FS, true
	case *proto.SmallIOReq:
		return r.FS, true
	case *proto.GetEattrReq:
		return r.FS, true
	case *proto.SetEattrReq:
		return r.FS, true
	case *proto.DelEattrReq:
		return r.FS, true
	case *proto.ListEattrReq:
		return r.FS, true
	case *proto.AtomicEattrReq:
		return r.FS, true
	}
	return fsOfManagement(req)
}

func fsOfManagement(req proto.Request) (proto.FSID, bool) {
	switch r := req.(type) {
	case *proto.SetParamReq:
		return r.FS, r.FS != 0 // 0: the server as a whole
	case *proto.IterateHandlesReq:
		return r.FS, true
	case *proto.DspaceInfoReq:
		return r.FS, true
	case *proto.RemoveObjectReq:
		return r.FS, true
	case *proto.RemoveDirentReq:
		return r.FS, true
	case *proto.GetDirdataHandleReq:
		return r.FS, true
	case *proto.GetDirentReq:
		return r.FS, true
	case *proto.CreateRootDirReq:
		return r.FS, true
	case *proto.SplitDirentReq:
		return r.FS, true
	case *proto.MirrorReq:
		return r.FS, true
	case *proto.GetUserCertReq:
		return r.FS, true
	case *proto.GetUserCertKeyReq:
		return r.FS, true
	}
	return 0, false
}

// ownerOf returns the attributes of a request that names an owner, or nil.
func ownerOf(req proto.Request) *proto.Attr {
	switch r := req.(type) {
	case *proto.SetAttrReq:
		return &r.Attr
	case *proto.CreateReq:
		return &r.Attr
	case *proto.MkdirReq:
		return &r.Attr
	}
	return nil
}
