// Package samplesort is the part of the sample sort example that runs on each process: it sorts the
// records of a file that is too large for one process.
//
// A process reads its share of the file ([Header], [ReadRecords]), sorts it ([Sort]) and takes a
// few keys as samples ([Sample]). From all samples, every process chooses the same splitters
// ([Splitters]) and cuts its records at them ([Cut]). Piece i goes to process i, which merges the
// pieces that it gets ([Merge]) and writes them to its place in the output. A [Summary] of each
// part tells whether the parts together are sorted and have the records of the input, each as often
// as there.
//
// The package sends no messages; the example's main program does. To compare implementations of
// this algorithm, use the same steps, including the radix sort and the tree of losers.
package samplesort
