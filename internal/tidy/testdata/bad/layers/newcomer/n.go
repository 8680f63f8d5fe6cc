// Package newcomer is in no layer yet.
package newcomer
