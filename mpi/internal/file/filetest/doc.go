// Package filetest is a storage in memory for tests of what is built on package file. Names that begin
// with "test:N/", as FS.Name makes them, lead to it.
//
// Each step of the storage, such as the write of a range, asks a hook of the test, which lets it happen,
// makes it fail, or lets a write happen in part. FS.Killed is the storage as other processes find it if
// all processes that use it die now. FS.Cut is what may be left if the machine loses power: data and
// names that were not synced may be there or not, sector by sector and name by name.
package filetest
