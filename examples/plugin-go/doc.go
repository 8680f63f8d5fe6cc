// Command bmi-method-seq is a BMI method that runs as a plugin: "seq://NAME" joins the
// processes of one user on one Linux host by sockets that keep messages apart (unix(7),
// SOCK_SEQPACKET). docs/writing-a-method.md builds it up file by file.
//
// main.go makes it a plugin, driver.go opens it, socket.go is what it asks of the kernel,
// method.go what is posted, poll.go what arrives, sleep.go how its caller
// sleeps, optional.go what a method may leave out.
package main
