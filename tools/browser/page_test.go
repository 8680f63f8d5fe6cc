package browser

import (
	"context"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/watch"
	live "github.com/viaduct-hpc/viaduct/internal/watch/page"
	"github.com/viaduct-hpc/viaduct/internal/watch/table"
	"github.com/viaduct-hpc/viaduct/internal/watch/view"
	"github.com/viaduct-hpc/viaduct/internal/watch/watchtest"
)

// fixtures are processes whose time goes on by a second with each view.
type fixtures struct {
	of func(second int) []*watch.Snapshot

	mu      sync.Mutex
	second  int
	rankers []*table.Ranker
	joiner  view.Joiner
}

// View implements view.Source.
func (f *fixtures) View(_ context.Context, q table.Query) (*view.View, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	all := f.of(f.second)
	f.second++
	var samples []view.Sample
	for i, s := range all {
		for len(f.rankers) <= i {
			f.rankers = append(f.rankers, new(table.Ranker))
		}
		samples = append(samples, view.Sample{Target: "unix:/run/" + s.Program + s.Host, Snapshot: f.rankers[i].Rank(s, q.Top())})
	}
	return f.joiner.Join(all[0].Taken, samples, q), nil
}

func serve(t *testing.T, of func(second int) []*watch.Snapshot) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(live.Handler(&fixtures{of: of}))
	t.Cleanup(s.Close)
	return s
}

func TestServers(t *testing.T) {
	p := open(t, serve(t, func(second int) []*watch.Snapshot {
		return []*watch.Snapshot{watchtest.Server("io1", second), watchtest.Server("io2", second), watchtest.Server("io3", second)}
	}), "")
	p.updates(3)
	assert.Equal(t, "Servers 3", p.text("nav [aria-current]"), "the page begins with what there is")
	text := p.text("#content")
	for _, want := range []string{"io1 of pvfs2-fs", "907/s", "85.0 MiB/s", "getattr", "410/s", "no right to do this", "41 found, 38 repaired", "GiB of 900 GiB", "71 %"} {
		assert.Contains(t, text, want)
	}
	p.do(chromedp.Click(`//button[text()="io3"]`))
	p.until(`document.querySelector("#content .card h2")?.innerText === "io3 of pvfs2-fs"`)
	p.until(`location.hash === "#server=io3"`)
	p.do(chromedp.Reload())
	p.updates(2)
	p.until(`document.querySelector("#content .card h2")?.innerText === "io3 of pvfs2-fs"`)
	p.picture("page-servers", 1280, 1000)
	p.quiet()
}

func TestJobWithDeadlock(t *testing.T) {
	p := open(t, serve(t, func(second int) []*watch.Snapshot { return watchtest.Job(16, second) }), "")
	p.updates(2)
	assert.Equal(t, "Jobs 1", p.text("nav [aria-current]"))
	circle := "rank 0 waits in MPI_Recv for 1, 1 waits in MPI_Recv for 2, 2 waits in MPI_Recv for 0"
	assert.Contains(t, p.text("#alerts"), circle)
	text := p.text("#content")
	for _, want := range []string{circle, "16 ranks, 15 wait, 15 probably for ever", "MPI_Barrier", "behind a deadlock", "runs"} {
		assert.Contains(t, text, want)
	}
	assert.Equal(t, 15, eval[int](p, `document.querySelectorAll("svg.graph line").length`))
	assert.Equal(t, 16, eval[int](p, `document.querySelectorAll("svg.graph circle").length`))
	p.colours("dark")
	p.picture("page-job", 1280, 860)
	p.quiet()
}

func TestLargeJobIsAMatrix(t *testing.T) {
	p := open(t, serve(t, func(second int) []*watch.Snapshot { return watchtest.Job(600, second) }), "")
	p.updates(2)
	assert.Equal(t, 1, eval[int](p, `document.querySelectorAll("canvas.graph").length`))
	assert.Positive(t, eval[int](p, `document.querySelector("canvas.graph").getContext("2d").getImageData(0, 0, 512, 512).data.filter(Boolean).length`), "something is drawn")
	assert.Contains(t, p.text("#content"), "400 more ranks")
	p.quiet()
}

