//go:build race

package secure

const raced = true
