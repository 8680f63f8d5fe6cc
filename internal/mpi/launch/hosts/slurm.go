package hosts

import "strings"

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
