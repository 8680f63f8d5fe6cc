package rights

import (
	"strings"

	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// Names of extended attributes that rights depend on.
const (
	ACLName    = "system.posix_acl_access"
	ACLDefault = "system.posix_acl_default"
)

// ToReadXattr is the right that reading an extended attribute needs, as in xattr(7).
func ToReadXattr(name string) proto.OpMask {
	switch {
	case strings.HasPrefix(name, "user."):
		return proto.MayRead
	case strings.HasPrefix(name, "trusted."):
		return proto.MayAdmin
	}
	return 0
}

// ToSetXattrs is the right that setting or removing extended attributes needs. Only uid 0 may set those of trusted and security.
func ToSetXattrs(names []string) proto.OpMask {
	for _, name := range names {
		if strings.HasPrefix(name, "trusted.") || strings.HasPrefix(name, "security.") {
			return proto.MayAdmin
		}
	}
	return proto.MaySetAttr
}
