// Package wire defines the messages between PMI clients and servers, as bytes: PMI-1, whose
// commands are lines of text, and PMI-2, whose commands are texts with a length prefix. It is pure:
// no I/O and no waiting, except in read.go.
//
// Neither protocol has a standard. The package follows what the launchers in use (Hydra, Slurm)
// read and write, and the description of PMI-1 in Flux RFC 13. The sequence of messages is in
// package pmi for clients, and in pmi/server.
//
//	PMI-1      cmd=get kvsname=kvs_1 key=card-3\n
//	           cmd=get_result rc=0 value=07ab\n
//	spawn      mcmd=spawn\nnprocs=2\n...endcmd\n
//	PMI-2      45    cmd=kvs-get;jobid=1.0;srcid=-1;key=card-3;
package wire
