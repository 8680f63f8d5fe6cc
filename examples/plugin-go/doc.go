// Command bmi-method-seq is a BMI method that runs as a plugin: "seq://NAME" connects the processes
// of one user on one Linux host over sockets that keep messages apart (unix(7), SOCK_SEQPACKET).
// docs/guides/writing-a-method.md explains its parts.
//
// main.go makes it a plugin, driver.go opens it, socket.go has the system calls, method.go the
// operations, poll.go the arrivals, sleep.go how its caller sleeps, optional.go the parts that a
// method may leave out.
package main
