package about

import (
	"cmp"
	"reflect"
	"strings"
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

// Counts returns the fields of a structure of counters, whose names begin with prefix and a dot. A
// uint64 is a Counter, an int a Level, and a time.Duration is Generic, in nanoseconds.
func Counts(prefix string, structure any) []Count {
	var all []Count
	eachField(prefix, reflect.ValueOf(structure), func(name, text string, f reflect.StructField, v reflect.Value) {
		c := Count{Name: name, Text: text}
		switch {
		case f.Tag.Get(statesTag) != "":
			c.Class, c.States = State, strings.Split(f.Tag.Get(statesTag), ",")
			c.Values = []uint64{indexOf(c.States, v.String())}
		case v.Kind() == reflect.Uint64:
			c.Values = []uint64{v.Uint()}
		case v.Kind() == reflect.Int:
			c.Class, c.Values = Level, []uint64{uint64(max(v.Int(), 0))}
		case v.Type() == reflect.TypeFor[time.Duration]():
			c.Class, c.Values = Generic, []uint64{uint64(max(v.Int(), 0))}
		default:
			panic("about: " + name + " is no counter")
		}
		if class, ok := f.Tag.Lookup(classTag); ok {
			c.Class = classOf(class)
		}
		all = append(all, c)
	})
	return all
}

// Settings returns the fields of a structure of options.
func Settings(prefix string, structure any) []Setting {
	var all []Setting
	eachField(prefix, reflect.ValueOf(structure), func(name, text string, f reflect.StructField, v reflect.Value) {
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

// eachField calls fn for each field with a text.
func eachField(prefix string, structure reflect.Value, fn func(name, text string, f reflect.StructField, v reflect.Value)) {
	for i := range structure.NumField() {
		f, v := structure.Type().Field(i), structure.Field(i)
		text := f.Tag.Get(textTag)
		described := text != "" && text != "-"
		switch name := prefix + "." + cmp.Or(f.Tag.Get(nameTag), nameOf(f.Name)); {
		case f.Anonymous && v.Kind() == reflect.Struct:
			eachField(prefix, v, fn)
		case described && v.Kind() == reflect.Struct:
			eachField(name, v, fn)
		case described:
			fn(name, text, f, v)
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
