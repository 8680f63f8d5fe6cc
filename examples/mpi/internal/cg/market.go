package cg

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
)

// The format is that of the Matrix Market exchange formats (NIST, 1996): a header line, comments,
// the size, then a line for each entry, counted from 1. For a symmetric matrix it has the lower
// triangle.

// marketHeader is the first line of a file that Write makes.
const marketHeader = "%%MatrixMarket matrix coordinate real symmetric\n"

// lineBytesMax is the longest line that the format allows, including its end.
const lineBytesMax = 1024 + 2

// Write stores a whole symmetric matrix.
func Write(w io.Writer, a *Rows) error {
	out := bufio.NewWriter(w)
	if _, err := out.Write(AppendHeader(nil, a.Cols, a.LowerEntries())); err != nil {
		return err
	}
	for i := range a.Len() {
		if _, err := out.Write(a.appendRow(out.AvailableBuffer(), i)); err != nil {
			return err
		}
	}
	return out.Flush()
}

// AppendHeader appends the lines before the entries of a symmetric matrix. If several processes
// have rows, the program writes this header and then the result of AppendEntries for each of them.
func AppendHeader(dst []byte, rows, lowerEntries int) []byte {
	return fmt.Appendf(append(dst, marketHeader...), "%d %d %d\n", rows, rows, lowerEntries)
}

// LowerEntries returns how many entries of these rows are on or below the diagonal.
func (a *Rows) LowerEntries() int {
	n := 0
	for i := range a.Len() {
		cols, _ := a.Row(i)
		for _, col := range cols {
			if int(col) <= a.First+i {
				n++
			}
		}
	}
	return n
}

// AppendEntries appends the lines of the entries on or below the diagonal. Reading the numbers
// gives the same bits.
func (a *Rows) AppendEntries(dst []byte) []byte {
	for i := range a.Len() {
		dst = a.appendRow(dst, i)
	}
	return dst
}

func (a *Rows) appendRow(dst []byte, i int) []byte {
	cols, vals := a.Row(i)
	row := a.First + i
	for k, col := range cols {
		if int(col) > row {
			break
		}
		dst = append(strconv.AppendInt(dst, int64(row)+1, 10), ' ')
		dst = append(strconv.AppendInt(dst, int64(col)+1, 10), ' ')
		dst = append(strconv.AppendFloat(dst, vals[k], 'g', -1, 64), '\n')
	}
	return dst
}

// Read loads a whole matrix from a file in coordinate form. The matrix is general or symmetric; its
// values are real, integer, or a pattern, whose entries count as 1. Read trusts the sizes in a file
// only as far as there are entries, so that a file cannot make a program take more memory than a
// small multiple of the file's length. A file with fewer entries than rows is an error, because its
// matrix is singular.
func Read(r io.Reader) (*Rows, error) {
	f := reader{in: bufio.NewReaderSize(r, 1<<16)}
	a, err := f.matrix()
	if err != nil {
		return nil, fmt.Errorf("cg: line %d of the matrix: %w", f.line, err)
	}
	return a, nil
}

// A reader reads a Matrix Market file.
type reader struct {
	in                 *bufio.Reader
	line               int // number of the last line read
	pattern, symmetric bool
	rows, cols, stored int
	entries            []triple
}

type triple struct {
	row, col int32
	val      float64
}

func (f *reader) matrix() (*Rows, error) {
	if err := f.header(); err != nil {
		return nil, err
	}
	if err := f.size(); err != nil {
		return nil, err
	}
	for i := range f.stored {
		line, err := f.next()
		if errors.Is(err, io.EOF) {
			return nil, fmt.Errorf("the file ends before entry %d of %d", i+1, f.stored)
		}
		if err != nil {
			return nil, err
		}
		if err := f.entry(line); err != nil {
			return nil, err
		}
	}
	switch line, err := f.next(); {
	case err == nil:
		return nil, fmt.Errorf("%q comes after the last of %d entries", line, f.stored)
	case !errors.Is(err, io.EOF):
		return nil, err
	}
	return f.compress()
}

