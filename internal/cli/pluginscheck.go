package cli

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/internal/cli/program"
	"github.com/viaduct-hpc/viaduct/methods/methodtest"
	"github.com/viaduct-hpc/viaduct/plugins"
)

type checkOptions struct {
	pluginFlags
	run        string
	basic      bool
	methods    []string
	address    string
	oneWay     bool
	headOfLine bool
	oneProcess bool
	json       bool
}

func (a *App) pluginsCheckCommand() *cobra.Command {
	var opt checkOptions
	cmd := &cobra.Command{
		Use:   "check PATH",
		Short: "Check a plugin: its start, its version, and every method by the conformance suite",
		Long: `Check starts a plugin, shows what it offers, and runs the conformance suite against
each of its methods. The endpoints share one process of the plugin, or use two if
the test needs a peer in another process. A test is ok, fails with the reason, or
is skipped because the method lacks the feature.

The endpoints of the tests are named METHOD://{name}, or, if the method does not
listen there, METHOD://{ip}:{port}. With --address other forms are possible, for
instance --address '{ip}:{port}/{name}'. {name} is replaced by a word of letters,
digits and hyphens, {ip} by an address in 127.0.0.0/8, {port} by a port.

Variables that a method needs, a key for instance, are given with --env.

` + exitHelp,
		Example: `  bmi plugins check bin/bmi-method-via
  bmi plugins check ./bmi-method-mine --env MINE_DEVICE=0 --run 'Send|Recv' --json`,
		Args: program.Exactly(1, "one PATH"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.pluginsCheck(cmd.Context(), args[0], opt)
		},
	}
	f := cmd.Flags()
	opt.register(cmd)
	f.StringVar(&opt.run, "run", "", "only the tests whose names match this regular expression")
	f.BoolVar(&opt.basic, "basic", false, "only the tests that the simplest useful method passes")
	f.StringSliceVar(&opt.methods, "method", nil, "only these of the plugin's methods")
	f.StringVar(&opt.address, "address", "", "how endpoints are named behind METHOD://, with {name}, {ip} and {port}")
	f.BoolVar(&opt.oneWay, "one-way", false, "the method does not know a connecting peer by its listening address (tcp and tcps: always)")
	f.BoolVar(&opt.headOfLine, "head-of-line", false, "a long message without a receive holds up those behind it (tcp and tcps: always)")
	f.BoolVar(&opt.oneProcess, "one-process", false, "endpoints reach only those of the same process: no test with a peer in another one")
	program.JSONFlag(cmd, &opt.json, checked{})
	return cmd
}

// overStreams are our methods over byte streams. They have both peculiarities that the
// suite must know.
var overStreams = []string{"tcp", "tcps"}

// selectTests returns the requested tests.
func (opt *checkOptions) selectTests() (methodtest.Tests, error) {
	pattern, err := regexp.Compile(opt.run)
	if err != nil {
		return nil, program.Usagef("bad --run: %v", err)
	}
	all := methodtest.All
	if opt.basic {
		all = methodtest.Basic
	}
	var tests methodtest.Tests
	for _, t := range all {
		if pattern.MatchString(t.Name) {
			tests = append(tests, t)
		}
	}
	if len(tests) == 0 {
		return nil, program.Usagef("bad --run %q: no test is called so; the first are %s, %s, %s", opt.run, all[0].Name, all[1].Name, all[2].Name)
	}
	return tests, nil
}

// selectMethods returns the requested ones of the plugin's methods.
func (opt *checkOptions) selectMethods(offered []string) ([]string, error) {
	if len(opt.methods) == 0 {
		return offered, nil
	}
	for _, m := range opt.methods {
		if !slices.Contains(offered, m) {
			return nil, program.Usagef("the plugin has no method %q; it offers %s", m, strings.Join(offered, ", "))
		}
	}
	return opt.methods, nil
}

