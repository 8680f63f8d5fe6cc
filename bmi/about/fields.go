package about

import (
	"cmp"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"
)

// Tags of fields. A structure in a field that has a textTag is a layer of its own; an embedded one is
// part of the structure around it.
const (
	textTag   = "about"  // the text; "-" leaves the field out
	classTag  = "class"  // the class, if it is none that the type of the field says
	statesTag = "states" // names of the values of a State, separated by commas; the field is a string
	envTag    = "env"    // the environment variable of a setting
	nameTag   = "name"   // the name, if it is not that of the field
)

// Counts returns the fields of a structure of counters. Their names are prefix, a dot and the name of the field. A
// uint64 is a Counter, an int a Level, and a time.Duration is Generic, in nanoseconds.
func Counts(prefix string, structure any) []Count {
	v := reflect.ValueOf(structure)
	p := planOf(prefix, v.Type())
	all, values := slices.Clone(p.counts), make([]uint64, len(p.counts))
	for i := range all {
		c, f := &all[i], v.FieldByIndex(p.fields[i])
		switch f.Kind() {
		case reflect.String:
			values[i] = indexOf(c.States, f.String())
		case reflect.Uint64:
			values[i] = f.Uint()
		default:
			values[i] = uint64(max(f.Int(), 0))
		}
		c.Values = values[i : i+1 : i+1]
	}
	return all
}

// A plan is what Counts finds out about a type, once.
type plan struct {
	counts []Count // descriptions
	fields [][]int // which fields of the structure they are
}

type planKey struct {
	prefix string
	of     reflect.Type
}

// plans are the plans by planKey. There are as many as there are structures of counters in the program.
var plans sync.Map

func planOf(prefix string, of reflect.Type) *plan {
	key := planKey{prefix, of}
	if p, ok := plans.Load(key); ok {
		return p.(*plan)
	}
	p := new(plan)
	eachField(prefix, of, nil, func(name, text string, f reflect.StructField, index []int) {
		c := Count{Name: name, Text: text}
		switch {
		case f.Tag.Get(statesTag) != "" && f.Type.Kind() == reflect.String:
			c.Class, c.States = State, strings.Split(f.Tag.Get(statesTag), ",")
		case f.Type.Kind() == reflect.Uint64:
		case f.Type.Kind() == reflect.Int:
			c.Class = Level
		case f.Type == reflect.TypeFor[time.Duration]():
			c.Class, c.Nanoseconds = Generic, true
		default:
			panic("about: " + name + " is no counter")
		}
		if class, ok := f.Tag.Lookup(classTag); ok {
			c.Class = classOf(class)
		}
		p.counts, p.fields = append(p.counts, c), append(p.fields, index)
	})
	plans.Store(key, p)
	return p
}

// Settings returns the fields of a structure of options.
func Settings(prefix string, structure any) []Setting {
	var all []Setting
	whole := reflect.ValueOf(structure)
	eachField(prefix, whole.Type(), nil, func(name, text string, f reflect.StructField, index []int) {
		v := whole.FieldByIndex(index)
		s := Setting{Name: name, Text: text, Env: f.Tag.Get(envTag)}
		switch {
		case v.Type() == reflect.TypeFor[time.Duration]():
			s.Value = time.Duration(v.Int())
		case v.Kind() == reflect.Int:
			s.Value = int(v.Int())
		case v.Kind() == reflect.Bool:
			s.Value = v.Bool()
		case v.Kind() == reflect.String:
			s.Value = v.String()
		case v.Type() == reflect.TypeFor[[]string]():
			s.Value = strings.Join(v.Interface().([]string), ",")
		default:
			s.Value = !v.IsZero() // whether there is one: keys, functions, lists
		}
		all = append(all, s)
	})
	return all
}

// eachField calls fn for each field with a text. within is the index of the structure in the whole.
func eachField(prefix string, of reflect.Type, within []int, fn func(name, text string, f reflect.StructField, index []int)) {
	for i := range of.NumField() {
		f, index := of.Field(i), append(slices.Clone(within), i)
		text := f.Tag.Get(textTag)
		described := text != "" && text != "-"
		switch name := prefix + "." + cmp.Or(f.Tag.Get(nameTag), nameOf(f.Name)); {
		case f.Anonymous && f.Type.Kind() == reflect.Struct:
			eachField(prefix, f.Type, index, fn)
		case described && f.Type.Kind() == reflect.Struct:
			eachField(name, f.Type, index, fn)
		case described:
			fn(name, text, f, index)
		}
	}
}

// nameOf writes the name of a field with small letters and underscores: RDMABytes is rdma_bytes.
func nameOf(field string) string {
	var b strings.Builder
	letters := []rune(field)
	for i, c := range letters {
		upper := unicode.IsUpper(c)
		switch {
		case i == 0 || !upper:
		case !unicode.IsUpper(letters[i-1]), i+1 < len(letters) && unicode.IsLower(letters[i+1]):
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(c))
	}
	return b.String()
}

func classOf(name string) Class {
	for c := Counter; c <= Generic; c++ {
		if c.String() == name {
			return c
		}
	}
	panic("about: no class " + name)
}

// indexOf returns the index of a name; that of the first, if it has another name or none.
func indexOf(names []string, name string) uint64 {
	for i, n := range names {
		if n == name {
			return uint64(i)
		}
	}
	return 0
}
