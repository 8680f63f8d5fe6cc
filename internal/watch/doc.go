// Package watch is what a process shows of itself while it runs (Snapshot), and how it finds that:
// snapshot.go has the types, which travel as JSON, take.go takes a snapshot, and source.go is what an
// object of another layer must be to take part. Nothing happens between snapshots.
//
// Package internal/watch/web serves snapshots, internal/watch/prom turns them into metrics, and package
// watch links both into a program. The layers below import none of them: open objects are listed in
// package bmi/about.
package watch
