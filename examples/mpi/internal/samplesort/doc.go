// Package samplesort is what the sample sort example does on each process: it sorts records
// that are in a file, more than one process would want to sort alone.
//
// A process reads its share of the file ([Header], [ReadRecords]), sorts it ([Sort]) and offers
// a few keys of it ([Sample]). From the keys of all, everybody chooses the same splitters
// ([Splitters]) and cuts its records at them ([Cut]): piece i goes to process i, which merges
// what it gets ([Merge]) and writes it to its place in the output. A [Summary] of each part
// tells whether the parts together are sorted and have the records of the input, each as often
// as it was there.
//
// Nothing here sends messages: that is the example's main program. Comparisons with the same
// algorithm elsewhere want the same steps, down to the radix sort and the tree of losers.
package samplesort
