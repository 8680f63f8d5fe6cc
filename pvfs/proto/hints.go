package proto

import (
	"fmt"
	"strings"
)

// maxHintText limits each of a hint's two strings, bytes.
const maxHintText = 4096

// bits is the width of a hint's value. It is 0 for a hint with two strings instead, as every unknown type has.
func (t HintType) bits() int {
	switch {
	case t == HintHandle:
		return 64
	case t >= 1 && t <= 14:
		return 32
	}
	return 0
}

// Find returns the value of the first hint of a type.
func (h Hints) Find(t HintType) (value uint64, ok bool) {
	for i := range h {
		if h[i].Type == t {
			return h[i].Value, true
		}
	}
	return 0, false
}

var hintNames = map[HintType]string{
	HintRequestID: "request", HintClientID: "client", HintHandle: "handle", HintRank: "rank",
	HintServerID: "server", HintOwnerGID: "gid",
}

func (h Hint) String() string {
	if h.Type.bits() == 0 {
		return fmt.Sprintf("%d:%q=%q", h.Type, h.Name, h.Text)
	}
	if name, ok := hintNames[h.Type]; ok {
		return fmt.Sprintf("%s=%d", name, h.Value)
	}
	return fmt.Sprintf("%d=%d", h.Type, h.Value)
}

func (h Hints) String() string {
	if len(h) == 0 {
		return "none"
	}
	parts := make([]string, len(h))
	for i := range h {
		parts[i] = h[i].String()
	}
	return "{" + strings.Join(parts, " ") + "}"
}

func (w *writer) hints(list Hints) {
	w.count(len(list))
	for i := range list {
		h := &list[i]
		w.u32(uint32(h.Type))
		switch h.Type.bits() {
		case 64:
			w.u64(h.Value)
		case 32:
			w.u32(uint32(h.Value))
		default:
			w.str(h.Name)
			w.str(h.Text)
		}
	}
}

func (r *reader) hints() Hints {
	n := r.count("hints", MaxHints, 8)
	if n == 0 {
		return nil
	}
	list := make(Hints, n)
	for i := range list {
		h := &list[i]
		h.Type = HintType(r.u32("hint type"))
		switch h.Type.bits() {
		case 64:
			h.Value = r.u64("hint value")
		case 32:
			h.Value = uint64(r.u32("hint value"))
		default:
			h.Name = r.str("hint name", maxHintText)
			h.Text = r.str("hint text", maxHintText)
		}
	}
	return list
}
