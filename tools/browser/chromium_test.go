package browser

import (
	"context"
	"net/http/httptest"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/need"
)

// patience is how long a test waits for the browser: only a broken program takes that long.
const patience = 5 * time.Minute

// chromium is the path of the browser. The test is skipped where there is none.
func chromium(t *testing.T) string {
	return need.Program(t, "chromium", "chromium-browser", "google-chrome")
}

// A page is a tab of the browser that shows a server's page.
type page struct {
	t      *testing.T
	ctx    context.Context
	server *httptest.Server

	mu       sync.Mutex
	console  []string // errors and warnings
	requests []string // URLs
}

// browser is the one of all tests: starting it takes long.
var browser struct {
	once sync.Once
	ctx  context.Context
	stop func() // nil: no test has started it
}

// start starts the browser at its first call.
func start(path string) context.Context {
	browser.once.Do(func() {
		options := append(chromedp.DefaultExecAllocatorOptions[:],
			chromedp.ExecPath(path), chromedp.Flag("no-sandbox", true), chromedp.Flag("disable-gpu", true),
			chromedp.Flag("disable-quic", true), chromedp.Flag("no-first-run", true), chromedp.Flag("disable-background-networking", true),
			chromedp.Flag("disable-component-update", true), chromedp.Flag("disable-sync", true), chromedp.WindowSize(1280, 800))
		ctx, stop := chromedp.NewExecAllocator(context.Background(), options...)
		ctx, cancel := chromedp.NewContext(ctx)
		browser.ctx, browser.stop = ctx, func() { cancel(); stop() }
	})
	return browser.ctx
}

func TestMain(m *testing.M) {
	code := m.Run()
	if browser.stop != nil {
		browser.stop()
	}
	os.Exit(code)
}

// open loads the page with a hash, in a window of its own.
func open(t *testing.T, server *httptest.Server, hash string) *page {
	t.Helper()
	ctx := start(chromium(t))
	require.NoError(t, chromedp.Do(ctx), "the browser does not start")
	ctx, cancelTab := chromedp.NewContext(ctx, chromedp.WithNewBrowserContext())
	t.Cleanup(cancelTab)
	p := &page{t: t, ctx: ctx, server: server}
	require.NoError(t, chromedp.Listen(ctx, p.event))
	call(p, network.Enable, network.EnableParams{})
	call(p, log.Enable, cdp.Empty{})
	call(p, runtime.Enable, cdp.Empty{})
	p.do(chromedp.Navigate(server.URL + "/" + hash))
	return p
}

// event notes what the page says and asks for.
func (p *page) event(e any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch e := e.(type) {
	case *runtime.EventConsoleAPICalled:
		p.console = append(p.console, string(e.Type))
	case *runtime.EventExceptionThrown:
		p.console = append(p.console, e.ExceptionDetails.Text)
	case *log.EventEntryAdded:
		p.console = append(p.console, e.Entry.Text+" "+e.Entry.URL)
	case *network.EventRequestWillBeSent:
		p.requests = append(p.requests, e.Request.URL)
	}
}

func (p *page) do(steps ...chromedp.Action[chromedp.Void]) {
	p.t.Helper()
	require.NoError(p.t, chromedp.Do(p.ctx, steps...))
}

// call sends a command to the browser.
func call[P, R any](p *page, c cdp.Command[P, R], params P) {
	p.t.Helper()
	_, err := chromedp.Call(p.ctx, c, params)
	require.NoError(p.t, err)
}

// run runs statements in the page.
func (p *page) run(statements string) {
	p.t.Helper()
	eval[bool](p, "(() => { "+statements+"; return true })()")
}

// until waits for an expression to be true.
func (p *page) until(expression string) {
	p.t.Helper()
	_, err := chromedp.Run(p.ctx, chromedp.Poll[bool](expression, chromedp.WithPollingTimeout(patience)))
	require.NoError(p.t, err, "%s\nthe page says: %.1500s", expression, p.text("body"))
}

// updates waits for n more updates.
func (p *page) updates(n int) {
	p.t.Helper()
	p.run("window.seen = +(document.documentElement.dataset.updates ?? 0)")
	p.until("+(document.documentElement.dataset.updates ?? 0) >= window.seen + " + strconv.Itoa(n))
}

// text is what an element shows.
func (p *page) text(selector string) string {
	return eval[string](p, "document.querySelector("+strconv.Quote(selector)+")?.innerText ?? ''")
}

// eval is the value of an expression.
func eval[T any](p *page, expression string) T {
	p.t.Helper()
	value, err := chromedp.Run(p.ctx, chromedp.Evaluate[T](expression))
	require.NoError(p.t, err, expression)
	return value
}

// filter replaces the filter of the peers.
func (p *page) filter(text string) {
	p.t.Helper()
	p.run(`const f = document.querySelector("#filter"); f.value = ` + strconv.Quote(text) + `; f.dispatchEvent(new Event("input"))`)
}

// forgive drops notes on the console that contain a text, of which there is one at least.
func (p *page) forgive(text string) {
	p.t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	before := len(p.console)
	p.console = slices.DeleteFunc(p.console, func(note string) bool { return strings.Contains(note, text) })
	require.Less(p.t, len(p.console), before)
}

// quiet checks that nothing went wrong in the page, and that it asked its own server alone.
func (p *page) quiet() {
	p.t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	require.Empty(p.t, p.console)
	require.NotEmpty(p.t, p.requests)
	for _, url := range p.requests {
		require.True(p.t, strings.HasPrefix(url, p.server.URL+"/"), url)
	}
}

// colours makes the page light or dark.
func (p *page) colours(scheme string) {
	p.t.Helper()
	call(p, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}})
}

// picture saves a picture of the page for the guide, if VIADUCT_PICTURES names a folder.
func (p *page) picture(name string, width, height int64) {
	p.t.Helper()
	dir := os.Getenv("VIADUCT_PICTURES")
	if dir == "" {
		return
	}
	call(p, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{Width: width, Height: height, DeviceScaleFactor: 1})
	png, err := chromedp.Run(p.ctx, chromedp.CaptureScreenshot())
	require.NoError(p.t, err)
	require.NoError(p.t, os.WriteFile(dir+"/"+name+".png", png, 0o644))
}
