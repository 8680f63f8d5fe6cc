// Package view joins the snapshots of many processes into what a person looks at: processes, peers, file servers, and the ranks of
// jobs with who waits for whom. It does no I/O; package gather fetches snapshots, packages page and term show views.
//
// view.go has the types, which travel as JSON to the page. join.go makes a View; servers.go, quantile.go and jobs.go make its parts,
// and deadlock.go finds ranks that wait for each other.
package view
