package replay

import (
	"fmt"
	"reflect"
	"slices"

	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// Mapping knows which identifier of the live servers stands for which of the capture. It learns
// when it compares answers.
type Mapping struct {
	handles      map[proto.Handle]proto.Handle
	back         map[proto.Handle]proto.Handle
	tokens       map[uint64]uint64
	capabilities map[string]proto.Capability
}

// NewMapping makes a mapping in which the given handles stand for themselves.
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

// Learn makes live stand for captured. It reports false if that contradicts what it knows.
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

// Forget makes room for a new use of a captured handle, whose object is gone.
func (m *Mapping) Forget(captured proto.Handle) {
	delete(m.back, m.handles[captured])
	delete(m.handles, captured)
}

// Live is what stands for a captured handle; one that is not known stands for itself.
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

// Request replaces the identifiers in a captured request by the live ones.
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

// token is the live one for a captured one.
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

// replaceCapability puts the live servers' own in, signature and all, if there is one.
func (m *Mapping) replaceCapability(c *proto.Capability) {
	if live, ok := m.capabilities[nameOf(c)]; ok {
		*c = live
		return
	}
	for i, h := range c.Handles {
		c.Handles[i] = m.Live(h)
	}
}

// nameOf identifies a captured capability. Its time is not part of it: a later one is as good.
func nameOf(c *proto.Capability) string {
	return fmt.Sprint(c.Issuer, c.FS, c.Mask, c.Handles)
}

// LearnCapability remembers what the live servers issued where a capture has another.
func (m *Mapping) LearnCapability(captured, live *proto.Capability) {
	kept := *live
	kept.Handles = slices.Clone(live.Handles)
	kept.Signature = slices.Clone(live.Signature)
	m.capabilities[nameOf(captured)] = kept
}
