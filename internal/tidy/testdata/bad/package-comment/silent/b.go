// This comment belongs to nothing.

package silent
