package samplesort

import "fmt"

// A Summary describes the records of a process. Summaries of all processes tell whether together
// they are the sorted input.
type Summary struct {
	Count       uint64
	Sum         uint64 // of the records' hashes, which does not depend on their order
	First, Last uint64 // keys, if Count > 0
	Sorted      bool
}

// Summarize returns the summary of records.
func Summarize(records []Record) Summary {
	s := Summary{Count: uint64(len(records)), Sorted: true}
	for i, r := range records {
		s.Sum += r.hash()
		if i > 0 && r.Key < records[i-1].Key {
			s.Sorted = false
		}
	}
	if len(records) > 0 {
		s.First, s.Last = records[0].Key, records[len(records)-1].Key
	}
	return s
}

// Join returns the summary of parts that follow each other.
func Join(parts []Summary) Summary {
	whole := Summary{Sorted: true}
	for _, p := range parts {
		if p.Count == 0 {
			continue
		}
		if whole.Count == 0 {
			whole.First = p.First
		}
		whole.Sorted = whole.Sorted && p.Sorted && (whole.Count == 0 || whole.Last <= p.First)
		whole.Last = p.Last
		whole.Count += p.Count
		whole.Sum += p.Sum
	}
	return whole
}

// Check returns an error unless the output s is the sorted input: in order, with the same records,
// each as often. Different records pass by chance only once in 2^64 times.
func (s Summary) Check(input Header) error {
	switch {
	case s.Count != input.Count:
		return fmt.Errorf("samplesort: the output has %d records, the input %d", s.Count, input.Count)
	case s.Sum != input.Sum:
		return fmt.Errorf("samplesort: the output has other records than the input: the sums are %#x and %#x", s.Sum, input.Sum)
	case !s.Sorted:
		return fmt.Errorf("samplesort: the output has the records of the input but is not sorted")
	}
	return nil
}
