package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestCharts(t *testing.T) {
	folder := t.TempDir()
	in := `[{"file":"lines.svg","title":"a title","x":"size","y":"µs","lines":[{"name":"one of them","color":"#d55e00","shape":9,"points":[[8,0.5]]}],"ticks":[{"at":8,"label":"8 B"}]},
		{"file":"none.svg","title":"no lines","y":"µs"},
		{"file":"bars.svg","title":"bars","y":"×","groups":["8 B","1 KiB"],"cut":12,"bars":[{"name":"another","color":"#000000","values":[1,40]}]}]`
	if err := run(strings.NewReader(in), []string{folder}); err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string]string{"lines.svg": "one of them", "none.svg": "no lines", "bars.svg": "another"} {
		text, err := os.ReadFile(filepath.Join(folder, file))
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(text), want) || !strings.Contains(string(text), "</svg>") {
			t.Errorf("%s is not a drawing with %q", file, want)
		}
	}
}

// TestChartsOfBench draws the charts that bench makes of its results: its test writes them.
func TestChartsOfBench(t *testing.T) {
	in, err := os.Open("testdata/charts.json")
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	folder := t.TempDir()
	if err := run(in, []string{folder}); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{"latency.svg", "bandwidth.svg", "ratios.svg", "latency-tcp.svg", "latency-udp.svg"} {
		if text, err := os.ReadFile(filepath.Join(folder, file)); err != nil || !strings.Contains(string(text), "</svg>") {
			t.Errorf("%s is no drawing (%v)", file, err)
		}
	}
}

func TestChartsThatCannotBeDrawn(t *testing.T) {
	for in, want := range map[string]string{
		`[{"file":"a.svg","colour":1}]`: "unknown field",
		`[{"file":"../a.svg"}]`:         "NAME.svg",
		`[{"file":"a.png"}]`:            "NAME.svg",
		`[{"file":"a.svg","lines":[{"name":"x","color":"red","points":[]}]}]`:                   "#56b4e9",
		`[{"file":"a.svg","lines":[{"name":"x","color":"#000000","points":[[0,1]]}]}]`:          "no logarithm",
		`[{"file":"a.svg","lines":[{"name":"x","color":"#000000","shape":-1}]}]`:                "shape -1",
		`[{"file":"a.svg","groups":["a"],"bars":[{"name":"x","color":"#000000","values":[]}]}]`: "0 values for 1 groups",
	} {
		err := run(strings.NewReader(in), []string{t.TempDir()})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, not %q", in, err, want)
		}
	}
	if err := run(strings.NewReader("[]"), nil); err == nil {
		t.Error("no folder is no error")
	}
}
