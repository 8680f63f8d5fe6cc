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

// addressTemplates are how endpoints are named where -address does not say it: the
// first that the method can listen at.
var addressTemplates = []string{"{name}", "{ip}:{port}"}

// fillTemplate is the address of the endpoint called name. What stands for {ip} and
// {port} follows from the name, so that every process knows it without a table: all of
// 127/8 is loopback, and the ports are below those that a kernel chooses from.
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

// checkTemplate refuses a template that gives every endpoint one address.
func checkTemplate(template string) error {
	if template == "" || strings.Contains(template, "{name}") || strings.Contains(template, "{port}") || strings.Contains(template, "{ip}") {
		return nil
	}
	return program.Usagef("bad -address %q: it needs {name}, or {ip} and {port}, so that each endpoint has an address of its own", template)
}

// templateOf finds out how the endpoints of a method are named, and that it works.
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
		// What is wrong beside the address is what matters.
		if first == nil || errors.Is(first, bmi.ErrBadAddress) {
			first = err
		}
	}
	return "", first
}
