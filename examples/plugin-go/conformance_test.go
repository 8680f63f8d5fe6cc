package main

import (
	"os"
	"testing"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/methods/methodtest"
)

func init() { bmi.Register(driver{}) }

func TestMain(m *testing.M) {
	os.Exit(methodtest.MainWithoutLeaks(m, nil))
}

// TestConformance runs the method without a plugin around it.
func TestConformance(t *testing.T) {
	methodtest.Run(t, func(t methodtest.T) *methodtest.Subject {
		address := methodtest.Named(scheme)
		return &methodtest.Subject{
			Address: address,
			Fork:    methodtest.ForkSelf(address),
			Ranges: func(name string) (inside, outside []string) {
				return []string{"seq://*", "seq://" + name[:3] + "*"}, []string{"seq://x*", "*"}
			},
		}
	})
}
