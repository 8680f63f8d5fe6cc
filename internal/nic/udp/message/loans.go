package message

import "github.com/viaduct-hpc/viaduct/methods/via/nic"

// A loanList holds the buffers of receives that completed with a loan, oldest first. They
// mostly come back in that order.
type loanList struct {
	all  []onLoan
	head int // those before it are free
}

type onLoan struct {
	d    *nic.Descriptor
	loan Loan
}

func (l *loanList) count() int { return len(l.all) - l.head }

func (l *loanList) add(d *nic.Descriptor, loan Loan) {
	if len(l.all) == cap(l.all) && l.head > len(l.all)/2 {
		n := copy(l.all, l.all[l.head:])
		clear(l.all[n:])
		l.all, l.head = l.all[:n], 0
	}
	l.all = append(l.all, onLoan{d, loan})
}

// take removes the loan of a receive; nil if it has none.
func (l *loanList) take(d *nic.Descriptor) Loan {
	for i := l.head; i < len(l.all); i++ {
		if l.all[i].d != d {
			continue
		}
		loan := l.all[i].loan
		copy(l.all[l.head+1:i+1], l.all[l.head:i])
		l.all[l.head] = onLoan{}
		if l.head++; l.head == len(l.all) {
			l.all, l.head = l.all[:0], 0
		}
		return loan
	}
	return nil
}
