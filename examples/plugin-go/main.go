package main

import "github.com/viaduct-hpc/viaduct/plugins"

func main() { plugins.Serve(driver{}) }
