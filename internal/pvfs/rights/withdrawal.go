package rights

import "github.com/viaduct-hpc/viaduct/pvfs/proto"

// A Withdrawal takes back what capabilities for an object give, because some user's rights to it were reduced. All times
// are moments of the object's server, ns.
type Withdrawal struct {
	At    int64  // capabilities issued up to this time are void
	Ended int64  // the same for capabilities for open files
	Owner uint32 // the user whose capabilities stay valid
}

// Voids reports whether a withdrawal makes a capability void. Those of the owner and of root stay valid: both could restore any
// right. So does that for an open file, which gives no more than a descriptor would, until Ended.
func (w Withdrawal) Voids(c Issue) bool {
	until := w.At
	if c.Open {
		until = w.Ended
	}
	return c.At <= until && !c.Of(w.Owner) && !c.Of(0)
}

// Later is the withdrawal that voids what either does.
func (w Withdrawal) Later(is Withdrawal) Withdrawal {
	return Withdrawal{At: max(w.At, is.At), Ended: max(w.Ended, is.Ended), Owner: is.Owner}
}

// Narrows reports whether a change of an object reduces any user's rights to it, and so voids capabilities. open: also those for
// open files. They are void if the mode sets an ID from now on, because they do not say so, and a write with them would leave the
// mode as it is.
func Narrows(before, after Object) (narrows, open bool) {
	if !whole(before.Type) {
		return false, false
	}
	open = before.Type == proto.TypeMetafile && !SetsID(before.Mode) && SetsID(after.Mode)
	return open || before.Owner != after.Owner || before.Group != after.Group || before.Mode&^after.Mode != 0, open
}
