package cli

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"os"
	"strings"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/internal/cli/program"
)

// addressTemplates are the forms of addresses that are tried if --address is not given:
// the first at which the method can listen is used.
var addressTemplates = []string{"{name}", "{ip}:{port}"}

// fillTemplate is the address of the endpoint called name. {ip} and {port} are
// computed from the name, so that every process knows them without a table: all of
// 127/8 is loopback, and the ports are below those that a kernel assigns.
func fillTemplate(template, name string) string {
	h := fnv.New64a()
	_, _ = h.Write([]byte(name))
	v := h.Sum64()
	return strings.NewReplacer(
		"{name}", name,
		"{ip}", fmt.Sprintf("127.%d.%d.%d", 1+byte(v>>8)%250, byte(v>>16), 1+byte(v>>24)%250),
		"{port}", fmt.Sprint(10000+(v>>32)%20000),
	).Replace(template)
}

// checkTemplate rejects a template that gives all endpoints the same address.
func checkTemplate(template string) error {
	if template == "" || strings.Contains(template, "{name}") || strings.Contains(template, "{port}") || strings.Contains(template, "{ip}") {
		return nil
	}
	return program.Usagef("bad --address %q: it needs {name}, or {ip} and {port}, so that each endpoint has an address of its own", template)
}

// templateOf finds a template for the endpoints of a method, and checks that it works.
func templateOf(ctx context.Context, method, asked string) (string, error) {
	templates := addressTemplates
	if asked != "" {
		templates = []string{asked}
	}
	var first error
	for _, t := range templates {
		template := method + "://" + t
		ep, err := bmi.Open(ctx, bmi.Config{Listen: []string{fillTemplate(template, fmt.Sprintf("bmi-check-%d", os.Getpid()))}})
		if err == nil {
			return template, ep.Close()
		}
		// Errors other than a bad address matter more.
		if first == nil || errors.Is(first, bmi.ErrBadAddress) {
			first = err
		}
	}
	return "", first
}
