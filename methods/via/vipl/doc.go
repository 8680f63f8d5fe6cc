// Package vipl is the Virtual Interface Architecture, version 1.0, as Go types,
// over any NIC provider of package nic. The call names follow Intel's VI
// Architecture Developer's Guide; what a C program did with out parameters and
// return codes is here done with results and errors.
//
// What does not live here: how bytes move (the providers below package nic) and
// what the messages mean (package via above).
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
// Every call that waits has a twin that does not. The non-blocking way is to open
// the NIC with NICConfig.Events, call CQ.Poll for completions and NIC.PollEvents
// for connections, and sleep between with Arm, Sleep and Disarm. The waiting
// calls loop over the same two and give the processor away with NICConfig.Idle or
// the provider's Sleeper.
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