func (a *App) pluginsCheck(ctx context.Context, path string, opt checkOptions) (err error) {
	tests, err := opt.selectTests()
	if err != nil {
		return err
	}
	if err := checkTemplate(opt.address); err != nil {
		return err
	}
	if path, err = pluginFile(path); err != nil {
		return err
	}
	var log *slog.Logger
	if a.log.Level != "" {
		if log, err = a.log.Logger(a.Err, slog.LevelInfo); err != nil {
			return err
		}
	}
	p, err := opt.load(ctx, path, log)
	if err != nil {
		return err
	}
	defer unload(p, &err)
	methods, err := opt.selectMethods(p.Methods())
	if err != nil {
		return err
	}
	var out io.Writer = a.Out
	if opt.json {
		out = io.Discard // with --json, print only the rows of the check
	}
	if err := printPlugins(out, nil, []pluginInfo{{
		Name: p.Name(), Path: path, Version: p.Version(), Methods: p.Methods(), Data: dataOf(p),
	}}, false); err != nil {
		return err
	}
	var bad []string
	for _, method := range methods {
		c := &checking{app: a, out: out, json: opt.json, plugin: p, path: path, method: method, flags: opt.pluginFlags,
			oneWay:     opt.oneWay || slices.Contains(overStreams, method),
			headOfLine: opt.headOfLine || slices.Contains(overStreams, method),
			oneProcess: opt.oneProcess,
		}
		good, err := c.run(ctx, opt.address, tests)
		if err != nil {
			return err
		}
		if !good {
			bad = append(bad, method)
		}
	}
	if len(bad) > 0 {
		return fmt.Errorf("the plugin %s does not pass: %s", p.Name(), strings.Join(bad, ", "))
	}
	return nil
}

// A checking is the check of one method.
type checking struct {
	app        *App
	out        io.Writer // what people see
	json       bool
	plugin     *plugins.Plugin
	path       string
	method     string
	template   string // of addresses
	flags      pluginFlags
	oneWay     bool
	headOfLine bool
	oneProcess bool
	count      map[string]int // by outcome
}

// checked is a test of `bmi plugins check --json`.
type checked struct {
	Method  string          `json:"method"`
	Test    string          `json:"test,omitempty"` // "": the method could not be opened
	Outcome string          `json:"outcome"`        // ok, skip or FAIL
	Took    program.Seconds `json:"took_seconds"`
	Said    []string        `json:"said,omitempty"`
}

// run shows the method's capabilities, and runs the tests. err is an error of the
// command itself; good reports whether the method passed.
func (c *checking) run(ctx context.Context, address string, tests methodtest.Tests) (good bool, err error) {
	w := c.out
	fmt.Fprintln(w)
	c.template, err = templateOf(ctx, c.method, address)
	if err == nil {
		err = c.describe(ctx)
	}
	if err != nil {
		if ctx.Err() != nil {
			return false, ctx.Err()
		}
		if c.json {
			return false, program.WriteJSON(c.app.Out, checked{Method: c.method, Outcome: testFailed, Said: []string{err.Error()}})
		}
		_, err = fmt.Fprintf(w, "method    %s\n%s: %v\n%s\n", c.method, testFailed, err,
			"It cannot be opened; --env gives it what it needs from the environment, --address says how endpoints are named.")
		return false, err
	}
	c.count = map[string]int{}
	for _, test := range tests {
		v, err := c.try(ctx, test)
		if err != nil {
			return false, err
		}
		c.count[v.outcome]++
		if c.json {
			if err := program.WriteJSON(c.app.Out, checked{c.method, v.test, v.outcome, program.Seconds(v.took.Seconds()), v.said}); err != nil {
				return false, err
			}
			continue
		}
		if _, err := fmt.Fprintln(w, v.coloured(program.StyleOf(w))); err != nil {
			return false, err
		}
	}
	_, err = fmt.Fprintf(w, "%s: %d ok, %d skipped, %d failed\n", c.method, c.count[testPassed], c.count[testSkipped], c.count[testFailed])
	return c.count[testFailed] == 0, err
}

// describe shows the method's capabilities.
func (c *checking) describe(ctx context.Context) (err error) {
	ep, err := bmi.Open(ctx, bmi.Config{Methods: []string{c.method}})
	if err != nil {
		return err
	}
	defer closeEndpoint(ep, &err)
	for _, i := range ep.Info() {
		if i.Name == c.method {
			if err := printInfo(c.out, []methodInfo{fromInfo(i)}, false); err != nil {
				return err
			}
		}
	}
	_, err = fmt.Fprintf(c.out, "endpoints at %s\n", c.template)
	return err
}

// try runs one test. The test also fails if the plugin's process ends: the suite kills
// only processes that it started.
func (c *checking) try(ctx context.Context, test methodtest.Test) (result, error) {
	before := c.plugin.Restarts()
	v, err := try(ctx, test, c.subject)
	if died := c.plugin.Restarts() - before; err == nil && died > 0 {
		v.outcome = testFailed
		v.said = append(v.said, fmt.Sprintf("the process of the plugin ended, and was started again, %d times", died))
	}
	return v, err
}

func (c *checking) subject(methodtest.T) *methodtest.Subject {
	s := &methodtest.Subject{
		Address:    func(name string) string { return fillTemplate(c.template, name) },
		OneWay:     c.oneWay,
		HeadOfLine: c.headOfLine,
	}
	if !c.oneProcess {
		s.Fork = c.forkPeer
	}
	return s
}
