// Command plot draws charts of bench as SVG files. It reads a JSON array of charts from standard
// input (chart.go) and writes them to the folder that is its argument:
//
//	plot FOLDER < charts.json
//
// It is a module of its own, so that programs that import Viaduct need not know the modules of the
// library that draws: gonum.org/v1/plot, with its fonts and formats.
package main
