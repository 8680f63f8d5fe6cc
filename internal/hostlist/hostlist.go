// Package hostlist expands lists of hosts with ranges in brackets, such as node[001-010,12],gpu1: what Slurm puts into
// SLURM_JOB_NODELIST, and what people write on command lines.
//
// A list is words separated by commas. Each group in brackets stands for the numbers and ranges in it. The digits of a range's
// lower end are the width of its numbers: [08-10] is 08, 09, 10, and [8-10] is 8, 9, 10. If a word has several groups, the last
// one varies fastest and the others vary from left to right, which is Slurm's order. Duplicates stay. An IPv6 address in
// brackets, [::1], is no group.
package hostlist

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// The limits of a list, which can come from outside.
const (
	NamesMax     = 1 << 16 // names of one list
	NameBytesMax = 1024    // bytes of one name; a name may also be an address with a scheme
)

// Expand returns the names of a list, in order.
func Expand(list string) ([]string, error) {
	words, err := Split(list)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, word := range words {
		more, err := expand(word, NamesMax-len(names))
		if err != nil {
			return nil, err
		}
		names = append(names, more...)
	}
	return names, nil
}

// ExpandAll expands several lists, such as the arguments of a command.
func ExpandAll(lists []string) (names []string, err error) {
	for _, list := range lists {
		some, err := Expand(list)
		if err != nil {
			return nil, err
		}
		if names = append(names, some...); len(names) > NamesMax {
			return nil, errTooMany
		}
	}
	return names, nil
}

// Split returns the words of a list, with their groups as they are. Words are neither empty, nor have they spaces or control
// characters in them.
func Split(list string) ([]string, error) {
	var words []string
	inside, start := false, 0
	for i := 0; i <= len(list); i++ {
		switch {
		case i == len(list) && inside:
			return nil, wrong(list[start:], "a [ has no ]")
		case i == len(list), list[i] == ',' && !inside:
			if start == i {
				return nil, wrong(list, "a name is empty; write names with one comma between them, as in node1,node[3-5]")
			}
			words = append(words, list[start:i])
			start = i + 1
		case list[i] == '[' && inside:
			return nil, wrong(list[start:], "a [ stands within brackets")
		case list[i] == ']' && !inside:
			return nil, wrong(list[start:], "a ] has no [")
		case list[i] == '[', list[i] == ']':
			inside = !inside
		case list[i] <= ' ', list[i] == 0x7f:
			return nil, wrong(list[start:], "names have no spaces or control characters; separate them by commas")
		}
	}
	return words, nil
}

// Word expands one word of a list. A word without groups is its own expansion.
func Word(word string) ([]string, error) {
	words, err := Split(word)
	if err != nil {
		return nil, err
	}
	if len(words) != 1 {
		return nil, wrong(word, "one name is expected, not a list")
	}
	return expand(word, NamesMax)
}

// expand expands a word that Split returned to at most namesMax names.
func expand(word string, namesMax int) ([]string, error) {
	texts, groups, err := parse(word, namesMax)
	if err != nil {
		return nil, err
	}
	names, bytes := 1, len(strings.Join(texts, ""))
	for _, g := range groups {
		names *= len(g)
		bytes += len(slices.MaxFunc(g, func(a, b string) int { return len(a) - len(b) }))
	}
	if bytes > NameBytesMax {
		return nil, wrong(word, fmt.Sprintf("a name has at most %d bytes", NameBytesMax))
	}
	out := make([]string, 0, names)
	at := make([]int, len(groups)) // which number of each group comes next
	for range names {
		var b strings.Builder
		for i, g := range groups {
			b.WriteString(texts[i])
			b.WriteString(g[at[i]])
		}
		b.WriteString(texts[len(groups)])
		out = append(out, b.String())
		step(at, groups)
	}
	return out, nil
}

// step goes on to the next name: the last group first, then the others from left to right.
func step(at []int, groups [][]string) {
	for i := range groups {
		i = (i + len(groups) - 1) % len(groups)
		if at[i]++; at[i] < len(groups[i]) {
			return
		}
		at[i] = 0
	}
}

// parse cuts a word into groups, each with its numbers, and the texts around them, one more than groups. The word has at most
// namesMax names.
func parse(word string, namesMax int) (texts []string, groups [][]string, err error) {
	if namesMax < 1 {
		return nil, nil, errTooMany
	}
	text := ""
	for {
		before, after, found := strings.Cut(word, "[")
		text += before
		if !found {
			return append(texts, text), groups, nil
		}
		inside, rest, _ := strings.Cut(after, "]") // Split has seen it
		word = rest
		if ip, err := netip.ParseAddr(inside); err == nil && ip.Is6() {
			text += "[" + inside + "]"
			continue
		}
		numbers, err := parseGroup(inside, namesMax)
		if err != nil {
			return nil, nil, err
		}
		namesMax /= len(numbers)
		texts, groups, text = append(texts, text), append(groups, numbers), ""
	}
}

// parseGroup returns the numbers of a group, at most numbersMax.
func parseGroup(inside string, numbersMax int) (numbers []string, err error) {
	for part := range strings.SplitSeq(inside, ",") {
		lower, upper, ranged := strings.Cut(part, "-")
		first, err := number(lower)
		last := first
		if err == nil && ranged {
			last, err = number(upper)
		}
		switch {
		case err != nil:
			return nil, wrong("["+inside+"]", "brackets hold numbers and ranges, as in [1-8,12], or an IPv6 address")
		case last < first:
			return nil, wrong(part, "the range ends before it begins")
		case last-first >= uint64(numbersMax-len(numbers)):
			return nil, errTooMany
		}
		for i := range last - first + 1 {
			numbers = append(numbers, fmt.Sprintf("%0*d", len(lower), first+i))
		}
	}
	return numbers, nil
}

// number parses decimal digits, without the signs and underscores that strconv knows.
func number(digits string) (uint64, error) {
	if len(digits) > NameBytesMax {
		return 0, strconv.ErrRange
	}
	for i := range len(digits) {
		if digits[i] < '0' || digits[i] > '9' {
			return 0, strconv.ErrSyntax
		}
	}
	return strconv.ParseUint(digits, 10, 64)
}

var errTooMany = fmt.Errorf("host list: it has more than %d names", NamesMax)

// quotedBytesMax is how much of a list an error repeats.
const quotedBytesMax = 80

func wrong(text, what string) error {
	if len(text) > quotedBytesMax {
		text = text[:quotedBytesMax] + "…"
	}
	return errors.New("host list " + strconv.Quote(text) + ": " + what)
}
