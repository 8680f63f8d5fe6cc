package proto

import (
	"fmt"
	"reflect"
	"strings"
	"time"
)

// A sampler makes messages with every field set to a different value. It knows the requirements of the types, but not the format.
type sampler struct{ n int }

func (s *sampler) next() int { s.n++; return s.n }

// fill sets every field of the value that v points to.
func (s *sampler) fill(v any) { s.value(reflect.ValueOf(v).Elem()) }

func (s *sampler) value(v reflect.Value) {
	switch x := v.Addr().Interface().(type) {
	case *time.Time:
		*x = time.Unix(1_700_000_000+int64(s.next()), 0).UTC()
		return
	case *Attr:
		s.attr(x)
		return
	case *Dist:
		*x = s.dist()
		return
	case *FileRequest:
		s.file(x)
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			s.value(v.Field(i))
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		for i := range 2 {
			s.value(v.Index(i))
		}
	case reflect.String:
		v.SetString(strings.Repeat(string(rune('a'+s.next()%26)), 1+s.n%9))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Uint8:
		v.SetUint(uint64(s.next() % 256))
	case reflect.Int32, reflect.Int64:
		v.SetInt(int64(-s.next()))
	case reflect.Uint32, reflect.Uint64:
		v.SetUint(uint64(s.next()))
	default:
		panic(fmt.Sprintf("no samples of %v", v.Type()))
	}
}

// dist returns each of the distributions in turn.
func (s *sampler) dist() Dist {
	n := s.next()
	return []Dist{
		{Name: DistStripe, StripSize: int64(n)},
		{Name: DistBasic},
		{Name: DistVar, Strips: "0:4K;1:8K"},
		{Name: DistTwoD, Groups: uint32(n), StripSize: int64(n) << 33, Factor: uint32(n + 1)},
	}[n%4]
}

func (s *sampler) file(q *FileRequest) {
	*q = make(FileRequest, 3)
	for i := range *q {
		s.value(reflect.ValueOf(&(*q)[i]).Elem())
	}
}

// attr has all fields of a metafile, a directory and a symlink, which the format allows.
func (s *sampler) attr(a *Attr) {
	type plain Attr // without the case for Attr
	s.value(reflect.ValueOf((*plain)(a)).Elem())
	a.Mask = AttrCommon | AttrDist | AttrDatafiles | AttrMirror | AttrDatafileSize | AttrTarget |
		AttrDirHint | AttrDistDir | AttrCapability
	a.Type = TypeMetafile
	a.Copies = 2
	a.Mirrors = []Handle{1, 2, 3, 4}
}

// A sample is a message made by the sampler.
type sample struct {
	name string
	h    *Header // for a request
	req  Request
	resp Response
}

func (s sample) append(b []byte) []byte {
	if s.req != nil {
		return AppendRequest(b, s.h, s.req)
	}
	return AppendResponse(b, s.resp)
}

func (s sample) String() string {
	if s.req != nil {
		return s.h.String() + "\n" + s.req.String()
	}
	return s.resp.String()
}

// samples are one request and one response of every operation, and the special forms that not all of them have.
func samples() (list []sample) {
	s := &sampler{}
	for op := range Op(len(operations)) {
		name := strings.ToLower(op.String())
		if req := NewRequest(op); req != nil {
			h := &Header{Hints: Hints{{Type: HintHandle, Value: uint64(s.next())}}}
			s.fill(req)
			switch q := req.(type) {
			case *SmallIOReq:
				q.Type, q.Total = IOWrite, int64(len(q.Data))
			case *SetParamReq:
				q.Type, q.Text = paramValue, ""
			}
			list = append(list, sample{name: "request/" + name, h: h, req: req})
		}
		if resp := NewResponse(op); resp != nil {
			s.fill(resp)
			if p, ok := resp.(*SmallIOResp); ok {
				p.Type, p.Result = IORead, int64(len(p.Data))
			}
			if _, never := resp.(*ProtoErrorResp); !never {
				list = append(list, sample{name: "response/" + name, resp: resp})
			}
		}
	}
	return append(list, specials(s)...)
}

// specials are forms that not every operation has.
func specials(s *sampler) []sample {
	full := &Header{}
	s.fill(&full.Capability)
	for t := HintType(0); t <= 15; t++ {
		h := Hint{Type: t, Value: uint64(s.next())}
		if t == HintUnknown || t == 15 {
			h = Hint{Type: t, Name: "pvfs.hint.of.mine", Text: "and its value"}
		}
		full.Hints = append(full.Hints, h)
	}
	link := Attr{Mask: AttrCommon | AttrTarget, Type: TypeSymlink, Target: "a/b"}
	return []sample{
		{name: "request/all_hints", h: full, req: &NoopReq{}},
		{name: "request/no_credential", h: &Header{}, req: &GetAttrReq{Handle: 1}},
		{name: "request/setparam_text", h: &Header{}, req: &SetParamReq{Param: ParamEventOn, Type: paramText, Text: "all"}},
		{name: "request/small_read", h: &Header{}, req: &SmallIOReq{
			Type: IORead, Dist: Dist{Name: DistBasic}, Request: ByteStream(), Total: 3}},
		{name: "response/small_write", resp: &SmallIOResp{Type: IOWrite, Size: 1 << 40, Result: 77}},
		{name: "response/stuffed", resp: &GetAttrResp{Attr: Attr{Mask: AttrCommon, Type: TypeMetafile, StuffedSize: 5}}},
		{name: "response/unstuffed", resp: &GetAttrResp{Attr: Attr{Mask: AttrCommon | AttrUnstuffed, Type: TypeMetafile}}},
		{name: "response/link", resp: &GetAttrResp{Attr: link}},
		{name: "response/mirrors_of_nothing", resp: &GetAttrResp{Attr: Attr{Mask: AttrMirror, Copies: 1 << 31}}},
		{name: "response/even_bitmap", resp: &GetAttrResp{Attr: Attr{
			Mask: AttrDistDir, Type: TypeDirectory, DistDir: DistDir{Bitmap: []uint32{1, 2}, Dirdata: []Handle{3, 4}}}}},
		{name: "response/no_entries", resp: &ReadDirResp{Token: TokenEnd}},
	}
}
