// Package a is tested by TestHere, not by TestDeeper, which is in another package.
//
//	func TestExample(t *testing.T) { a.TestContext() }
//
//	go test ./a -run Gone
package a

import "os"

// TestContext is no test; "make gone" (make missing) in code is none of anybody's business.
func TestContext() string { return "TestNowhere" + os.Getenv("VIADUCT_THERE") }
