// Package vipl is the Virtual Interface Architecture, version 1.0, as Go types,
// over any NIC provider of package nic. The names of the calls follow Intel's VI
// Architecture Developer's Guide. Results and errors replace its out parameters and
// return codes.
//
// The providers below package nic know how bytes move, and package via knows what
// the messages mean. This package knows neither.
//
// # Ownership
//
// A NIC and everything made from it (tags, memory, VIs, completion queues) belong
// to one goroutine at a time; there is no lock in this package. The exceptions
// are NIC.Sleep and NIC.Wake. A posted Descriptor and the memory it names belong
// to the NIC until the descriptor comes back.
//
// # Waiting
//
// For every call that waits there is one that does not. A program that does not
// want to block opens the NIC with NICConfig.Events, calls CQ.Poll for completions
// and NIC.PollEvents for connections, and sleeps by Arm, Sleep and Disarm. The
// calls that wait use the same ones in a loop, and sleep by NICConfig.Idle or the
// provider's Sleeper.
//
// # Where each call of the guide is
//
//	VipOpenNic, VipCloseNic              OpenNIC, NIC.Close
//	VipQueryNic                          NIC.Query
//	VipCreatePtag, VipDestroyPtag        NIC.CreatePtag, NIC.DestroyPtag
//	VipRegisterMem, VipDeregisterMem     NIC.RegisterMem, Memory.Deregister
//	VipQueryMem, VipSetMemAttributes     Memory.Query, Memory.SetAttributes
//	VipCreateVi, VipDestroyVi            NIC.CreateVI, VI.Destroy
//	VipQueryVi, VipSetViAttributes       VI.Query, VI.SetAttributes
//	VipPostSend, VipSendDone             VI.PostSend, VI.SendDone
//	VipSendWait, VipSendNotify           VI.SendWait, VI.SendNotify
//	VipPostRecv, VipRecvDone             VI.PostRecv, VI.RecvDone
//	VipRecvWait, VipRecvNotify           VI.RecvWait, VI.RecvNotify
//	VipCreateCQ, VipDestroyCQ            NIC.CreateCQ, CQ.Destroy
//	VipResizeCQ                          CQ.Resize
//	VipCQDone, VipCQWait, VipCQNotify    CQ.Done (CQ.Poll), CQ.Wait, CQ.Notify
//	VipConnectRequest                    VI.ConnectRequest (VI.ConnectStart)
//	VipConnectWait                       NIC.ConnectWait (NIC.PollEvents)
//	VipConnectAccept, VipConnectReject   ConnRequest.Accept, ConnRequest.Reject
//	VipConnectPeerRequest                VI.ConnectPeerRequest
//	VipConnectPeerDone                   VI.ConnectPeerDone
//	VipConnectPeerWait                   VI.ConnectPeerWait
//	VipDisconnect                        VI.Disconnect
//	VipNSInit, VipNSShutdown             NIC.NSInit, NIC.NSShutdown
//	VipNSGetHostByName, ...ByAddr        NIC.HostByName, NIC.HostByAddr
//	VipErrorCallback                     NIC.ErrorCallback
//	VipQuerySystemManagementInfo         NIC.SystemInfo
package vipl