func TestTenThousandPeers(t *testing.T) {
	p := open(t, serve(t, func(second int) []*watch.Snapshot { return []*watch.Snapshot{watchtest.Client(10_000, second)} }), "")
	p.updates(2)
	assert.Contains(t, p.text(".bar"), "1–100 of 10,000")
	assert.Equal(t, 100, eval[int](p, `document.querySelectorAll("#content tbody tr").length`))
	assert.Contains(t, p.text("#content tbody tr"), "via+udp://10.0.0.1:7000")
	assert.Contains(t, p.text("#content tbody tr"), "64.0 MiB/s")

	p.do(chromedp.Click(`//button[text()="Next"]`))
	p.until(`document.querySelector(".bar")?.innerText.includes("101–200 of 10,000")`)
	p.do(chromedp.Focus("#filter"), chromedp.SendKeys("#filter", "round-trip>5ms"))
	p.until(`document.querySelector(".bar")?.innerText.includes("(10,000 in all)")`)
	p.do(chromedp.Click(`//th/button[text()="Retransmitted"]`))
	p.until(`document.querySelector('th[aria-sort="descending"]')?.innerText.startsWith("Retransmitted")`)
	p.until(`document.querySelector("#content tbody tr")?.innerText.includes("12.0 ms")`)
	hash := eval[string](p, "location.hash")
	assert.Contains(t, hash, "sort=retransmissions")
	p.do(chromedp.Reload())
	p.updates(1)
	p.until(`document.querySelector("#filter")?.value === "round-trip>5ms"`)
	assert.Equal(t, hash, eval[string](p, "location.hash"), "a reload shows the same")

	p.filter("speed>1")
	p.until(`document.querySelector(".error").innerText.includes("there is no column")`)
	assert.Equal(t, "true", eval[string](p, `document.querySelector("#filter").getAttribute("aria-invalid")`))
	p.filter("")
	p.until(`document.querySelector(".error")?.innerText === ""`)
	p.do(chromedp.Click(`//th/button[text()="Sent"]`))
	p.do(chromedp.Focus("#content tbody th button"), chromedp.KeyEvent(kb.Enter))
	p.until(`document.querySelector("#details h2")?.innerText === "via+udp://10.0.0.1:7000"`)
	p.do(chromedp.Click(`//button[text()="via+udp://10.0.0.3:7000"]`))
	p.until(`document.querySelector("#details")?.innerText.includes("10.1.0.1 to 10.1.0.3")`)
	p.until(`document.querySelector("tr.chosen")?.innerText.includes("10.0.0.3")`)
	p.picture("page-peers", 1280, 760)
	p.forgive("400 (Bad Request)") // the browser notes each answer to the bad filter
	p.quiet()
}

func TestNamesAreText(t *testing.T) {
	p := open(t, serve(t, func(second int) []*watch.Snapshot { return []*watch.Snapshot{watchtest.Hostile(second)} }), "")
	for _, tab := range []string{"peers", "servers", "jobs", "processes"} {
		p.run(`location.hash = "tab=` + tab + `"`)
		p.until(`document.querySelector("nav [aria-current]")?.getAttribute("href") === "#tab=` + tab + `"`)
		p.updates(2)
		assert.Contains(t, p.text("#content"), watchtest.Markup, tab)
		assert.Contains(t, p.text("#what"), "<script>", tab)
	}
	p.run(`location.hash = "tab=peers"`)
	p.until(`document.querySelector("tbody th button") !== null`)
	p.do(chromedp.Click("tbody th button"))
	p.until(`document.querySelector("#details")?.innerText.includes("<script>")`)
	assert.Equal(t, 1, eval[int](p, `document.querySelectorAll("script").length`), "the page's own")
	assert.Zero(t, eval[int](p, `document.querySelectorAll("img").length`))
	assert.NotEqual(t, "owned", eval[string](p, "document.title"))
	p.quiet()
}

// TestPauses: nothing is fetched while nobody looks.
func TestPauses(t *testing.T) {
	server := serve(t, func(second int) []*watch.Snapshot { return []*watch.Snapshot{watchtest.Client(3, second)} })
	p := open(t, server, "")
	p.updates(1)
	p.run(`Object.defineProperty(document, "hidden", {value: true, configurable: true}); document.dispatchEvent(new Event("visibilitychange"))`)
	// What was under way when the page was hidden is aborted, so the number stays.
	p.run(`window.seen = document.documentElement.dataset.updates`)
	p.do(chromedp.Sleep(2500 * time.Millisecond))
	assert.True(t, eval[bool](p, `window.seen === document.documentElement.dataset.updates`))
	p.run(`delete document.hidden; document.dispatchEvent(new Event("visibilitychange"))`)
	p.updates(1)
	p.do(chromedp.Click("#pause"))
	p.until(`document.querySelector("#status").innerText === "paused"`)
	p.do(chromedp.Click("#pause"))
	p.updates(1)
	server.Close()
	p.until(`document.querySelector("#status").innerText.startsWith("nobody answers")`)
	require.True(t, eval[bool](p, `document.querySelector("#main").classList.contains("old")`), "what is shown is old")
}
