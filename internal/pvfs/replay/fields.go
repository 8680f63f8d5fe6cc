package replay

import (
	"crypto/sha256"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// A Difference is a field of a request that differs between two clients.
type Difference struct {
	Field          string // "GETATTR Mask"; without the index of a list element
	Captured, Live string
}

func (d Difference) String() string {
	return fmt.Sprintf("%s: %s, the capture has %s", d.Field, d.Live, d.Captured)
}

// own are the fields that each client sets as it likes, by type and field: times, its identity, and marks that help to find a
// request in a log.
var own = map[string]bool{
	"Attr.ATime": true, "Attr.MTime": true, "Attr.CTime": true,
	"Capability.Timeout": true, "Capability.Signature": true,
	"Header.Hints": true,
}

// A field is one number or text in a request, or the length of a list.
type field struct {
	name, at string // name: "GETATTR Mask"; at also has the indices
	value    string
}

// fieldsOf are the fields of an exchange that the client decides: the server, the request, and the data after it.
func fieldsOf(x *Exchange) ([]field, error) {
	h, req, err := proto.ParseRequest(x.Request)
	if err != nil {
		return nil, err
	}
	switch req := req.(type) {
	case *proto.ListAttrReq:
		slices.Sort(req.Handles) // their order does not matter
	case *proto.TreeRemoveReq:
		slices.Sort(req.Handles)
	}
	f := flattener{op: req.Op().String() + " "}
	f.add("server", x.Port)
	f.walk("", "", reflect.ValueOf(h).Elem())
	f.walk("", "", reflect.ValueOf(req).Elem())
	f.add("messages of data", len(x.Sent))
	f.add("data", fmt.Sprintf("%x", sha256.Sum256(slices.Concat(x.Sent...))))
	return f.fields, nil
}

// A flattener lists the fields of a value.
type flattener struct {
	op     string
	fields []field
}

func (f *flattener) add(name string, value any) { f.addAt(name, name, value) }

func (f *flattener) addAt(name, at string, value any) {
	f.fields = append(f.fields, field{f.op + strings.TrimPrefix(name, "."), f.op + strings.TrimPrefix(at, "."), fmt.Sprint(value)})
}

var credentialType = reflect.TypeFor[proto.Credential]()

func (f *flattener) walk(name, at string, v reflect.Value) {
	switch {
	case v.Type() == credentialType:
	case v.Kind() == reflect.Struct:
		for i := range v.NumField() {
			member := v.Type().Field(i)
			if member.IsExported() && !own[v.Type().Name()+"."+member.Name] {
				f.walk(name+"."+member.Name, at+"."+member.Name, v.Field(i))
			}
		}
	case v.Kind() == reflect.Slice && v.Type().Elem().Kind() == reflect.Uint8:
		f.addAt(name, at, fmt.Sprintf("%x", v.Bytes()))
	case v.Kind() == reflect.Slice:
		f.addAt(name, at+".length", v.Len())
		for i := range v.Len() {
			f.walk(name, fmt.Sprintf("%s[%d]", at, i), v.Index(i))
		}
	default:
		f.addAt(name, at, v)
	}
}

// differences are the differences between the fields of two requests of one operation.
func differences(captured, live []field) (all []Difference) {
	values := make(map[string]string, len(live))
	for _, f := range live {
		values[f.at] = f.value
	}
	for _, f := range captured {
		is, ok := values[f.at]
		if !ok {
			is = "nothing"
		}
		if is != f.value {
			all = append(all, Difference{f.name, f.value, is})
		}
		delete(values, f.at)
	}
	for _, f := range live {
		if _, more := values[f.at]; more {
			all = append(all, Difference{f.name, "nothing", f.value})
		}
	}
	return all
}

// subject is the operation of a request with its object or name.
func subject(req proto.Request) string {
	v := reflect.ValueOf(req).Elem()
	parts := []string{req.Op().String()}
	for _, name := range []string{"Handle", "Dirdata", "Start", "Name", "Key", "Keys"} {
		if f := v.FieldByName(name); f.IsValid() {
			parts = append(parts, fmt.Sprint(f))
		}
	}
	return strings.Join(parts, " ")
}
