package samplesort

import "fmt"

// A Summary is what must be known of some records to tell whether they, and those of other
// processes, are the sorted input.
type Summary struct {
	Count       uint64
	Sum         uint64 // of the records' hashes: the same in whatever order they are
	First, Last uint64 // keys, if Count > 0
	Sorted      bool
}

// Summarize looks at all records.
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

// Join is the summary of parts that follow each other.
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

// Check says whether the output s is the input sorted: in order, with the same records, each
// as often. Other records are taken for the same by chance once in 2^64 times.
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
