package replay

import (
	"fmt"
	"reflect"
	"slices"

	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// Mapping maps identifiers of the capture to those of the live servers. It learns them when it compares answers.
type Mapping struct {
	handles      map[proto.Handle]proto.Handle
	back         map[proto.Handle]proto.Handle
	tokens       map[uint64]uint64
	capabilities map[string]proto.Capability
}

// NewMapping makes a mapping that maps the given handles to themselves.
func NewMapping(same ...proto.Handle) *Mapping {
	m := &Mapping{
		handles:      make(map[proto.Handle]proto.Handle),
		back:         make(map[proto.Handle]proto.Handle),
		tokens:       make(map[uint64]uint64),
		capabilities: make(map[string]proto.Capability),
	}
	for _, h := range same {
		m.Learn(h, h)
	}
	return m
}

// Learn maps captured to live. It reports false if that contradicts the mapping.
func (m *Mapping) Learn(captured, live proto.Handle) bool {
	was, known := m.handles[captured]
	is, taken := m.back[live]
	if known || taken {
		return known && taken && was == live && is == captured
	}
	if (captured == 0) != (live == 0) {
		return false
	}
	m.handles[captured], m.back[live] = live, captured
	return true
}

// Forget allows a new use of a captured handle, whose object is gone.
func (m *Mapping) Forget(captured proto.Handle) {
	delete(m.back, m.handles[captured])
	delete(m.handles, captured)
}

// Live is the live handle for a captured one; an unknown one maps to itself.
func (m *Mapping) Live(captured proto.Handle) proto.Handle {
	if live, ok := m.handles[captured]; ok {
		return live
	}
	return captured
}

var (
	handleType     = reflect.TypeFor[proto.Handle]()
	extentType     = reflect.TypeFor[proto.Extent]()
	capabilityType = reflect.TypeFor[proto.Capability]()
	hintType       = reflect.TypeFor[proto.Hint]()
)

// Request replaces the captured identifiers in a request by the live ones.
func (m *Mapping) Request(h *proto.Header, req proto.Request) {
	m.replace(reflect.ValueOf(h).Elem())
	m.replace(reflect.ValueOf(req).Elem())
	switch r := req.(type) {
	case *proto.ReadDirReq:
		r.Token = m.token(r.Token)
	case *proto.IterateHandlesReq:
		r.Position = m.token(r.Position)
	case *proto.ListEattrReq:
		r.Token = m.token(r.Token)
	}
}

// token is the live token for a captured one.
func (m *Mapping) token(captured uint64) uint64 {
	if live, ok := m.tokens[captured]; ok {
		return live
	}
	return captured
}

// replace walks a value and replaces the handles, hints and capabilities in it.
func (m *Mapping) replace(v reflect.Value) {
	switch {
	case v.Type() == handleType:
		v.SetUint(uint64(m.Live(proto.Handle(v.Uint()))))
		return
	case v.Type() == extentType:
		return
	case v.Type() == capabilityType:
		m.replaceCapability(v.Addr().Interface().(*proto.Capability))
		return
	case v.Type() == hintType:
		if hint := v.Addr().Interface().(*proto.Hint); hint.Type == proto.HintHandle {
			hint.Value = uint64(m.Live(proto.Handle(hint.Value)))
		}
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				m.replace(v.Field(i))
			}
		}
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			return
		}
		for i := range v.Len() {
			m.replace(v.Index(i))
		}
	}
}

// replaceCapability replaces a capability by the live servers' own, with its signature, if there is one.
func (m *Mapping) replaceCapability(c *proto.Capability) {
	if live, ok := m.capabilities[nameOf(c)]; ok {
		*c = live
		return
	}
	for i, h := range c.Handles {
		c.Handles[i] = m.Live(h)
	}
}

// nameOf identifies a captured capability. Its time does not count, because a later capability is as good.
func nameOf(c *proto.Capability) string {
	return fmt.Sprint(c.Issuer, c.FS, c.Mask, c.Handles)
}

// LearnCapability stores the live servers' capability for a captured one.
func (m *Mapping) LearnCapability(captured, live *proto.Capability) {
	kept := *live
	kept.Handles = slices.Clone(live.Handles)
	kept.Signature = slices.Clone(live.Signature)
	m.capabilities[nameOf(captured)] = kept
}
