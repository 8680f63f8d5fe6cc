package program

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/viaduct-hpc/viaduct/internal/units"
)

// Types of fields of a Table that are numbers in JSON.
type (
	// Bytes is a size. The key in JSON ends in _bytes or begins with bytes_.
	Bytes int64
	// ExactBytes is a size, shown to people without rounding.
	ExactBytes int64
	// Percent is a part of a hundred.
	Percent float64
	// Micros is a time. The key in JSON ends in _us.
	Micros float64
	// Seconds is a time. The key in JSON ends in _seconds.
	Seconds float64
)

// Cell is the size for people.
func (b Bytes) Cell() string { return units.HumanBytes(int64(b)) }

// Cell is the size for people.
func (b ExactBytes) Cell() string { return units.FormatBytes(int64(b)) }

// Cell is the part for people.
func (p Percent) Cell() string { return fmt.Sprintf("%.0f%%", float64(p)) }

// Cell is the time for people.
func (m Micros) Cell() string { return fmt.Sprintf("%.2f us", float64(m)) }

// Cell is the time for people.
func (s Seconds) Cell() string { return fmt.Sprintf("%.2f s", float64(s)) }

// A celler is a type with its own text for people.
type celler interface{ Cell() string }

func isNumber(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Float32, reflect.Float64:
		return true
	case reflect.Pointer:
		return isNumber(t.Elem())
	}
	return false
}

// cell is the text of a field for people.
func cell(v reflect.Value) string {
	if v.Kind() == reflect.Pointer {
		if v.IsNil() {
			return ""
		}
		v = v.Elem()
	}
	switch one := v.Interface().(type) {
	case celler:
		return one.Cell()
	case time.Time:
		return one.Format(time.DateTime)
	case []string:
		return strings.Join(one, ", ")
	}
	switch v.Kind() {
	case reflect.Bool:
		if v.Bool() {
			return "yes"
		}
		return "no"
	case reflect.Float32, reflect.Float64:
		return strconv.FormatFloat(v.Float(), 'g', 6, 64)
	}
	return fmt.Sprint(v.Interface())
}