// header reads the first line.
func (f *reader) header() error {
	line, err := f.raw()
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	words := strings.Fields(strings.ToLower(string(line)))
	if len(words) != 5 || words[0] != "%%matrixmarket" || words[1] != "matrix" {
		return errors.New("this is not a Matrix Market file of a matrix: its first line is different")
	}
	switch {
	case words[2] != "coordinate":
		return fmt.Errorf("the matrix is in the form %q: only coordinate is known", words[2])
	case words[3] != "real" && words[3] != "integer" && words[3] != "pattern":
		return fmt.Errorf("values are %q: only real, integer and pattern are known", words[3])
	case words[4] != "general" && words[4] != "symmetric":
		return fmt.Errorf("the matrix is %q: only general and symmetric are known", words[4])
	}
	f.pattern, f.symmetric = words[3] == "pattern", words[4] == "symmetric"
	return nil
}

// size reads the line with the numbers of rows, columns and entries.
func (f *reader) size() error {
	line, err := f.next()
	if errors.Is(err, io.EOF) {
		return errors.New("the file ends before the size of the matrix")
	}
	if err != nil {
		return err
	}
	for _, n := range []*int{&f.rows, &f.cols, &f.stored} {
		var field []byte
		field, line = cut(line)
		if *n, err = number(field); err != nil {
			return fmt.Errorf("the size of the matrix: %w", err)
		}
	}
	switch {
	case len(line) > 0:
		return fmt.Errorf("the size of the matrix has more than three numbers: %q", line)
	case f.rows > rowsMax || f.cols > rowsMax:
		return fmt.Errorf("a matrix of %d × %d is too large: at most %d rows and columns can be kept", f.rows, f.cols, rowsMax)
	case f.symmetric && f.rows != f.cols:
		return fmt.Errorf("a symmetric matrix cannot be %d × %d", f.rows, f.cols)
	case f.stored < f.rows:
		return fmt.Errorf("%d entries are too few for %d rows: the matrix would be singular", f.stored, f.rows)
	}
	return nil
}

// entry parses a line "row column value".
func (f *reader) entry(line []byte) error {
	field, line := cut(line)
	row, err := number(field)
	if err != nil {
		return err
	}
	field, line = cut(line)
	col, err := number(field)
	if err != nil {
		return err
	}
	val := 1.0
	if !f.pattern {
		field, line = cut(line)
		if val, err = strconv.ParseFloat(string(field), 64); err != nil || math.IsInf(val, 0) || math.IsNaN(val) {
			return fmt.Errorf("%q is no value", field)
		}
	}
	switch {
	case len(line) > 0:
		return fmt.Errorf("%q comes after the entry", line)
	case row < 1 || row > f.rows || col < 1 || col > f.cols:
		return fmt.Errorf("the entry (%d, %d) is not in a matrix of %d × %d", row, col, f.rows, f.cols)
	case f.symmetric && col > row:
		return fmt.Errorf("the entry (%d, %d) of a symmetric matrix is above the diagonal: the lower triangle is wanted", row, col)
	}
	f.entries = append(f.entries, triple{int32(row - 1), int32(col - 1), val})
	if f.symmetric && col != row {
		f.entries = append(f.entries, triple{int32(col - 1), int32(row - 1), val})
	}
	return nil
}

// next returns the next line that is neither empty nor a comment, without blanks around it. The
// line is valid until the next call.
func (f *reader) next() ([]byte, error) {
	for {
		line, err := f.raw()
		if line = bytes.TrimSpace(line); len(line) > 0 && line[0] != '%' && (err == nil || errors.Is(err, io.EOF)) {
			return line, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

// raw returns the next line of any kind. At the end of the file it returns the rest of the file
// with the error.
func (f *reader) raw() ([]byte, error) {
	line, err := f.in.ReadSlice('\n')
	if len(line) > 0 {
		f.line++
	}
	if errors.Is(err, bufio.ErrBufferFull) || len(line) > lineBytesMax {
		return nil, fmt.Errorf("the line is longer than the %d bytes that the format allows", lineBytesMax)
	}
	return line, err
}

// cut splits a line after its first field.
func cut(line []byte) (field, rest []byte) {
	i := bytes.IndexAny(line, " \t")
	if i < 0 {
		return line, nil
	}
	return line[:i], bytes.TrimLeft(line[i:], " \t")
}

// number parses a field of digits only.
func number(field []byte) (int, error) {
	n, err := strconv.ParseUint(string(field), 10, 62)
	if err != nil {
		return 0, fmt.Errorf("%q is no number of a row, of a column or of entries", field)
	}
	return int(n), nil
}
