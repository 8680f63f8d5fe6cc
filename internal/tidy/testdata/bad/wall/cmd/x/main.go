// Command x is a program.
package main

func main() {}
