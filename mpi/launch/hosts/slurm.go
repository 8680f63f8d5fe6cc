package hosts

import (
	"fmt"
	"strconv"
	"strings"
)

// outside splits a text at the commas that are not in brackets.
func outside(text string) (items []string) {
	depth, start := 0, 0
	for i := range len(text) {
		switch text[i] {
		case '[':
			depth++
		case ']':
			depth--
		case ',':
			if depth <= 0 {
				items = append(items, text[start:i])
				start = i + 1
			}
		}
	}
	return append(items, text[start:])
}

// Expand returns the names of a list in Slurm's form, such as login,rack[1-2]node[001-010,12].
func Expand(text string) ([]string, error) {
	var names []string
	for _, item := range outside(text) {
		more, err := expand(item, HostsMax-len(names))
		if err != nil {
			return nil, err
		}
		names = append(names, more...)
	}
	for _, name := range names {
		if err := checkName(name); err != nil {
			return nil, err
		}
	}
	return names, nil
}

// expand expands one item, which gives at most most names.
func expand(item string, most int) ([]string, error) {
	head, rest, ok := strings.Cut(item, "[")
	if !ok {
		if most < 1 {
			return nil, bad("more than %d hosts", HostsMax)
		}
		return []string{item}, nil
	}
	inner, tail, ok := strings.Cut(rest, "]")
	if !ok {
		return nil, bad("%.60q has no end of a bracket", item)
	}
	if len(item) > nameMax*100 {
		return nil, bad("%.60q is too long", item)
	}
	tails, err := expand(tail, most)
	if err != nil {
		return nil, err
	}
	var names []string
	for one := range strings.SplitSeq(inner, ",") {
		low, high, width, err := bounds(one)
		if err != nil {
			return nil, err
		}
		if high-low >= most || (high-low+1)*len(tails) > most-len(names) {
			return nil, bad("more than %d hosts", HostsMax)
		}
		for n := low; n <= high; n++ {
			for _, t := range tails {
				names = append(names, fmt.Sprintf("%s%0*d%s", head, width, n, t))
			}
		}
	}
	return names, nil
}

// bounds parses 7 or 001-010. The width is that of the first number.
func bounds(text string) (low, high, width int, err error) {
	from, to, isRange := strings.Cut(text, "-")
	if !isRange {
		to = from
	}
	for _, n := range []struct {
		to   *int
		text string
	}{{&low, from}, {&high, to}} {
		if n.text == "" || len(n.text) > 9 || strings.Trim(n.text, "0123456789") != "" {
			return 0, 0, 0, bad("%.60q is no range of numbers", text)
		}
		*n.to, _ = strconv.Atoi(n.text) // digits
	}
	if high < low {
		return 0, 0, 0, bad("%.60q ends before it begins", text)
	}
	return low, high, len(from), nil
}

// tasks parses Slurm's numbers of tasks, one for each node: 4(x2),3 is 4, 4, 3.
func tasks(text string) ([]int, error) {
	var counts []int
	for item := range strings.SplitSeq(text, ",") {
		number, times := item, "1"
		if head, rest, ok := strings.Cut(item, "(x"); ok {
			number = head
			if times, ok = strings.CutSuffix(rest, ")"); !ok {
				return nil, bad("%.60q is no number of tasks", item)
			}
		}
		n, err := slots(number)
		if err != nil {
			return nil, err
		}
		k, err := slots(times)
		if err != nil {
			return nil, err
		}
		if len(counts)+k > HostsMax {
			return nil, bad("more than %d hosts", HostsMax)
		}
		for range k {
			counts = append(counts, n)
		}
	}
	return counts, nil
}
