package replay

import (
	"bytes"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// free are the fields that may differ, by type and field: times, and values that depend on the machine or on how a server stores
// data.
var free = map[string]bool{
	"Attr.ATime": true, "Attr.MTime": true, "Attr.CTime": true,
	"Capability.Timeout": true, "Capability.Signature": true, "Capability.Issuer": true,
	"ReadDirResp.Version": true,

	"StatFSResp.BytesAvailable": true, "StatFSResp.BytesTotal": true,
	"StatFSResp.RAMTotal": true, "StatFSResp.RAMFree": true,
	"StatFSResp.Load1": true, "StatFSResp.Load5": true, "StatFSResp.Load15": true,
	"StatFSResp.Uptime": true, "StatFSResp.HandlesAvailable": true,

	"PerfMonResp.NextID": true, "PerfMonResp.End": true, "PerfMonResp.Now": true,
	"PerfMonResp.SampleCount": true, "PerfMonResp.Values": true,
	"IterateHandlesResp.Handles": true,
	"GetUIDResp.Users":           true,
	"DirHint.ServersBytes":       true,
}

// tokens are the fields that only their server understands.
var tokens = map[string]bool{
	"ReadDirResp.Token": true, "IterateHandlesResp.Position": true, "ListEattrResp.Token": true,
}

// Compare returns the differences between a live answer and the captured one, one line each, and learns the identifiers in it. A
// response is nil if its status is not 0.
func (m *Mapping) Compare(captured, live proto.Response) []string {
	if captured == nil || live == nil {
		return nil
	}
	if reflect.TypeOf(captured) != reflect.TypeOf(live) {
		return []string{fmt.Sprintf("%T where the capture has %T", live, captured)}
	}
	order(captured)
	order(live)
	d := differ{m: m}
	d.walk("", reflect.ValueOf(captured).Elem(), reflect.ValueOf(live).Elem())
	return d.found
}

// order sorts lists that a server may return in any order.
func order(r proto.Response) {
	if r, ok := r.(*proto.ListEattrResp); ok {
		slices.Sort(r.Keys)
	}
}

// differ walks two answers in parallel.
type differ struct {
	m     *Mapping
	found []string
}

// note adds a difference.
func (d *differ) note(path string, captured, live any) {
	d.found = append(d.found, fmt.Sprintf("%s: %v, the capture has %v", strings.TrimPrefix(path, "."), live, captured))
}

// walk compares two values of one type.
func (d *differ) walk(path string, captured, live reflect.Value) {
	if captured.Type() == handleType {
		a, b := proto.Handle(captured.Uint()), proto.Handle(live.Uint())
		if !d.m.Learn(a, b) {
			d.note(path, fmt.Sprintf("%d, for which stands %d", a, d.m.Live(a)), b)
		}
		return
	}
	switch captured.Kind() {
	case reflect.Struct:
		d.walkStruct(path, captured, live)
	case reflect.Slice:
		d.walkSlice(path, captured, live)
	default:
		if !captured.Equal(live) {
			d.note(path, captured, live)
		}
	}
}

// walkStruct compares the fields that must be equal.
func (d *differ) walkStruct(path string, captured, live reflect.Value) {
	t := captured.Type()
	for i := range t.NumField() {
		f := t.Field(i)
		name := t.Name() + "." + f.Name
		switch {
		case !f.IsExported() || free[name]:
		case tokens[name]:
			d.m.tokens[captured.Field(i).Uint()] = live.Field(i).Uint()
		default:
			d.walk(path+"."+f.Name, captured.Field(i), live.Field(i))
		}
	}
	if t == capabilityType {
		d.m.LearnCapability(captured.Addr().Interface().(*proto.Capability), live.Addr().Interface().(*proto.Capability))
	}
}

// walkSlice compares lengths and elements.
func (d *differ) walkSlice(path string, captured, live reflect.Value) {
	if captured.Type().Elem().Kind() == reflect.Uint8 {
		if !bytes.Equal(captured.Bytes(), live.Bytes()) {
			d.note(path, fmt.Sprintf("%d other bytes", captured.Len()), fmt.Sprintf("%d bytes", live.Len()))
		}
		return
	}
	if captured.Len() != live.Len() {
		d.note(path, captured, live)
		return
	}
	for i := range captured.Len() {
		d.walk(fmt.Sprintf("%s[%d]", path, i), captured.Index(i), live.Index(i))
	}
}
